//! The raw result of a run, before it is logged or applied.

use std::time::Duration;

use sandbox::proxy::ProxyRequest;
use sandbox::{Captured, Ended, Outcome};

use super::WasmRun;

/// The raw result of a run.
pub(crate) struct RunResult {
    pub(crate) outcome: Outcome,
    /// Its changes to the workspace.
    pub(crate) layer: Option<sandbox::Layer>,
    /// Hosts that it requested from the proxy.
    pub(crate) reached: Vec<ProxyRequest>,
    pub(crate) wasm: Option<WasmRun>,
    pub(crate) timings: Timings,
}

/// Steps with their durations.
pub(crate) type Timings = Vec<(&'static str, Duration)>;

impl RunResult {
    pub(crate) fn new(outcome: Outcome) -> Self {
        Self { outcome, layer: None, reached: Vec::new(), wasm: None, timings: Vec::new() }
    }

    /// Returns the result of a run that was cancelled before its program ran.
    pub(crate) fn cancelled(duration: Duration) -> Self {
        Self::new(Outcome {
            ended: Ended::Cancelled,
            stdout: Captured::default(),
            stderr: Captured::default(),
            violations: Vec::new(),
            more_violations: 0,
            duration,
            enforced: Vec::new(),
            tier: None,
        })
    }
}
