//! Which process did something: a number alone may be another process by now.

#![expect(clippy::disallowed_methods, reason = "the edge: what the kernel tells of processes")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process, told apart from every other one that had its number or will have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessIdentity {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did; absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// The id of the boot that it lives in; absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

impl ProcessIdentity {
    /// Returns this process.
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, started: start_of(pid), boot_id: boot_id() }
    }

    /// Returns true if this process surely runs just now, as far as this system can tell. One in another pid namespace
    /// looks gone, so a lock has to say the same before anybody acts on it.
    pub fn is_running(&self) -> bool {
        if self.boot_id.is_some() && self.boot_id != boot_id() {
            return false;
        }
        self.started.is_some() && start_of(self.pid) == self.started
    }
}

/// Returns when a process started. Its name, which may hold anything, stands in parentheses before the numbers.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, numbers) = stat.rsplit_once(')')?;
    // The state is the third field, the time of the start the twenty-second.
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
    fn a_number_alone_is_no_process() {
        let own = ProcessIdentity::own();
        assert!(own.is_running());
        let earlier = ProcessIdentity { started: own.started.map(|at| at - 1), ..own.clone() };
        assert!(!earlier.is_running(), "another process had the number before");
        let before = ProcessIdentity { boot_id: Some("another boot".to_owned()), ..own.clone() };
        assert!(!before.is_running(), "the machine was started anew");
        assert!(!ProcessIdentity { pid: u32::MAX, ..own }.is_running());
    }
}
