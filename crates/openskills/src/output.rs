//! The JSON output of the commands. Each type has a schema in `schemas/`.

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
    CacheJson, CacheKindJson, ChangeJson, ConflictsJson, DeactivateJson, HookJson, NewJson,
    RunJson, SandboxJson, UndoJson, UndonePathJson, ViolationJson, WasmJson,
};

/// The version of every format here. It increases when a field is removed or changes its meaning.
pub(crate) const VERSION: u32 = 1;

/// Output of `openskills validate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidateJson {
    /// Version of this format.
    pub version: u32,
    /// Whether the command succeeded.
    pub valid: bool,
    /// Every checked skill, in order.
    pub skills: Vec<ValidatedJson>,
    /// Problems with the search itself.
    pub problems: Vec<DiagnosticJson>,
}

/// A checked skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidatedJson {
    /// The skill's folder, as given.
    pub path: String,
    /// The skill's name; absent if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the skill has no errors.
    pub valid: bool,
    /// Every problem found.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// Output of `openskills show --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowJson {
    /// Version of this format.
    pub version: u32,
    /// Skill name.
    pub name: String,
    /// Skill description.
    pub description: String,
    /// Absolute path of the skill's folder.
    pub path: String,
    /// Absolute path of SKILL.md.
    pub location: String,
    /// License.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Environment requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// Additional metadata from the frontmatter.
    pub metadata: Map<String, Value>,
    /// Tools the skill may use. Absent: no restriction; empty: no tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Whether the model may invoke the skill on its own.
    pub model_may_invoke: bool,
    /// Whether the user may invoke the skill by name.
    pub user_may_invoke: bool,
    /// Every frontmatter field, as written.
    pub frontmatter: Map<String, Value>,
    /// Size of the instructions.
    pub body: BodyJson,
    /// The skill's digests; absent if a file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digests: Option<DigestsJson>,
    /// All files in the skill, sorted by path.
    pub files: Vec<FileJson>,
    /// Every problem found.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// Size of the instructions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BodyJson {
    /// Number of lines.
    pub lines: usize,
    /// Approximate number of tokens.
    pub tokens: usize,
}

/// A skill's two digests.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DigestsJson {
    /// Digest of paths and contents; the one in csk's install marker.
    pub content_sha256: String,
    /// Digest of paths, modes, links and contents; approvals are bound to it.
    pub bundle_sha256: String,
}

/// A skill file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileJson {
    /// Path relative to the skill's folder.
    pub path: String,
    /// Type of the entry.
    #[schemars(extend("enum" = ["file", "link", "other"]))]
    pub kind: String,
    /// Size in bytes; 0 unless it is a regular file.
    pub size: u64,
    /// Whether the owner may execute it.
    pub executable: bool,
    /// Target of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Output of `openskills discover --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiscoverJson {
    /// Version of this format.
    pub version: u32,
    /// The project's folder; absent if only the folders given with `--dir` were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether the project is trusted, so that its skills count as your own.
    pub trusted: bool,
    /// The searched folders, in order of precedence within a trust level.
    pub roots: Vec<RootJson>,
    /// Available skills, sorted by name.
    pub skills: Vec<SkillIndexEntry>,
    /// Every problem found, without duplicates.
    pub problems: Vec<DiagnosticJson>,
    /// Skills that are new or changed since the index was last saved.
    pub events: Vec<Event>,
}

/// A folder of skills.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RootJson {
    /// Prefix of its skills' IDs.
    pub label: String,
    /// Path of the folder.
    pub path: String,
    /// Trust level of its skills.
    pub source: SkillSource,
    /// Kind of location.
    pub scope: Scope,
    /// Number of skills found in it.
    pub skills: usize,
}

/// Output of `openskills list --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListJson {
    /// Version of this format.
    pub version: u32,
    /// Skills, sorted by name.
    pub skills: Vec<SkillIndexEntry>,
    /// Folders whose SKILL.md cannot be loaded; only with `--all`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedJson>,
}

