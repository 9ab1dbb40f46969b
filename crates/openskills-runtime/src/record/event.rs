//! The events that the runtime writes to its log.
//!
//! [`Event`] is the single definition of every event: the log is written and read through it. A field that is added
//! later must be optional, so that logs of earlier versions stay readable. A new event needs an arm in every `match` of
//! `event/about.rs`, `log/stats.rs` and the log commands, and a line in `tests/fixtures/every-event.jsonl`.

mod about;
mod command;
mod packages;
mod script;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill_state::SkillSource;

use crate::decide::policy::Decision;
use crate::{Installed, Skill};

pub use about::EventSeverity;
pub use command::{
    CommandExecution, CommandFailure, CommandInterruption, CommandSkill, CommandStart,
    CommandUnconfined, CommandWrites,
};
pub use packages::PackagesPrepared;
pub use script::{
    Applied, ApplyFailure, ApplyInterruption, ExecutionEnd, ExecutionRecord, ExitStatus,
    RepeatInput, ScriptExecution, ScriptFailure, ScriptInterruption, ScriptStart, WasmExecution,
    WriteMode,
};

/// An event in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum Event {
    /// A skill is new or has changed.
    #[serde(rename = "skill.discovered")]
    Discovered {
        /// Skill ID.
        skill_id: String,
        /// Skill name.
        name: String,
        /// The skill's trust level.
        source: SkillSource,
        /// Skill folder.
        path: String,
        /// Whether the skill is new or changed.
        change: Change,
        /// When it was discovered.
        #[serde(with = "time")]
        #[schemars(with = "String")]
        discovered_at: Timestamp,
    },
    /// A skill no longer exists.
    #[serde(rename = "skill.removed")]
    Removed {
        /// Skill ID.
        skill_id: String,
        /// Skill name.
        name: String,
        /// Folder that contained the skill.
        path: String,
        /// When the removal was noticed.
        #[serde(with = "time")]
        #[schemars(with = "String")]
        removed_at: Timestamp,
    },
    /// A skill was activated.
    #[serde(rename = "skill.activated")]
    Activated(SkillActivation),
    /// The user ended the activation of a skill, which no longer restricts tools.
    #[serde(rename = "skill.deactivated")]
    Deactivated {
        /// Skill ID.
        skill_id: String,
        /// Session ID.
        session_id: String,
        /// When it was deactivated.
        #[serde(with = "time")]
        #[schemars(with = "String")]
        deactivated_at: Timestamp,
    },
    /// A skill could not be activated.
    #[serde(rename = "skill.activation_failed")]
    ActivationFailed(ActivationFailure),
    /// A skill file was read.
    #[serde(rename = "skill.resource_read")]
    ResourceRead(ResourceRead),
    /// A skill's script is about to start. Exactly one of the next three events ends it.
    #[serde(rename = "skill.script_started")]
    ScriptStarted(Box<ScriptStart>),
    /// A skill's script ran and ended, successfully or not.
    #[serde(rename = "skill.script_executed")]
    ScriptExecuted(Box<ScriptExecution>),
    /// A script could not be started, or the sandbox failed while it ran.
    #[serde(rename = "skill.script_failed")]
    ScriptFailed(Box<ScriptFailure>),
    /// The process that ran a script was killed. The next process that writes to the log records this.
    #[serde(rename = "skill.script_interrupted")]
    ScriptInterrupted(Box<ScriptInterruption>),
    /// The changes a script made were not applied to the workspace, or only some of them.
    #[serde(rename = "skill.apply_failed", alias = "skill.commit_failed")]
    ApplyFailed(ApplyFailure),
    /// All changes a script made were applied to the workspace.
    #[serde(rename = "skill.applied", alias = "skill.committed")]
    Applied(Applied),
    /// A script's applied changes are about to be undone.
    #[serde(rename = "skill.undone")]
    Undone {
        /// Skill ID.
        skill_id: String,
        /// Execution ID.
        execution_id: String,
        /// Session ID.
        session_id: String,
        /// How many paths are undone.
        paths: usize,
    },
    /// The process was killed while it applied a script's changes. The next process that writes to the log records
    /// this.
    #[serde(rename = "skill.apply_interrupted", alias = "skill.commit_interrupted")]
    ApplyInterrupted(ApplyInterruption),
    /// A command line of an agent is about to start in the sandbox. Exactly one of the next three events ends it.
    #[serde(rename = "command.started")]
    CommandStarted(Box<CommandStart>),
    /// A command line of an agent ran and ended, successfully or not.
    #[serde(rename = "command.executed")]
    CommandExecuted(Box<CommandExecution>),
    /// A command line could not be started, or its changes could not be applied.
    #[serde(rename = "command.failed")]
    CommandFailed(Box<CommandFailure>),
    /// The process that ran a command line was killed. The next process that writes to the log records this.
    #[serde(rename = "command.interrupted")]
    CommandInterrupted(Box<CommandInterruption>),
    /// A command line needs the user's keys or services and therefore cannot run in the sandbox: the user was asked, or
    /// it has run.
    #[serde(rename = "command.unconfined")]
    CommandUnconfined(CommandUnconfined),
    /// A served skill is larger than some MCP hosts accept.
    #[serde(rename = "skill.beyond_limits")]
    BeyondLimits {
        /// Skill ID.
        skill_id: String,
        /// Session ID.
        session_id: String,
        /// What exceeds which limit.
        warning: String,
    },
    /// A skill is served to MCP clients but left out of their lists, because strict clients would reject the whole
    /// list.
    #[serde(rename = "skill.not_listed")]
    NotListed {
        /// Skill ID.
        skill_id: String,
        /// Session ID.
        session_id: String,
        /// The fields that do not conform to the standard.
        warning: String,
    },
    /// An MCP server sent something other than what was approved. The skill is not used until the user syncs and
    /// approves it again.
    #[serde(rename = "mcp.skill_changed")]
    ServedChanged {
        /// Skill ID.
        skill_id: String,
        /// Session ID.
        session_id: String,
        /// The MCP server that serves the skill and the skill's URI there: `mcp:<server>:<uri>`.
        origin: String,
        /// The file that differs, relative to the skill folder.
        path: String,
        /// How it differs.
        reason: String,
    },
    /// A skill was installed.
    #[serde(rename = "skill.installed")]
    Installed(Box<InstallRecord>),
    /// An installed skill was removed.
    #[serde(rename = "skill.uninstalled")]
    Uninstalled(Box<InstallRecord>),
    /// An MCP client called a tool.
    #[serde(rename = "mcp.called")]
    Called {
        /// Session ID, which contains the client's name.
        session_id: String,
        /// Tool name.
        tool: String,
        /// The skill argument of the call, with secrets redacted.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill: Option<String>,
        /// How the call ended.
        outcome: CallOutcome,
    },
    /// The policy decided on a tool call or a run.
    #[serde(rename = "policy.decided")]
    PolicyDecided(PolicyDecision),
    /// Packages were fetched for a skill's scripts. Nothing of the skill ran.
    #[serde(rename = "packages.prepared")]
    PackagesPrepared(PackagesPrepared),
    /// The user approved a skill.
    #[serde(rename = "approval.granted")]
    ApprovalGranted(ApprovalChange),
    /// The user revoked an approval.
    #[serde(rename = "approval.revoked")]
    ApprovalRevoked(ApprovalChange),
    /// A new log was started.
    #[serde(rename = "log.started")]
    LogStarted(LogStarted),
    /// A killed process left an incomplete line, which was removed from the log.
    #[serde(rename = "log.recovered")]
    LogRecovered(LogRecovered),
    /// A log checkpoint could not be written to its second destination.
    #[serde(rename = "log.checkpoint_failed")]
    CheckpointFailed(CheckpointFailure),
    /// An event in a log that this version does not know. It is never written.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Unknown,
}

