//! Events of an execution: its start and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill_state::SkillSource;

use crate::record::process::ProcessIdentity;

/// A script that is about to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ScriptStart {
    /// Random ID of this execution, repeated by the events that end it.
    pub execution_id: String,
    /// Skill ID.
    pub skill_id: String,
    /// The skill's trust level.
    pub source: SkillSource,
    /// Session ID.
    pub session_id: String,
    /// Task ID, if the host provides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The script or module that runs, relative to the skill folder.
    pub script: String,
    /// Arguments, with secrets redacted.
    pub arguments: Vec<String>,
    /// Digest of the arguments and the input, as in the execution record.
    pub input_hash: String,
    /// Digest of the skill's content.
    pub hash: String,
    /// Digest of everything that may run.
    pub bundle_sha256: String,
    /// Permissions granted to the script.
    pub granted: Vec<String>,
    /// Sandbox guarantees that the user gave up with `--allow-degraded`.
    pub allow_degraded: Vec<String>,
    /// What happens to the files it writes: `direct`, `dry-run`, `dropped`, or `pending` if that depends on how it
    /// ends.
    pub writes: WriteMode,
    /// The process that runs it.
    pub process: ProcessIdentity,
}

/// A script that could not be started, or whose sandbox failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ScriptFailure {
    /// Execution ID.
    pub execution_id: String,
    /// Skill ID.
    pub skill_id: String,
    /// Session ID.
    pub session_id: String,
    /// Task ID, if the host provides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The script or module to run, relative to the skill folder.
    pub script: String,
    /// Error code.
    pub code: String,
    /// Error message.
    pub reason: String,
    /// Whether files in the workspace may have changed.
    pub may_have_written: bool,
}

/// A script whose process was killed while it ran. Fields that could not be determined are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ScriptInterruption {
    /// Execution ID. The other fields repeat its `skill.script_started` event.
    pub execution_id: String,
    /// Skill ID.
    pub skill_id: String,
    /// Session ID.
    pub session_id: String,
    /// Task ID, if the host provided one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The script or module that ran, relative to the skill folder.
    pub script: String,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// What happened to the files it wrote: written to the workspace (`direct`) or discarded (`dropped`).
    pub writes: WriteMode,
    /// Whether files in the workspace may have changed.
    pub may_have_written: bool,
    /// The process that was killed.
    pub process: ProcessIdentity,
}

/// A script that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ScriptExecution {
    /// Execution ID.
    pub execution_id: String,
    /// Skill ID.
    pub skill_id: String,
    /// The skill's trust level.
    pub source: SkillSource,
    /// Session ID.
    pub session_id: String,
    /// Task ID, if the host provides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The script or module that ran, relative to the skill folder.
    pub script: String,
    /// Digest of the skill's content.
    pub hash: String,
    /// Digest of everything that could run.
    pub bundle_sha256: String,
    /// Sandbox guarantees that were enforced while it ran.
    pub enforced: Vec<String>,
    /// System calls that it tried and the sandbox blocked.
    pub violations: Vec<String>,
    /// Hosts that it tried to reach, and whether each was allowed.
    pub reached: Vec<String>,
    /// What it changed in its workspace, before any of it was applied. Long lists are truncated.
    pub changes: Vec<String>,
    /// Total number of changes.
    pub change_count: usize,
    /// How it ended.
    pub ended: ExecutionEnd,
    /// What happens to the changes. If applying them fails, a separate event says so.
    pub writes: WriteMode,
    /// Whether files in the workspace may have changed. Always true for direct writes, however it ended.
    pub may_have_written: bool,
    /// Details of a WebAssembly run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wasm: Option<WasmExecution>,
    /// The execution record.
    pub record: ExecutionRecord,
}

/// Details of a WebAssembly run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WasmExecution {
    /// Module digest.
    pub module_sha256: String,
    /// How many instructions it executed, counted as fuel.
    pub fuel: u64,
    /// Peak memory in bytes.
    pub memory_bytes: u64,
    /// Whether it ran inside the operating system's sandbox as well.
    pub staged: bool,
    /// Why it trapped, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trap: Option<String>,
    /// Seed of its random numbers and clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What is needed to run it again. Present only if there is a seed.
    #[serde(alias = "again", skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatInput>,
    /// Why it cannot be run again despite the seed.
    #[serde(alias = "notAgain", skip_serializing_if = "Option::is_none")]
    pub not_repeatable: Option<String>,
    /// Number of the event that this execution repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
}

