//! How a run ended, and what was seen on the way.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Guarantee, Tier};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended.
    pub ended: Ended,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// What it tried and was not let.
    pub violations: Vec<Violation>,
    /// How many more of those there were.
    pub more_violations: u64,
    /// How long it took.
    pub duration: Duration,
    /// What held.
    pub enforced: Vec<Guarantee>,
    /// The kind of sandbox that it was; none for what runs in the caller's own process.
    pub tier: Option<Tier>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which the sandbox did not send.
    Signalled(i32),
    /// It took too long.
    Timeout,
    /// It took too much memory.
    Memory,
    /// It did what no WebAssembly may do, and was ended there.
    Trapped,
    /// It wrote too much.
    Output,
    /// The caller ended it.
    Cancelled,
}

/// What was written to one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The beginning of it.
    pub bytes: Vec<u8>,
    /// How many bytes there were.
    pub total: u64,
}

impl Captured {
    /// Returns true if more was written than was kept.
    pub fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }
}

/// Something that a program tried and was not let.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The system call.
    pub call: String,
    /// Its arguments, as the registers had them.
    pub arguments: [u64; 6],
    /// The name of the process.
    pub process: String,
}
