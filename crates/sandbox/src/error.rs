//! Why a program was not started.

use std::io;

#[cfg(target_os = "linux")]
use serde::{Deserialize, Serialize};

use crate::Guarantee;

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine cannot provide a required guarantee.
    #[error("this machine cannot guarantee {}: {reason}", joined(missing))]
    Unavailable {
        /// The missing guarantees.
        missing: Vec<Guarantee>,
        /// Why they are not available.
        reason: String,
        /// How to make them available.
        fix: String,
    },
    /// The specification is invalid, or asks for something that no sandbox can provide.
    #[error("{0}")]
    BadSpec(String),
    /// The program cannot be started.
    #[error("cannot start `{program}`: {source}")]
    Program {
        /// The program.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// `init` was not called at the start of `main`.
    #[error("the sandbox was not set up: call sandbox::init() first thing in main")]
    NotInitialized,
    /// A step that normally succeeds failed.
    #[error("cannot set up the sandbox: {step}: {source}")]
    Setup {
        /// The step.
        step: String,
        /// The cause.
        source: io::Error,
    },
}

fn joined(missing: &[Guarantee]) -> String {
    missing.iter().map(|guarantee| guarantee.as_str()).collect::<Vec<_>>().join(", ")
}

/// A failure as the stage sends it to the caller.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    Unavailable { missing: Vec<Guarantee>, reason: String },
    BadSpec(String),
    Program { errno: i32 },
    Setup { step: String, errno: i32 },
}