/// A folder whose SKILL.md cannot be loaded.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefusedJson {
    /// Path of the folder.
    pub path: String,
    /// Label of the skill folder that contains it.
    pub root: String,
    /// Every problem with it.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// Output of `openskills activate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub struct ActivateJson {
    /// Version of this format.
    pub version: u32,
    /// Skill ID.
    pub skill_id: String,
    /// Skill name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Folder that relative paths are resolved against; absent for a built-in skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The instructions with arguments substituted; absent if they are already active in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The instructions as shown to the model.
    pub content: String,
    /// The skill's files.
    pub resources: ResourcesJson,
    /// What the frontmatter requests from the host. openskills does not act on it.
    #[serde(flatten)]
    pub requests: Requests,
    /// Arguments by name, if the skill describes them with a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The log record.
    pub activation: SkillActivation,
    /// Every problem found.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// A skill's file names.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourcesJson {
    /// Paths relative to the skill's folder, sorted. A long list is truncated.
    pub files: Vec<String>,
    /// Number of files left out of a truncated list.
    pub more: usize,
}

/// Output of `openskills read --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadJson {
    /// Version of this format.
    pub version: u32,
    /// Encoding of `content`.
    #[schemars(extend("enum" = ["utf-8", "base64"]))]
    pub encoding: String,
    /// Content of the file.
    pub content: String,
    /// The log record.
    pub event: ResourceRead,
}

/// Output of `openskills files --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesJson {
    /// Version of this format.
    pub version: u32,
    /// Skill ID.
    pub skill_id: String,
    /// Skill folder.
    pub path: String,
    /// Every file, sorted by path.
    pub files: Vec<FileJson>,
}

/// Output of `openskills search --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchJson {
    /// Version of this format.
    pub version: u32,
    /// The search terms.
    pub query: String,
    /// Number of matching skills.
    pub found: usize,
    /// The best matches.
    pub skills: Vec<HitJson>,
}

/// A search result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HitJson {
    /// Skill ID.
    pub skill_id: String,
    /// Skill name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The skill's trust level.
    pub source: SkillSource,
    /// Skill folder.
    pub path: String,
    /// Relevance; higher is better.
    pub score: f64,
    /// Where the terms were found: `name`, `description`, `body`.
    pub found_in: Vec<String>,
}

/// Output of `openskills where --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhereJson {
    /// Version of this format.
    pub version: u32,
    /// The requested name.
    pub name: String,
    /// ID of the skill that the name refers to; absent if all are disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<String>,
    /// Why the name refers to this skill.
    pub reason: String,
    /// Every skill with this name, the selected one first.
    pub candidates: Vec<SkillIndexEntry>,
}

/// Output of `openskills trust --list --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustListJson {
    /// Version of this format.
    pub version: u32,
    /// Trusted folders, sorted.
    pub folders: Vec<String>,
}

/// Output of `openskills trust --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustJson {
    /// Version of this format.
    pub version: u32,
    /// Real path of the folder.
    pub folder: String,
    /// Whether the folder is trusted now.
    pub trusted: bool,
    /// Whether this command changed it.
    pub changed: bool,
}

/// Output of `openskills enable --json` and `openskills disable --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwitchJson {
    /// Version of this format.
    pub version: u32,
    /// The skills, in the order given.
    pub skills: Vec<SwitchedJson>,
}

/// A skill that was enabled or disabled.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwitchedJson {
    /// Name or ID, as given.
    pub name: String,
    /// Whether the skill is enabled now.
    pub enabled: bool,
    /// Whether this command changed it.
    pub changed: bool,
}

/// Output of `openskills check-tool --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckToolJson {
    /// Version of this format.
    pub version: u32,
    /// Whether the call is allowed, denied, or needs the user's approval.
    pub decision: Decision,
    /// The reason for the decision.
    pub reason: String,
}

/// Returns the JSON of a folder entry; `None` for a folder.
pub(crate) fn file_json(path: String, kind: Kind) -> Option<FileJson> {
    let (kind, size, executable, target) = match kind {
        Kind::Folder => return None,
        Kind::File { size, executable } => ("file", size, executable, None),
        Kind::Link(target) => ("link", 0, false, Some(target)),
        Kind::Other(_) => ("other", 0, false, None),
    };
    Some(FileJson { path, kind: kind.to_owned(), size, executable, target })
}

/// Returns the schema of every output, with the name of its file in `schemas/`.
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
        ("openskills-conflicts", schema_for!(ConflictsJson)),
        ("openskills-hook", schema_for!(HookJson)),
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
