//! Events of an agent's command line: its start and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::process::ProcessIdentity;

/// A skill whose capabilities restrict a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommandSkill {
    /// Skill ID.
    pub skill_id: String,
    /// Digest of the skill's content.
    pub hash: String,
    /// Digest of everything in it.
    pub bundle_sha256: String,
}

/// A command line that is about to start in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommandStart {
    /// Random ID of this execution, repeated by the event that ends it.
    pub execution_id: String,
    /// Session ID.
    pub session_id: String,
    /// ID of the agent's tool call, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The command line, with secrets redacted.
    pub command: String,
    /// The folder that it starts in.
    pub cwd: String,
    /// The folder that it may change.
    pub workspace: String,
    /// The active skills; the command line may do what all of them may do.
    pub skills: Vec<CommandSkill>,
    /// What it may do beyond working in the workspace.
    pub granted: Vec<String>,
    /// The process that runs it.
    pub process: ProcessIdentity,
}

/// What happened to the files that a command line wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandWrites {
    /// It changed nothing.
    Nothing,
    /// They were applied to the workspace.
    Applied,
    /// They conflict with changes that something else made meanwhile, and are kept for the user to decide.
    Kept,
    /// They were discarded.
    Dropped,
}

/// A command line that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommandExecution {
    /// Execution ID.
    pub execution_id: String,
    /// Session ID.
    pub session_id: String,
    /// ID of the agent's tool call, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The command line, with secrets redacted.
    pub command: String,
    /// How it ended: its exit code, or why it was stopped.
    pub ended: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Sandbox guarantees that were enforced while it ran.
    pub enforced: Vec<String>,
    /// System calls that it tried and the sandbox blocked.
    pub violations: Vec<String>,
    /// Hosts that it tried to reach, and whether that was allowed.
    pub reached: Vec<String>,
    /// What happened to the files that it wrote.
    pub writes: CommandWrites,
    /// The first of its changes to the workspace.
    pub changes: Vec<String>,
    /// How many changes it made.
    pub change_count: usize,
    /// Changes that were refused, with the reason.
    pub refused: Vec<String>,
    /// Changed files that programs outside of the sandbox may run later.
    pub runs_later: Vec<String>,
    /// ID of the changes that are kept because of a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Whether it left processes running, which end with the session.
    pub left_running: bool,
}

/// A command line that could not be started, or whose changes could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommandFailure {
    /// Execution ID.
    pub execution_id: String,
    /// Session ID.
    pub session_id: String,
    /// ID of the agent's tool call, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The command line, with secrets redacted.
    pub command: String,
    /// Error code.
    pub code: String,
    /// Error message.
    pub reason: String,
}

/// A command line whose process was killed while it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommandInterruption {
    /// Execution ID. The other fields repeat its `command.started` event.
    pub execution_id: String,
    /// Session ID.
    pub session_id: String,
    /// ID of the agent's tool call, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The command line, with secrets redacted.
    pub command: String,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// Whether files in the workspace may have changed.
    pub may_have_written: bool,
    /// The process that was killed.
    pub process: ProcessIdentity,
}

/// A command line of an agent that runs outside of the sandbox, if the user allows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommandUnconfined {
    /// Session ID.
    pub session_id: String,
    /// ID of the agent's tool call, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The command line, with secrets redacted.
    pub command: String,
    /// Why it cannot run in the sandbox.
    pub reason: String,
    /// Whether it is known to have run; otherwise the user was asked.
    pub has_run: bool,
}
