//! What the commands write as JSON. Each type has a schema under `schemas/`.

mod approvals;
mod log;
mod mcp;
mod packages;
mod run;

use openskills_runtime::policy::Decision;
use openskills_runtime::{
    Event, PromptJson, Requests, ResourceRead, Scope, SkillActivation, SkillIndexEntry,
};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde_json::{Map, Value};
use skill_fs::Kind;
use skill_state::SkillSource;
use term::{DiagnosticJson, FailureJson, sarif};

pub use approvals::{ApprovalJson, ApprovalsJson, ApproveJson};
pub(crate) use log::EventLine;
pub use log::{LogArchiveJson, LogStatsJson, LogVerifyJson, RepeatedJson, ReplayJson};
pub use mcp::{
    McpInstallJson, McpServerJson, McpServersJson, McpSyncJson, McpSyncedJson, SyncedSkillJson,
};
pub use packages::{
    InstallJson, InstalledJson, InstalledSkillJson, MigrateJson, PackJson, RemoveJson,
    SkillifyJson, TestJson, TestedJson,
};
pub use run::{
    CacheJson, CacheKindJson, ChangeJson, DeactivateJson, NewJson, RunJson, SandboxJson, UndoJson,
    UndonePathJson, ViolationJson, WasmJson,
};

/// The version of all outputs here; it grows when something is removed or changes its meaning.
pub(crate) const VERSION: u32 = 1;

/// `openskills validate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidateJson {
    /// The version of this format.
    pub version: u32,
    /// Whether the command succeeds.
    pub valid: bool,
    /// Every skill that was looked at, in order.
    pub skills: Vec<ValidatedJson>,
    /// Problems of the search itself.
    pub problems: Vec<DiagnosticJson>,
}

/// One skill that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidatedJson {
    /// Its folder, as it was named.
    pub path: String,
    /// Its name; absent where it has none that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it has no error.
    pub valid: bool,
    /// Everything found.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// `openskills show --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowJson {
    /// The version of this format.
    pub version: u32,
    /// The skill's name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its folder, absolute.
    pub path: String,
    /// Its SKILL.md, absolute.
    pub location: String,
    /// Its licence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// What it needs around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// Free data of the skill.
    pub metadata: Map<String, Value>,
    /// The tools it may use; absent means no restriction, empty means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Whether the model may start it by itself.
    pub model_may_invoke: bool,
    /// Whether the user may start it by name.
    pub user_may_invoke: bool,
    /// Every field of the frontmatter, as it was written.
    pub frontmatter: Map<String, Value>,
    /// The instructions.
    pub body: BodyJson,
    /// The digests; absent where a file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digests: Option<DigestsJson>,
    /// Every file of the skill, sorted.
    pub files: Vec<FileJson>,
    /// Everything found on the way.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// The size of the instructions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BodyJson {
    /// Lines.
    pub lines: usize,
    /// About how many tokens.
    pub tokens: usize,
}

/// The two digests of a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DigestsJson {
    /// Paths and bytes: the hash of an install marker.
    pub content_sha256: String,
    /// Paths, modes, links and bytes: what trust binds to.
    pub bundle_sha256: String,
}

/// One file of a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileJson {
    /// Its path in the skill.
    pub path: String,
    /// What it is.
    #[schemars(extend("enum" = ["file", "link", "other"]))]
    pub kind: String,
    /// Its length in bytes; 0 for anything but a file.
    pub size: u64,
    /// Whether its owner may execute it.
    pub executable: bool,
    /// Where a link points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// `openskills discover --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscoverJson {
    /// The version of this format.
    pub version: u32,
    /// The project; absent where only named folders are looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether the project's skills count as the user's own.
    pub trusted: bool,
    /// The folders that were looked at, in the order of precedence inside a trust level.
    pub roots: Vec<RootJson>,
    /// The skills that can be used, sorted by name.
    pub skills: Vec<SkillIndexEntry>,
    /// Everything that was found wrong, each once.
    pub problems: Vec<DiagnosticJson>,
    /// What is new or changed since the index was last kept.
    pub events: Vec<Event>,
}

/// One folder of skills.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RootJson {
    /// The first part of the ids of its skills.
    pub label: String,
    /// The folder.
    pub path: String,
    /// Who vouches for its skills.
    pub source: SkillSource,
    /// Where it is.
    pub scope: Scope,
    /// How many skills were found in it.
    pub skills: usize,
}

/// `openskills list --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListJson {
    /// The version of this format.
    pub version: u32,
    /// The skills, sorted by name.
    pub skills: Vec<SkillIndexEntry>,
    /// With `--all`: folders whose SKILL.md cannot be loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedJson>,
}

/// A folder whose SKILL.md cannot be loaded.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefusedJson {
    /// The folder.
    pub path: String,
    /// The label of its root.
    pub root: String,
    /// Everything that is wrong with it.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// `openskills activate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub struct ActivateJson {
    /// The version of this format.
    pub version: u32,
    /// The skill's id.
    pub skill_id: String,
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The folder that relative paths start at; absent for a builtin skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The instructions, arguments put in; absent where they are active in the session already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The instructions as they go to the model.
    pub content: String,
    /// The skill's files.
    pub resources: ResourcesJson,
    /// What the frontmatter asks of the host, as data: nothing of it was done.
    #[serde(flatten)]
    pub requests: Requests,
    /// The arguments by name, where the skill describes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Value>,
    /// The record for the log.
    pub activation: SkillActivation,
    /// Everything found on the way.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// The names of a skill's files.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourcesJson {
    /// Their paths in the skill, sorted; a list that is too long is cut.
    pub files: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

