//! Finds the agent that runs a hook.

#![expect(clippy::disallowed_methods, reason = "the edge: processes of this machine")]

use sandbox::ProcessId;

/// Programs between the agent and this process.
const BETWEEN: [&str; 6] = ["sh", "dash", "bash", "zsh", "timeout", "openskills"];
/// How many of them there may be.
const MAX_DEPTH: usize = 16;

/// Returns the process of the agent: the nearest one above this process that is neither a shell nor a wrapper. When it
/// ends, so do background processes of its sessions.
pub(super) fn agent_process() -> Option<ProcessId> {
    let mut pid = parent_of(std::process::id())?;
    for _ in 0..MAX_DEPTH {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        if !BETWEEN.contains(&name.trim_end()) {
            return ProcessId::of(i32::try_from(pid).ok()?);
        }
        pid = parent_of(pid)?;
    }
    None
}

/// Returns the parent of a process; `None` for the first one.
fn parent_of(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let parent = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (parent > 1).then_some(parent)
}