/// How a discovered skill differs from the last discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    New,
    /// Its content has changed.
    Changed,
}

/// How an MCP call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The client got a result.
    Answered,
    /// The user was asked for approval.
    Asked,
    /// It failed or was refused.
    Failed,
}

impl Change {
    /// Returns the value as it is written to the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
        }
    }
}

impl CallOutcome {
    /// Returns the value as it is written to the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Asked => "asked",
            Self::Failed => "failed",
        }
    }
}

/// A skill that was installed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallRecord {
    /// Folder that the skill is or was installed in.
    pub path: String,
    /// The install record.
    #[serde(flatten)]
    pub installed: Installed,
}

/// An activation of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct SkillActivation {
    /// Skill ID.
    pub skill_id: String,
    /// Digest of the skill's content.
    pub hash: String,
    /// The skill's trust level.
    pub source: SkillSource,
    /// Session ID.
    pub session_id: String,
    /// Task ID, if the host provides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// When it was activated.
    #[serde(with = "time")]
    #[schemars(with = "String")]
    pub activated_at: Timestamp,
    /// Whether the host allowed attaching the skill's libraries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached: Option<bool>,
    /// The MCP server that serves the skill and the skill's URI there: `mcp:<server>:<uri>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Whether the same content was already active in the session.
    pub repeated: bool,
}

