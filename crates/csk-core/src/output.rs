//! What commands write as JSON.

use schemars::JsonSchema;
use serde::Serialize;

/// The version of these formats.
pub const VERSION: u32 = 1;

/// `csk outdated --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutdatedJson {
    /// The version of this format.
    pub version: u32,
    /// Whether something newer is known.
    pub outdated: bool,
    /// The projects.
    pub projects: Vec<OutdatedProjectJson>,
}

/// A project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutdatedProjectJson {
    /// Its alias.
    pub alias: String,
    /// Where it is.
    pub path: String,
    /// Its skills.
    pub skills: Vec<StandingJson>,
    /// Why it cannot be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a skill stands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StandingJson {
    /// The skill.
    pub name: String,
    /// What is declared: the kind, and the name.
    pub reference: String,
    /// The commit that is installed.
    pub installed: Option<String>,
    /// The commit that an upgrade would install.
    pub wanted: Option<String>,
    /// The newest tag, where one is newer than the declared.
    pub newest: Option<String>,
    /// Whether something newer is known.
    pub outdated: bool,
    /// Why something of this is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `csk diff --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiffJson {
    /// The version of this format.
    pub version: u32,
    /// The skills that differ, of every project.
    pub skills: Vec<SkillDiffJson>,
    /// What could not be compared, and why.
    pub problems: Vec<String>,
}

/// What is different about a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillDiffJson {
    /// The project's alias.
    pub project: String,
    /// The skill.
    pub name: String,
    /// The commit before.
    pub from: Option<String>,
    /// The commit after; none for what is on disk.
    pub to: Option<String>,
    /// The files that differ.
    pub files: Vec<FileDiffJson>,
    /// Commands that come.
    pub commands_gained: Vec<String>,
    /// Commands that go.
    pub commands_lost: Vec<String>,
    /// Programs of the system that it needs from then on.
    pub programs_gained: Vec<String>,
    /// Programs that it does not need any more.
    pub programs_lost: Vec<String>,
    /// Capabilities that it declares and did not before.
    pub capabilities_gained: Vec<String>,
    /// Capabilities that it declared and does not any more.
    pub capabilities_lost: Vec<String>,
}

/// How a file differs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileDiffJson {
    /// Its path in the skill; below `runtime/` for the files of its commands, below an agent's folder for copies there.
    pub path: String,
    /// `added`, `removed`, `changed`, or `mode` where only its mode differs.
    pub change: String,
    /// The lines that differ, where it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// `csk why --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhyJson {
    /// The version of this format.
    pub version: u32,
    /// What was asked about.
    pub name: String,
    /// Every reason that it is there.
    pub reasons: Vec<ReasonJson>,
}

/// Why a skill or a command is there.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReasonJson {
    /// `skill`, `command` for one that a skill brings, or `program` for one that a skill needs.
    pub kind: String,
    /// The project's alias; `global` for the user's own scope.
    pub project: String,
    /// The skill.
    pub skill: String,
    /// The file that declares it.
    pub declared_in: String,
    /// What is declared: the kind, and the name.
    pub reference: String,
    /// The repository, or where it is cloned from.
    pub source: String,
    /// The commit that is installed.
    pub installed: Option<String>,
    /// Where the skill, or the command, is.
    pub path: String,
    /// The agents that see it.
    pub agents: Vec<String>,
}

/// `csk doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DoctorJson {
    /// The version of this format.
    pub version: u32,
    /// Whether nothing has to be mended.
    pub good: bool,
    /// What was looked at.
    pub checks: Vec<CheckJson>,
}

/// One check.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckJson {
    /// A stable name.
    pub check: String,
    /// `ok`, `note` or `problem`.
    pub state: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// `csk import --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportJson {
    /// The version of this format.
    pub version: u32,
    /// The Skillfile that was, or would be, written.
    pub skillfile: String,
    /// What was imported.
    pub imported: Vec<ImportedJson>,
    /// What was not, and why.
    pub left: Vec<LeftJson>,
    /// What to know before the next install.
    pub notes: Vec<String>,
    /// Whether it was done.
    pub written: bool,
}

/// A skill that was imported.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportedJson {
    /// The skill.
    pub name: String,
    /// Where it was known.
    pub from: String,
    /// What is declared now: the repository, the folder in it, the reference.
    pub declared: String,
}

/// A skill that was not imported.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LeftJson {
    /// The skill.
    pub name: String,
    /// Why.
    pub why: String,
}

/// `csk install --json`, `csk upgrade --json`, `csk global install --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallJson {
    /// The version of this format.
    pub version: u32,
    /// Whether nothing was changed: what stands here would be done.
    pub dry_run: bool,
    /// The projects.
    pub projects: Vec<InstallProjectJson>,
}

/// What became of a project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallProjectJson {
    /// Its alias; `global` for the user's own scope.
    pub alias: String,
    /// What was added to its `.gitignore`.
    pub ignored: Vec<String>,
    /// What to know, though it stopped nothing.
    pub warnings: Vec<String>,
    /// Changes that belong to no skill.
    pub changes: Vec<String>,
    /// What became of its skills, removals last.
    pub skills: Vec<InstallSkillJson>,
    /// Why nothing was done in it at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<InstallErrorJson>,
}

/// What became of a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallSkillJson {
    /// The skill.
    pub name: String,
    /// What is declared: the kind, and the name; none for one that is not declared any more.
    pub reference: Option<String>,
    /// The commit that is wanted.
    pub commit: Option<String>,
    /// `up-to-date`, `installed`, `removed` or `failed`.
    pub outcome: String,
    /// What to know, though it stopped nothing.
    pub warnings: Vec<String>,
    /// What changes, entry by entry.
    pub changes: Vec<String>,
    /// Why it failed; what was there before is still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<InstallErrorJson>,
}

/// Why something was not done.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallErrorJson {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `csk cache dir --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheDirJson {
    /// The version of this format.
    pub version: u32,
    /// Where the cache is.
    pub folder: String,
}

/// `csk cache size --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheSizeJson {
    /// The version of this format.
    pub version: u32,
    /// Where the cache is.
    pub folder: String,
    /// How many snapshots it has.
    pub snapshots: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

/// `csk config show --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigJson {
    /// The version of this format.
    pub version: u32,
    /// The user's file.
    pub file: String,
    /// The folder of csk's own state.
    pub home: String,
    /// The keys that the system's file locks.
    pub locked: Vec<String>,
    /// What counts, from all layers; see the format of config.json.
    pub config: serde_json::Value,
}

/// `csk project resolve --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolveJson {
    /// The version of this format.
    pub version: u32,
    /// The logical project.
    pub project_alias: String,
    /// This working copy.
    pub checkout_alias: String,
    /// Where it is.
    pub path: String,
    /// Its Skillfile.
    pub skillfile: String,
    /// Its branch.
    pub branch: Option<String>,
    /// The task that the branch names.
    pub task_id: Option<String>,
    /// A short digest of its path.
    pub path_hash: String,
    /// Where its skills are installed.
    pub skills: String,
}

/// `csk global list --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GlobalListJson {
    /// The version of this format.
    pub version: u32,
    /// What is declared: the skill, the kind of reference, its name.
    pub skills: Vec<String>,
}

/// `csk skill check --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillCheckJson {
    /// The version of this format.
    pub version: u32,
    /// The folder of the skill.
    pub path: String,
    /// Whether it can be published.
    pub valid: bool,
    /// What is wrong with it, each as `file:line:column: message`.
    pub problems: Vec<String>,
}
