//! Why a module was not run.

use serde::{Deserialize, Serialize};

/// Why a module was not run. The stage sends it to the caller unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum WasmError {
    /// The file is not WebAssembly.
    #[error("not a WebAssembly file: {0}")]
    NotWasm(String),
    /// The file is too large.
    #[error("larger than {} MiB", max >> 20)]
    TooLarge {
        /// The size of the file in bytes.
        size: usize,
        /// The maximum size in bytes.
        max: usize,
    },
    /// It is malformed, or uses unsupported features.
    #[error("it cannot be compiled: {0}")]
    Malformed(String),
    /// Compiling it exceeded a limit.
    #[error("it cannot be compiled: {0}")]
    TooExpensive(String),
    /// It needs functions or interfaces that do not exist.
    #[error("it imports unknown functions or interfaces: {}", .missing.join(", "))]
    Imports {
        /// The missing imports.
        missing: Vec<String>,
        /// How to fix it.
        hint: String,
    },
    /// It has no entry point of a command.
    #[error("it is not a command: {message}")]
    NotCommand {
        /// What it is instead.
        message: String,
    },
    /// Its arguments, variables, folders or network access cannot be provided.
    #[error("{0}")]
    InvalidInput(String),
    /// The engine cannot be created, or cannot load the compiled code.
    #[error("the engine cannot run it: {0}")]
    Engine(String),
    /// The process in the sandbox failed without a result.
    #[error("the runner in the sandbox returned no result: {0}")]
    Runner(String),
}

impl WasmError {
    /// Returns how to fix it, if known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotWasm(_) => {
                "build it for wasm32-wasip1 or wasm32-wasip2 and use the .wasm file"
            }
            Self::Imports { hint, .. } => hint,
            Self::NotCommand { .. } => {
                "build a program with a `main` function for wasm32-wasip1 or wasm32-wasip2"
            }
            Self::TooLarge { .. } | Self::TooExpensive(_) => "strip it and optimize it for size",
            Self::Malformed(_) => "rebuild it; threads and 64-bit memories are not supported",
            Self::InvalidInput(_) | Self::Engine(_) | Self::Runner(_) => return None,
        };
        Some(hint.to_owned())
    }
}

/// Returns the message of an engine error and of its causes in one line.
pub(crate) fn describe(error: &wasmtime::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        // Only the first line: the others are the backtrace, which is reported elsewhere.
        let line = text.lines().next().unwrap_or_default().trim().to_owned();
        if !line.is_empty() && !parts.contains(&line) {
            parts.push(line);
        }
    }
    parts.join(": ")
}
