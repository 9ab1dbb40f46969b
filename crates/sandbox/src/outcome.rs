//! How a run ended, and what happened during it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Guarantee, Tier};

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended.
    pub ended: Ended,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// System calls that it tried and that were blocked.
    pub violations: Vec<Violation>,
    /// How many further violations were not recorded.
    pub more_violations: u64,
    /// How long it took.
    pub duration: Duration,
    /// The guarantees that were enforced.
    pub enforced: Vec<Guarantee>,
    /// The tier of the sandbox; `None` if it ran in the caller's own process.
    pub tier: Option<Tier>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it, and the sandbox did not send it.
    Signalled(i32),
    /// It exceeded its time limit.
    Timeout,
    /// It exceeded its memory limit.
    Memory,
    /// The WebAssembly module trapped.
    Trapped,
    /// It wrote more output than allowed.
    Output,
    /// The caller cancelled it.
    Cancelled,
}

/// The captured output of one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, up to the limit.
    pub bytes: Vec<u8>,
    /// How many bytes were written in total.
    pub total: u64,
}

impl Captured {
    /// Returns true if more was written than was kept.
    pub fn is_truncated(&self) -> bool {
        self.total > self.bytes.len() as u64
    }
}

/// A system call that a program tried and that was blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The name of the system call.
    pub call: String,
    /// Its arguments, as they were in the registers.
    pub arguments: [u64; 6],
    /// The name of the process.
    pub process: String,
}
