//! How a host asks for a run: what is authorised with the plan, and what only concerns the caller.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::{Cancel, Input, Reader};
use crate::decide::permit::Asked;

/// How a script is to run. The default runs the only script of a skill with nothing but its own files.
#[derive(Debug, Clone, Default)]
pub struct ExecutionOptions {
    /// The script, seen from the skill; the only one there is by default.
    pub script: Option<String>,
    /// What it is given and how it is bounded.
    pub invocation: Invocation,
    /// What it asks for beyond that.
    pub asked: Asked,
    /// What the user approves for this once.
    pub once: bool,
    /// Who has it run.
    pub caller: Caller,
}

/// What a script is given and how it is bounded. It is part of the plan that is authorised, so nothing changes it afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Its arguments.
    pub args: Vec<OsString>,
    /// What it is given as JSON: in `SKILL_INPUT`, and on standard input.
    pub input: Option<Input>,
    /// Whether it reads this process's standard input, where it is given no JSON.
    pub is_piped: bool,
    /// The folder that it may work in; a new empty one by default, which is gone afterwards.
    pub workspace: Option<PathBuf>,
    /// How long it may take; 30 seconds by default.
    pub timeout: Option<Duration>,
    /// How much memory it may use, in bytes; 512 MiB by default, and 128 MiB for WebAssembly.
    pub memory: Option<u64>,
    /// What random numbers and clocks of a module follow from, so that the same input gives the same bytes.
    pub seed: Option<u64>,
    /// Whether a module runs inside the operating system's sandbox as well.
    pub stage: Stage,
    /// Whether to show what it would change, and change nothing.
    pub dry_run: bool,
}

/// Who has a script run. Nothing in it changes what may run.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The task, if the host names one.
    pub task_id: Option<String>,
    /// The event in the log that the run repeats.
    pub repeats: Option<u64>,
    /// What ends the run from elsewhere.
    pub cancel: Cancel,
    /// The flags with which the host's user finds the skill, for commands in hints.
    pub look: String,
    /// Who reads why it failed.
    pub reader: Reader,
}

/// Whether a module runs inside the operating system's sandbox as well. A script always does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// A third-party one does, and one that writes to a workspace or reaches the network.
    #[default]
    Auto,
    /// It does.
    Always,
    /// It does not; what only the sandbox can enforce is then not available.
    Never,
}
