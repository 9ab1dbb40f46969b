//! What a run leaves before anything of it is recorded or applied.

use std::time::Duration;

use sandbox::proxy::Reached;
use sandbox::{Captured, Ended, Outcome};

use super::WasmRun;

/// What a run leaves.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    /// What it wrote to its workspace.
    pub(crate) layer: Option<sandbox::Layer>,
    /// What it asked the proxy for.
    pub(crate) reached: Vec<Reached>,
    pub(crate) wasm: Option<WasmRun>,
    pub(crate) timings: Timings,
}

/// What was done, and how long it took.
pub(crate) type Timings = Vec<(&'static str, Duration)>;

impl Ran {
    pub(crate) fn new(outcome: Outcome) -> Self {
        Self { outcome, layer: None, reached: Vec::new(), wasm: None, timings: Vec::new() }
    }

    /// Returns what is known of a run that was ended before its program ran.
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