/// `openskills read --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadJson {
    /// The version of this format.
    pub version: u32,
    /// How `content` is written.
    #[schemars(extend("enum" = ["utf-8", "base64"]))]
    pub encoding: String,
    /// The file.
    pub content: String,
    /// The record for the log.
    pub event: ResourceRead,
}

/// `openskills files --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesJson {
    /// The version of this format.
    pub version: u32,
    /// The skill's id.
    pub skill_id: String,
    /// Its folder.
    pub path: String,
    /// Every file, sorted.
    pub files: Vec<FileJson>,
}

/// `openskills search --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchJson {
    /// The version of this format.
    pub version: u32,
    /// The words.
    pub query: String,
    /// How many skills have any of them.
    pub found: usize,
    /// The best of them.
    pub skills: Vec<HitJson>,
}

/// A skill that was found by words.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HitJson {
    /// The skill's id.
    pub skill_id: String,
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Who vouches for it.
    pub source: SkillSource,
    /// Its folder.
    pub path: String,
    /// How well it fits, higher is better.
    pub score: f64,
    /// Where the words were found: `name`, `description`, `body`.
    pub found_in: Vec<String>,
}

/// `openskills where --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhereJson {
    /// The version of this format.
    pub version: u32,
    /// What was asked for.
    pub name: String,
    /// The skill that is meant; absent where all are switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// Why.
    pub why: String,
    /// Every skill of the name, the one that is meant first.
    pub candidates: Vec<SkillIndexEntry>,
}

/// `openskills trust --list --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustListJson {
    /// The version of this format.
    pub version: u32,
    /// The folders that are trusted, sorted.
    pub folders: Vec<String>,
}

/// `openskills trust --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustJson {
    /// The version of this format.
    pub version: u32,
    /// The folder, by its real path.
    pub folder: String,
    /// Whether it is trusted now.
    pub trusted: bool,
    /// Whether that was otherwise before.
    pub changed: bool,
}

/// `openskills enable --json` and `openskills disable --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwitchJson {
    /// The version of this format.
    pub version: u32,
    /// What was switched, in the order of the call.
    pub skills: Vec<SwitchedJson>,
}

/// A name or an id that was switched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwitchedJson {
    /// The name or the id, as it was given.
    pub name: String,
    /// Whether it is on now.
    pub enabled: bool,
    /// Whether that was otherwise before.
    pub changed: bool,
}

/// `openskills check-tool --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckToolJson {
    /// The version of this format.
    pub version: u32,
    /// What becomes of the call.
    pub decision: Decision,
    /// Why.
    pub because: String,
}

/// Returns an entry of a skill's folder; folders are not shown.
pub(crate) fn file_json(path: String, kind: Kind) -> Option<FileJson> {
    let (kind, size, executable, target) = match kind {
        Kind::Folder => return None,
        Kind::File { size, executable } => ("file", size, executable, None),
        Kind::Link(target) => ("link", 0, false, Some(target)),
        Kind::Other(_) => ("other", 0, false, None),
    };
    Some(FileJson { path, kind: kind.to_owned(), size, executable, target })
}

/// Returns the schema of every output, by the name of its file under `schemas/`.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("openskills-validate", schema_for!(ValidateJson)),
        ("openskills-validate-sarif", schema_for!(sarif::Log)),
        ("openskills-show", schema_for!(ShowJson)),
        ("openskills-prompt", schema_for!(PromptJson<'_>)),
        ("openskills-discover", schema_for!(DiscoverJson)),
        ("openskills-event", schema_for!(Event)),
        ("openskills-list", schema_for!(ListJson)),
        ("openskills-activate", schema_for!(ActivateJson)),
        ("openskills-read", schema_for!(ReadJson)),
        ("openskills-files", schema_for!(FilesJson)),
        ("openskills-search", schema_for!(SearchJson)),
        ("openskills-where", schema_for!(WhereJson)),
        ("openskills-trust", schema_for!(TrustJson)),
        ("openskills-trust-list", schema_for!(TrustListJson)),
        ("openskills-switch", schema_for!(SwitchJson)),
        ("openskills-check-tool", schema_for!(CheckToolJson)),
        ("openskills-approve", schema_for!(ApproveJson)),
        ("openskills-approvals", schema_for!(ApprovalsJson)),
        ("openskills-run", schema_for!(RunJson)),
        ("openskills-cache", schema_for!(CacheJson)),
        ("openskills-deactivate", schema_for!(DeactivateJson)),
        ("openskills-undo", schema_for!(UndoJson)),
        ("openskills-mcp-install", schema_for!(McpInstallJson)),
        ("openskills-mcp-list", schema_for!(McpServersJson)),
        ("openskills-mcp-sync", schema_for!(McpSyncedJson)),
        ("openskills-new", schema_for!(NewJson)),
        ("openskills-migrate", schema_for!(MigrateJson)),
        ("openskills-skillify", schema_for!(SkillifyJson)),
        ("openskills-pack", schema_for!(PackJson)),
        ("openskills-install", schema_for!(InstallJson)),
        ("openskills-remove", schema_for!(RemoveJson)),
        ("openskills-installed", schema_for!(InstalledJson)),
        ("openskills-test", schema_for!(TestJson)),
        ("openskills-sandbox-check", schema_for!(SandboxJson)),
        ("openskills-log-verify", schema_for!(LogVerifyJson)),
        ("openskills-log-stats", schema_for!(LogStatsJson)),
        ("openskills-replay", schema_for!(ReplayJson)),
        ("openskills-log-archive", schema_for!(LogArchiveJson)),
        ("openskills-error", schema_for!(FailureJson)),
    ]
}
