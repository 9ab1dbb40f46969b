//! Identifies processes. A process ID alone may belong to a different process by now.

#![expect(clippy::disallowed_methods, reason = "the edge: reads /proc")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process, distinguished from all earlier and later ones with the same ID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessIdentity {
    /// Process ID.
    pub pid: u32,
    /// Start time in clock ticks since boot; absent if the system does not provide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// System boot ID at that time; absent if the system does not provide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

impl ProcessIdentity {
    /// Returns this process.
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, started: start_of(pid), boot_id: boot_id() }
    }

    /// Returns true if the process is definitely still running. A process in another PID namespace looks gone, so
    /// callers must check its lock as well before they act on that.
    pub fn is_running(&self) -> bool {
        if self.boot_id.is_some() && self.boot_id != boot_id() {
            return false;
        }
        self.started.is_some() && start_of(self.pid) == self.started
    }
}

/// Returns when a process started. Its name, which may contain anything, is in parentheses before the numbers.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, numbers) = stat.rsplit_once(')')?;
    // The state is field 3, the start time is field 22.
    numbers.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::*;

    #[test]
    fn a_process_id_alone_does_not_identify_a_process() {
        let own = ProcessIdentity::own();
        assert!(own.is_running());
        let earlier = ProcessIdentity { started: own.started.map(|at| at - 1), ..own.clone() };
        assert!(!earlier.is_running(), "an earlier process with the same ID");
        let before = ProcessIdentity { boot_id: Some("another boot".to_owned()), ..own.clone() };
        assert!(!before.is_running(), "the machine was rebooted");
        assert!(!ProcessIdentity { pid: u32::MAX, ..own }.is_running());
    }
}