/// A skill file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ResourceRead {
    /// Skill ID.
    pub skill_id: String,
    /// The skill's trust level.
    pub source: SkillSource,
    /// Session ID.
    pub session_id: String,
    /// File path, relative to the skill folder.
    pub path: String,
    /// File size in bytes.
    pub size: u64,
    /// File digest.
    pub sha256: String,
    /// The MCP server that serves the skill and the skill's URI there: `mcp:<server>:<uri>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// When it was read.
    #[serde(with = "time")]
    #[schemars(with = "String")]
    pub read_at: Timestamp,
}

/// A failed activation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ActivationFailure {
    /// The requested name.
    pub name: String,
    /// ID of the skill that the name refers to, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// Session ID.
    pub session_id: String,
    /// Task ID, if the host provides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Error code.
    pub code: String,
    /// Error message.
    pub reason: String,
}

/// A policy decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct PolicyDecision {
    /// ID of the skill that the decision is about, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// Session ID.
    pub session_id: String,
    /// Task ID, if the host provides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What was requested: the name of a tool, or `run`.
    pub action: String,
    /// The command, file, host or script of the request, with secrets redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The decision.
    pub decision: Decision,
    /// The rule or circumstance that led to the decision.
    #[serde(alias = "because")]
    pub reason: String,
}

/// An approval that was granted or revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ApprovalChange {
    /// Approval ID.
    pub approval_id: String,
    /// ID the skill had when it was approved.
    pub skill_id: String,
    /// Where the skill comes from.
    pub origin: String,
    /// Digest of the approved bundle.
    pub bundle_sha256: String,
    /// Permissions granted in addition to running in the sandbox.
    pub granted: Vec<String>,
    /// When the approval expires, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// A checkpoint that could not be written. Only the first failure of a process is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CheckpointFailure {
    /// The file, socket or URL that could not be written to.
    #[serde(alias = "place")]
    pub destination: String,
    /// Error message.
    pub reason: String,
}

/// The start of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct LogStarted {
    /// Random ID of this log, repeated in its head and its checkpoints.
    pub id: String,
    /// The archived log that this one continues.
    #[serde(alias = "before", skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousLog>,
}

/// An archived log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct PreviousLog {
    /// Its current folder.
    pub folder: String,
    /// ID of the log, if its head contains one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its head, exactly as it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// An incomplete line left by a killed process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct LogRecovered {
    /// Length of the line in bytes.
    pub bytes: u64,
    /// The beginning of the line.
    pub text: String,
}

impl Event {
    pub(crate) fn discovered(skill: &Skill, change: Change, at: Timestamp) -> Self {
        Self::Discovered {
            skill_id: skill.id.clone(),
            name: skill.name.to_string(),
            source: skill.source,
            path: skill.path().to_owned(),
            change,
            discovered_at: at,
        }
    }

    pub(crate) fn removed(skill: &Skill, at: Timestamp) -> Self {
        let (skill_id, name, path) =
            (skill.id.clone(), skill.name.to_string(), skill.path().to_owned());
        Self::Removed { skill_id, name, path, removed_at: at }
    }
}

/// Formats a time as RFC 3339 in UTC, with milliseconds.
pub fn rfc3339(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

mod time {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::rfc3339(*at))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}