/// What is needed to run a module again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatInput {
    /// Arguments.
    pub args: Vec<String>,
    /// Input: the JSON text exactly as it was passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
    /// Memory limit in bytes.
    pub memory_bytes: u64,
}

/// How an execution ended, in detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "how", deny_unknown_fields)]
pub enum ExecutionEnd {
    /// It exited by itself.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// It was killed by a signal that neither openskills nor the user sent.
    Signalled {
        /// Signal number.
        signal: i32,
    },
    /// It exceeded the time limit.
    Timeout,
    /// It exceeded the memory limit.
    Memory,
    /// The module trapped.
    Trapped,
    /// It exceeded the output limit.
    Output,
    /// The host or the client canceled it.
    Cancelled,
    /// openskills received this signal during the run, ended it and applied nothing.
    Interrupted {
        /// Signal number.
        signal: i32,
    },
}

/// What happens to the files that a run writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMode {
    /// They are applied to the workspace.
    #[serde(alias = "commit")]
    Apply,
    /// They are shown, then discarded.
    DryRun,
    /// They are discarded: the run failed, or it had no workspace to apply them to.
    Dropped,
    /// They were written straight to the workspace.
    Direct,
    /// They are applied if the run succeeds and discarded otherwise.
    Pending,
}

impl WriteMode {
    /// Returns whether files in the workspace may have changed.
    pub fn may_have_written(self) -> bool {
        match self {
            Self::Apply | Self::Direct => true,
            Self::DryRun | Self::Dropped | Self::Pending => false,
        }
    }
}

/// Changes of a run that were not applied, or only partly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ApplyFailure {
    /// Execution ID.
    pub execution_id: String,
    /// Skill ID.
    pub skill_id: String,
    /// Session ID.
    pub session_id: String,
    /// The script or module that ran, relative to the skill folder.
    pub script: String,
    /// Why they were not applied.
    pub reason: String,
    /// The signal that arrived before anything was applied, if that was the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

/// Changes of a run that were all applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct Applied {
    /// Execution ID.
    pub execution_id: String,
    /// Skill ID.
    pub skill_id: String,
    /// Session ID.
    pub session_id: String,
    /// The script or module that ran, relative to the skill folder.
    pub script: String,
    /// Number of changes.
    pub change_count: usize,
}

/// Changes whose process was killed before it could record the result of applying them: all, some or none of them may
/// be in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ApplyInterruption {
    /// Execution ID. The other fields repeat its `skill.script_executed` event.
    pub execution_id: String,
    /// Skill ID.
    pub skill_id: String,
    /// Session ID.
    pub session_id: String,
    /// The script or module that ran, relative to the skill folder.
    pub script: String,
    /// Number of changes that were to be applied.
    pub change_count: u64,
    /// Whether files in the workspace may have changed.
    pub may_have_written: bool,
}

/// Execution record for audits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExecutionRecord {
    /// Skill ID.
    pub skill_id: String,
    /// Version that the skill declares; empty if it declares none.
    pub version: String,
    /// Arguments, with secrets redacted.
    pub arguments: Vec<String>,
    /// Digest of the arguments and the input.
    pub input_hash: String,
    /// Digest of the complete output, including what is truncated here.
    pub output_hash: String,
    /// When it started, in milliseconds since 1970.
    pub start_time_ms: u64,
    /// Run time in milliseconds.
    pub duration_ms: u64,
    /// Permissions that were granted to it. Which of them it used cannot be observed.
    pub permissions_granted: Vec<String>,
    /// What it tried and was denied: system calls, hosts, and writes that are never applied.
    pub permissions_denied: Vec<String>,
    /// Sandbox guarantees that the user gave up with `--allow-degraded`.
    pub allow_degraded: Vec<String>,
    /// How it ended.
    pub exit_status: ExitStatus,
    /// Standard output, truncated and with secrets redacted.
    pub stdout: String,
    /// Standard error, truncated and with secrets redacted.
    pub stderr: String,
}

/// Overall result of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It exited with code 0.
    Success,
    /// It ended in any other way.
    Failed,
    /// It exceeded the time limit.
    Timeout,
}

impl ExitStatus {
    /// Returns the value as it is written to the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
        }
    }
}
