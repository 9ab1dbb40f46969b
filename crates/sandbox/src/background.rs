//! Processes that outlive the program that started them.

use std::io;

use serde::{Deserialize, Serialize};

use crate::sys;

/// A process of this machine. Its start time distinguishes it from a later process with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessId {
    /// The number.
    pub pid: i32,
    /// When it started, in clock ticks since the machine started.
    pub started: u64,
}

impl ProcessId {
    /// Returns the identity of a running process; `None` if it does not exist.
    pub fn of(pid: i32) -> Option<Self> {
        Some(Self { pid, started: sys::start_time(pid)? })
    }

    /// Returns true if the process is still running.
    pub fn is_running(self) -> bool {
        sys::start_time(self.pid) == Some(self.started)
    }
}

/// The processes that a program left running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundId {
    /// The stage that supervises them.
    pub stage: ProcessId,
    /// The init process of their namespace.
    pub init: ProcessId,
}

/// The processes that a program left running, in its sandbox. Dropping it kills them.
#[derive(Debug)]
pub struct LeftRunning(pub(crate) sys::LeftRunning);

impl LeftRunning {
    /// Returns their identity.
    pub fn id(&self) -> BackgroundId {
        self.0.id()
    }

    /// Lets them run on without the caller, until [`end_background`] or until `owner` ends.
    pub fn detach(self, owner: Option<ProcessId>) -> io::Result<()> {
        self.0.detach(owner)
    }
}

/// Kills processes that were left running, and waits until all of them are gone. It is no error if they have ended
/// already.
pub fn end_background(id: &BackgroundId) -> io::Result<()> {
    sys::end_background(id)
}
