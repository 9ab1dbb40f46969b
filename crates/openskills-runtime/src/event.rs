//! What the runtime did, as data for a log.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::policy::Decision;
use crate::{Installed, Skill, SkillSource};

/// Something that happened to a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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
        #[serde(serialize_with = "time")]
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
        #[serde(serialize_with = "time")]
        #[schemars(with = "String")]
        removed_at: Timestamp,
    },
    /// A skill was activated.
    #[serde(rename = "skill.activated")]
    Activated(SkillActivation),
    /// A skill was not activated.
    #[serde(rename = "skill.activation_failed")]
    ActivationFailed(ActivationFailure),
    /// A file of a skill was read.
    #[serde(rename = "skill.resource_read")]
    ResourceRead(ResourceRead),
    /// A script of a skill ran.
    #[serde(rename = "skill.script_executed")]
    ScriptExecuted(Box<ScriptExecution>),
    /// What a script wrote was not committed.
    #[serde(rename = "skill.commit_failed")]
    CommitFailed(CommitFailure),
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
}

/// What is different about a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there.
    New,
    /// It was another version.
    Changed,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It was answered.
    Answered,
    /// The user is asked.
    Asked,
    /// It failed, or was refused.
    Failed,
}

/// A skill that was installed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallRecord {
    /// Its folder.
    pub path: String,
    /// What is known of it.
    #[serde(flatten)]
    pub installed: Installed,
}

/// One activation of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
    #[serde(serialize_with = "time")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
    #[serde(serialize_with = "time")]
    #[schemars(with = "String")]
    pub read_at: Timestamp,
}

/// An activation that did not happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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

/// A script that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptExecution {
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
    /// What is to become of them. A commit that then fails is an event of its own.
    pub writes: Writing,
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
    /// Its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// How much memory it may use, in bytes.
    pub memory_bytes: u64,
}

/// What is to become of what a run wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
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
}

/// What a run wrote that was not committed, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommitFailure {
    /// The skill's id.
    pub skill_id: String,
    /// The session.
    pub session_id: String,
    /// What ran, seen from the skill.
    pub script: String,
    /// Why.
    pub reason: String,
}

/// What an execution did, for an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionRecord {
    /// The skill's id.
    pub skill_id: String,
    /// The version that the skill declares; empty if it declares none.
    pub version: String,
    /// The digest of the input.
    pub input_hash: String,
    /// The digest of all output, also of what is not kept here.
    pub output_hash: String,
    /// When it began, in milliseconds since 1970.
    pub start_time_ms: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// The powers that it had and that were needed.
    pub permissions_used: Vec<String>,
    /// How it ended.
    pub exit_status: ExitStatus,
    /// Its output, cut and without secrets.
    pub stdout: String,
    /// Its other output, cut and without secrets.
    pub stderr: String,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
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

/// What a policy decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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

/// The beginning of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogStarted {
    /// The log that was put aside for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<LogBefore>,
}

/// A log that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogBefore {
    /// The folder that it is in now.
    pub folder: String,
    /// Its head, as it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// Half a line that a killed process left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogRecovered {
    /// How many bytes it had.
    pub bytes: u64,
    /// How it began.
    pub text: String,
}

impl Event {
    /// Returns the id of the skill that it is about, if it is about one.
    pub fn skill_id(&self) -> Option<&str> {
        match self {
            Self::Discovered { skill_id, .. }
            | Self::Removed { skill_id, .. }
            | Self::BeyondLimits { skill_id, .. } => Some(skill_id),
            Self::Activated(activation) => Some(&activation.skill_id),
            Self::Installed(_) | Self::Uninstalled(_) | Self::Called { .. } => None,
            Self::ActivationFailed(failure) => failure.skill_id.as_deref(),
            Self::ResourceRead(read) => Some(&read.skill_id),
            Self::ScriptExecuted(execution) => Some(&execution.skill_id),
            Self::CommitFailed(failure) => Some(&failure.skill_id),
            Self::PolicyDecided(decision) => decision.skill_id.as_deref(),
            Self::ApprovalGranted(change) | Self::ApprovalRevoked(change) => Some(&change.skill_id),
            Self::LogStarted(_) | Self::LogRecovered(_) => None,
        }
    }

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

fn time<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*at))
}
