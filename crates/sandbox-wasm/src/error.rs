//! Why a module is not run.

use serde::{Deserialize, Serialize};

/// Why a module is not run. It travels from the stage as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum WasmError {
    /// It is something else.
    #[error("it is no WebAssembly: {0}")]
    NotWasm(String),
    /// It is too large.
    #[error("it has {size} bytes, and at most {most} are taken")]
    TooLarge {
        /// How large it is.
        size: usize,
        /// How large it may be.
        most: usize,
    },
    /// It is broken, or uses what is not taken.
    #[error("it cannot be compiled: {0}")]
    Malformed(String),
    /// It is too much work.
    #[error("it cannot be compiled: {0}")]
    TooMuch(String),
    /// It needs functions that nobody gives it.
    #[error("it imports what is not there: {}", .missing.join(", "))]
    Imports {
        /// What it needs.
        missing: Vec<String>,
        /// What would help.
        hint: String,
    },
    /// It is no command.
    #[error("it is no command: {message}")]
    World {
        /// What it is instead.
        message: String,
    },
    /// What it is given cannot be given.
    #[error("{0}")]
    Given(String),
    /// The engine cannot be made, or does not take what it compiled itself.
    #[error("the engine cannot run it: {0}")]
    Engine(String),
    /// The process in the sandbox did not answer.
    #[error("the runner in the sandbox gave no answer: {0}")]
    Runner(String),
}

impl WasmError {
    /// Returns what would help.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotWasm(_) => {
                "build it for wasm32-wasip1 or wasm32-wasip2, and ship the .wasm file"
            }
            Self::Imports { hint, .. } => hint,
            Self::World { .. } => {
                "build a program with a `main`, for wasm32-wasip1 or wasm32-wasip2"
            }
            Self::TooLarge { .. } | Self::TooMuch(_) => "strip it, and build it for size",
            Self::Malformed(_) => "build it again; threads and 64-bit memories are not taken",
            Self::Given(_) | Self::Engine(_) | Self::Runner(_) => return None,
        };
        Some(hint.to_owned())
    }
}

/// Returns what an error of the engine says, from the outside to its cause, in one line.
pub(crate) fn words(error: &wasmtime::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        // Backtraces are many lines, and said elsewhere.
        let line = text.lines().next().unwrap_or_default().trim().to_owned();
        if !line.is_empty() && !parts.contains(&line) {
            parts.push(line);
        }
    }
    parts.join(": ")
}
