//! Events of an execution: its start, and whatever ends it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill_state::SkillSource;

use crate::record::process::ProcessIdentity;

/// A script that is about to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ScriptStart {
    /// The random id of this execution; the events that end it repeat it.
    pub execution_id: String,
    /// The skill's id.
    pub skill_id: String,
    /// Who vouches for the skill.
    pub source: SkillSource,
    /// The session.
    pub session_id: String,
    /// The task, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What runs, seen from the skill.
    pub script: String,
    /// Its arguments, without secrets.
    pub arguments: Vec<String>,
    /// The digest of its arguments and its input, as in the record.
    pub input_hash: String,
    /// The digest of the skill's content.
    pub hash: String,
    /// The digest of everything that may run.
    pub bundle_sha256: String,
    /// What it was granted.
    pub granted: Vec<String>,
    /// Guarantees of the sandbox that the user gave up with `--allow-degraded`.
    pub allow_degraded: Vec<String>,
    /// What is to become of what it writes: `direct`, `dry-run`, `dropped`, or `pending` where its end decides.
    pub writes: Writing,
    /// The process that runs it.
    pub process: ProcessIdentity,
}

/// A script that could not be started, or whose sandbox failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ScriptFailure {
    /// The id of the execution.
    pub execution_id: String,
    /// The skill's id.
    pub skill_id: String,
    /// The session.
    pub session_id: String,
    /// The task, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What was to run, seen from the skill.
    pub script: String,
    /// The code of the error.
    pub code: String,
    /// The error.
    pub reason: String,
    /// Whether files of the workspace may have been changed.
    pub may_have_written: bool,
}

/// A script whose process was killed while it ran. What is absent could not be read from the marker that the process left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ScriptInterruption {
    /// The id of the execution. Everything else is what its `skill.script_started` says.
    pub execution_id: String,
    /// The skill's id.
    pub skill_id: String,
    /// The session.
    pub session_id: String,
    /// The task, if the host named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What ran, seen from the skill.
    pub script: String,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// What happened to the workspace while it ran: `direct` writes, or nothing that stays (`dropped`).
    pub writes: Writing,
    /// Whether files of the workspace may have been changed.
    pub may_have_written: bool,
    /// The process that is gone.
    pub process: ProcessIdentity,
}

/// A script that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ScriptExecution {
    /// The id of the execution.
    pub execution_id: String,
    /// The skill's id.
    pub skill_id: String,
    /// Who vouches for the skill.
    pub source: SkillSource,
    /// The session.
    pub session_id: String,
    /// The task, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What ran, seen from the skill.
    pub script: String,
    /// The digest of the skill's content.
    pub hash: String,
    /// The digest of everything that may have run.
    pub bundle_sha256: String,
    /// What held while it ran.
    pub enforced: Vec<String>,
    /// System calls that it tried and was not let.
    pub violations: Vec<String>,
    /// Hosts that it asked for, and whether it was let.
    pub reached: Vec<String>,
    /// What it changed in its workspace, before any of it was committed; the first of it, where it is much.
    pub changes: Vec<String>,
    /// How many changes there are.
    pub change_count: usize,
    /// How it ended.
    pub ended: ExecutionEnd,
    /// What is to become of them. A commit that then fails is an event of its own.
    pub writes: Writing,
    /// Whether files of the workspace may have been changed: always so with direct writes, however it ended.
    pub may_have_written: bool,
    /// More of it, if it was WebAssembly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wasm: Option<WasmExecution>,
    /// What it did.
    pub record: ExecutionRecord,
}

/// What there is to know of a module that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WasmExecution {
    /// The digest of the module.
    pub module_sha256: String,
    /// How many steps it took.
    pub fuel: u64,
    /// The most memory that it had, in bytes.
    pub memory_bytes: u64,
    /// Whether it ran inside the operating system's sandbox.
    pub staged: bool,
    /// What it did that it may not, if it was ended for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trap: Option<String>,
    /// What random numbers and clocks followed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What it takes to run it again, where a seed makes that worth while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// Why it cannot be run again, although there is a seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_again: Option<String>,
    /// The number of the event that it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
}

