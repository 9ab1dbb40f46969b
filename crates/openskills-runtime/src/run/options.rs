//! Options of a run: what is authorized with the plan, and what only concerns the caller.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::{Audience, Cancel, Input};
use crate::decide::permit::RequestedAccess;

/// Options for running a script. By default the only script of a skill runs, with access to nothing but its own files.
#[derive(Debug, Clone, Default)]
pub struct ExecutionOptions {
    /// The script, relative to the skill; by default the only one.
    pub script: Option<String>,
    /// Its arguments, input and limits.
    pub invocation: Invocation,
    /// The requested access.
    pub requested: RequestedAccess,
    /// Whether the user approves this run only.
    pub once: bool,
    /// The caller.
    pub caller: Caller,
}

/// The arguments, input and limits of a script. They are part of the authorized plan, so they cannot change afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Its arguments.
    pub args: Vec<OsString>,
    /// JSON input, passed in `SKILL_INPUT` and on standard input.
    pub input: Option<Input>,
    /// Whether it reads this process's standard input if there is no JSON input.
    pub is_piped: bool,
    /// The workspace; by default an empty folder that is removed afterwards.
    pub workspace: Option<PathBuf>,
    /// The time limit; 30 seconds by default.
    pub timeout: Option<Duration>,
    /// The memory limit in bytes; by default 512 MiB, or 128 MiB for WebAssembly.
    pub memory: Option<u64>,
    /// Seed for a module's random numbers and clocks, so that the same input gives the same output.
    pub seed: Option<u64>,
    /// Whether a module runs inside the operating system's sandbox as well.
    pub stage: Stage,
    /// Whether to only show what it would change.
    pub dry_run: bool,
}

/// The caller of a run. Nothing in it affects what may run.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The task, if the host specifies one.
    pub task_id: Option<String>,
    /// The event in the log that the run repeats.
    pub repeats: Option<u64>,
    /// Cancels the run from another thread.
    pub cancel: Cancel,
    /// The command line flags with which the user finds the skill, for commands in hints.
    pub discovery_flags: String,
    /// Who the causes of a failure are written for.
    pub audience: Audience,
    /// Tells the user about something that takes a while.
    pub announce: Option<fn(&str)>,
}

/// Whether a module runs inside the operating system's sandbox as well. A script always does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Only untrusted modules, and modules that write to a workspace or use the network.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never; features that only the sandbox can enforce are then unavailable.
    Never,
}
