//! What the runtime did, as data for a log.
//!
//! [`Event`] is the one definition of every event: it is written to the log and read back from it. A field that is added later
//! has to be optional, so that logs of earlier versions stay readable. A new event needs an answer in every `match` of
//! `event/about.rs`, of `log/stats.rs` and of the log's commands, and a line in `tests/fixtures/every-event.jsonl`.

mod about;
mod script;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill_state::SkillSource;

use crate::decide::policy::Decision;
use crate::{Installed, Skill};

pub use about::EventSeverity;
pub use script::{
    Again, CommitFailure, CommitInterruption, Committed, ExecutionEnd, ExecutionRecord, ExitStatus,
    ScriptExecution, ScriptFailure, ScriptInterruption, ScriptStart, WasmExecution, Writing,
};

/// Something that happened to a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum Event {
    /// A skill is new, or not what it was.
    #[serde(rename = "skill.discovered")]
    Discovered {
        /// Its id.
        skill_id: String,
        /// Its name.
        name: String,
        /// Who vouches for it.
        source: SkillSource,
        /// Its folder.
        path: String,
        /// What is different.
        change: Change,
        /// When.
        #[serde(with = "time")]
        #[schemars(with = "String")]
        discovered_at: Timestamp,
    },
    /// A skill that was there is gone.
    #[serde(rename = "skill.removed")]
    Removed {
        /// Its id.
        skill_id: String,
        /// Its name.
        name: String,
        /// Its folder.
        path: String,
        /// When.
        #[serde(with = "time")]
        #[schemars(with = "String")]
        removed_at: Timestamp,
    },
    /// A skill was activated.
    #[serde(rename = "skill.activated")]
    Activated(SkillActivation),
    /// The user ended what was active of a skill; it restricts tools no more.
    #[serde(rename = "skill.deactivated")]
    Deactivated {
        /// Its id.
        skill_id: String,
        /// The session.
        session_id: String,
        /// When.
        #[serde(with = "time")]
        #[schemars(with = "String")]
        deactivated_at: Timestamp,
    },
    /// A skill was not activated.
    #[serde(rename = "skill.activation_failed")]
    ActivationFailed(ActivationFailure),
    /// A file of a skill was read.
    #[serde(rename = "skill.resource_read")]
    ResourceRead(ResourceRead),
    /// A script of a skill is about to start. Exactly one of the next three events ends it.
    #[serde(rename = "skill.script_started")]
    ScriptStarted(Box<ScriptStart>),
    /// A script of a skill ran and ended, in whatever way.
    #[serde(rename = "skill.script_executed")]
    ScriptExecuted(Box<ScriptExecution>),
    /// A script could not be started, or the sandbox failed while it ran.
    #[serde(rename = "skill.script_failed")]
    ScriptFailed(Box<ScriptFailure>),
    /// The process that ran a script was killed; the next process that writes the log records it.
    #[serde(rename = "skill.script_interrupted")]
    ScriptInterrupted(Box<ScriptInterruption>),
    /// What a script wrote was not applied to the workspace, or only partly.
    #[serde(rename = "skill.commit_failed")]
    CommitFailed(CommitFailure),
    /// What a script wrote was applied to the workspace, all of it.
    #[serde(rename = "skill.committed")]
    Committed(Committed),
    /// What a script committed is about to be taken back.
    #[serde(rename = "skill.undone")]
    Undone {
        /// Its id.
        skill_id: String,
        /// The run.
        execution_id: String,
        /// The session.
        session_id: String,
        /// How many paths.
        paths: usize,
    },
    /// The process that applied what a script wrote was killed; the next process that writes the log records it.
    #[serde(rename = "skill.commit_interrupted")]
    CommitInterrupted(CommitInterruption),
    /// A skill is served that is larger than every MCP host accepts.
    #[serde(rename = "skill.beyond_limits")]
    BeyondLimits {
        /// Its id.
        skill_id: String,
        /// The session.
        session_id: String,
        /// How large it is.
        warning: String,
    },
    /// A skill is served to MCP clients, but left out of what they list: strict clients would refuse the whole list for it.
    #[serde(rename = "skill.not_listed")]
    NotListed {
        /// Its id.
        skill_id: String,
        /// The session.
        session_id: String,
        /// Which fields do not fit the standard.
        warning: String,
    },
    /// An MCP server sent something else than what was approved. Nothing of the skill is used until the user has synced and approved it again.
    #[serde(rename = "mcp.skill_changed")]
    ServedChanged {
        /// Its id.
        skill_id: String,
        /// The session.
        session_id: String,
        /// The MCP server that serves it, and its URI there: `mcp:<server>:<uri>`.
        origin: String,
        /// The file that is different, seen from the skill.
        path: String,
        /// What is different.
        reason: String,
    },
    /// A skill was installed.
    #[serde(rename = "skill.installed")]
    Installed(Box<InstallRecord>),
    /// A skill that was installed was removed.
    #[serde(rename = "skill.uninstalled")]
    Uninstalled(Box<InstallRecord>),
    /// A client of the MCP server called a tool.
    #[serde(rename = "mcp.called")]
    Called {
        /// The session, which bears the client's name.
        session_id: String,
        /// The tool.
        tool: String,
        /// The skill that it is about, as the client named it, without secrets.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill: Option<String>,
        /// What became of it.
        outcome: CallOutcome,
    },
    /// A policy decided about a call or a run.
    #[serde(rename = "policy.decided")]
    PolicyDecided(PolicyDecision),
    /// The user approved a skill.
    #[serde(rename = "approval.granted")]
    ApprovalGranted(ApprovalChange),
    /// The user took an approval back.
    #[serde(rename = "approval.revoked")]
    ApprovalRevoked(ApprovalChange),
    /// A log begins.
    #[serde(rename = "log.started")]
    LogStarted(LogStarted),
    /// A killed process had left half a line, which is not part of the log any more.
    #[serde(rename = "log.recovered")]
    LogRecovered(LogRecovered),
    /// A checkpoint of the log could not be written to its second place.
    #[serde(rename = "log.checkpoint_failed")]
    CheckpointFailed(CheckpointFailure),
    /// An event of a log that this version does not know. It is only ever read.
    #[serde(other, skip_serializing)]
    #[schemars(skip)]
    Unknown,
}