/// What it takes to run a module again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Again {
    /// Its arguments.
    pub args: Vec<String>,
    /// Its input: JSON, as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// How much memory it may use, in bytes.
    pub memory_bytes: u64,
}

/// How an execution ended, in detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "how", deny_unknown_fields)]
pub enum ExecutionEnd {
    /// By itself.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// By a signal that neither openskills nor its user sent.
    Signalled {
        /// The number of the signal.
        signal: i32,
    },
    /// It took too long.
    Timeout,
    /// It took too much memory.
    Memory,
    /// A module did what no WebAssembly may do.
    Trapped,
    /// It wrote too much output.
    Output,
    /// The host or the client cancelled it.
    Cancelled,
    /// openskills got this signal while it ran, ended it, and applied nothing.
    Interrupted {
        /// The number of the signal.
        signal: i32,
    },
}

/// What is to become of what a run wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Writing {
    /// It is committed to the workspace.
    Commit,
    /// It is shown, and dropped.
    DryRun,
    /// It is dropped: the run did not end well, or nothing of it stays.
    Dropped,
    /// It was written to the workspace while it ran.
    Direct,
    /// It is committed if the run ends well, and dropped otherwise.
    Pending,
}

impl Writing {
    /// Returns whether files of the workspace may have been changed.
    pub fn may_have_written(self) -> bool {
        match self {
            Self::Commit | Self::Direct => true,
            Self::DryRun | Self::Dropped | Self::Pending => false,
        }
    }
}

/// What a run wrote that was not committed, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommitFailure {
    /// The id of the execution.
    pub execution_id: String,
    /// The skill's id.
    pub skill_id: String,
    /// The session.
    pub session_id: String,
    /// What ran, seen from the skill.
    pub script: String,
    /// Why.
    pub reason: String,
    /// The signal that came before anything was applied; absent where something else went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

/// What a run wrote that was committed, all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct Committed {
    /// The id of the execution.
    pub execution_id: String,
    /// The skill's id.
    pub skill_id: String,
    /// The session.
    pub session_id: String,
    /// What ran, seen from the skill.
    pub script: String,
    /// How many changes there are.
    pub change_count: usize,
}

/// A commit whose process was killed before it could record how the commit ended: all changes may be in the workspace, some or
/// none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommitInterruption {
    /// The id of the execution. Everything else is what its `skill.script_executed` says.
    pub execution_id: String,
    /// The skill's id.
    pub skill_id: String,
    /// The session.
    pub session_id: String,
    /// What ran, seen from the skill.
    pub script: String,
    /// How many changes were to be applied.
    pub change_count: u64,
    /// Whether files of the workspace may have been changed.
    pub may_have_written: bool,
}

/// What an execution did, for an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExecutionRecord {
    /// The skill's id.
    pub skill_id: String,
    /// The version that the skill declares; empty if it declares none.
    pub version: String,
    /// The arguments, without secrets.
    pub arguments: Vec<String>,
    /// The digest of the arguments and the input.
    pub input_hash: String,
    /// The digest of all output, also of what is not kept here.
    pub output_hash: String,
    /// When it began, in milliseconds since 1970.
    pub start_time_ms: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// What it was granted. Whether it made use of all of it cannot be observed.
    pub permissions_granted: Vec<String>,
    /// What it tried and was denied: system calls, hosts, and writes that are never applied.
    pub permissions_denied: Vec<String>,
    /// Guarantees of the sandbox that the user gave up with `--allow-degraded`.
    pub allow_degraded: Vec<String>,
    /// How it ended.
    pub exit_status: ExitStatus,
    /// Its output, cut and without secrets.
    pub stdout: String,
    /// Its other output, cut and without secrets.
    pub stderr: String,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// With code 0.
    Success,
    /// Otherwise.
    Failed,
    /// It took too long.
    Timeout,
}

impl ExitStatus {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
        }
    }
}
