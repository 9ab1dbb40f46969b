//! Why nothing ran.

use std::io;

#[cfg(target_os = "linux")]
use serde::{Deserialize, Serialize};

use crate::Guarantee;

/// Why nothing ran. The program was not started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// What must hold cannot be had on this machine.
    #[error("this machine cannot guarantee {}: {why}", words(missing))]
    Unavailable {
        /// What is missing.
        missing: Vec<Guarantee>,
        /// Why.
        why: String,
        /// What would help.
        fix: String,
    },
    /// The specification asks for what no sandbox can give.
    #[error("{0}")]
    BadSpec(String),
    /// The program cannot be started.
    #[error("{program} cannot be started: {source}")]
    Program {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// `init` was not called at the start of `main`.
    #[error("the sandbox was not set up: call sandbox::init() first thing in main")]
    NotInitialised,
    /// A step that always works did not.
    #[error("the sandbox cannot be made: {step}: {source}")]
    Setup {
        /// The step.
        step: String,
        /// Why.
        source: io::Error,
    },
}

fn words(missing: &[Guarantee]) -> String {
    missing.iter().map(|guarantee| guarantee.as_str()).collect::<Vec<_>>().join(", ")
}

/// A failure as it travels from the stage to the caller.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    Unavailable { missing: Vec<Guarantee>, why: String },
    BadSpec(String),
    Program { errno: i32 },
    Setup { step: String, errno: i32 },
}