/// What is different about a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there.
    New,
    /// It was another version.
    Changed,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It was answered.
    Answered,
    /// The user is asked.
    Asked,
    /// It failed, or was refused.
    Failed,
}

impl Change {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
        }
    }
}

impl CallOutcome {
    /// Returns the word for it.
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
    /// Its folder.
    pub path: String,
    /// What is known of it.
    #[serde(flatten)]
    pub installed: Installed,
}

/// One activation of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct SkillActivation {
    /// Its id.
    pub skill_id: String,
    /// The digest of its content.
    pub hash: String,
    /// Who vouches for it.
    pub source: SkillSource,
    /// The session.
    pub session_id: String,
    /// The task, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// When.
    #[serde(with = "time")]
    #[schemars(with = "String")]
    pub activated_at: Timestamp,
    /// Whether its libraries may be attached, as the host allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached: Option<bool>,
    /// The MCP server that serves it, and its URI there: `mcp:<server>:<uri>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Whether the same was active in the session before.
    pub repeated: bool,
}

/// One file of a skill that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ResourceRead {
    /// The skill's id.
    pub skill_id: String,
    /// Who vouches for the skill.
    pub source: SkillSource,
    /// The session.
    pub session_id: String,
    /// The file, seen from the skill.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// The digest of its bytes.
    pub sha256: String,
    /// The MCP server that serves the skill, and its URI there: `mcp:<server>:<uri>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// When.
    #[serde(with = "time")]
    #[schemars(with = "String")]
    pub read_at: Timestamp,
}

/// An activation that did not happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ActivationFailure {
    /// What was asked for.
    pub name: String,
    /// The id of the skill that it means, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// The session.
    pub session_id: String,
    /// The task, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The code of the error.
    pub code: String,
    /// The error.
    pub reason: String,
}

/// What a policy decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct PolicyDecision {
    /// The skill that asked, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// The session.
    pub session_id: String,
    /// The task, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What was to happen: the name of a tool, or `run` and a script.
    pub action: String,
    /// With what: a command, a file or a host, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// What became of it.
    pub decision: Decision,
    /// Why.
    pub because: String,
}

/// An approval that was granted or taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct ApprovalChange {
    /// The approval's id.
    pub approval_id: String,
    /// The skill's id, as it was when it was approved.
    pub skill_id: String,
    /// Where the skill comes from.
    pub origin: String,
    /// The digest that the approval is bound to.
    pub bundle_sha256: String,
    /// What was granted beyond running in the sandbox.
    pub granted: Vec<String>,
    /// Until when, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// A checkpoint that could not be written. Later ones of the same process are not reported again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CheckpointFailure {
    /// The file, socket or address.
    pub place: String,
    /// The error.
    pub reason: String,
}

/// The beginning of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct LogStarted {
    /// The random id of this log, which its head and its checkpoints repeat.
    pub id: String,
    /// The log that was put aside for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<LogBefore>,
}

/// A log that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct LogBefore {
    /// The folder that it is in now.
    pub folder: String,
    /// Its id, if its head names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its head, as it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// Half a line that a killed process left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct LogRecovered {
    /// How many bytes it had.
    pub bytes: u64,
    /// How it began.
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

/// Returns a time as RFC 3339 in UTC, in whole milliseconds.
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
