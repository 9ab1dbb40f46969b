//! The JSON output of commands.

use std::collections::BTreeMap;

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
    /// Whether a newer version of any skill is known.
    pub outdated: bool,
    /// The checked projects.
    pub projects: Vec<OutdatedProjectJson>,
}

/// A project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutdatedProjectJson {
    /// Its alias.
    pub alias: String,
    /// Its folder.
    pub path: String,
    /// Its skills.
    pub skills: Vec<SkillVersionsJson>,
    /// Why it could not be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The versions of a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillVersionsJson {
    /// The skill.
    pub name: String,
    /// The declared reference: its kind and name.
    pub reference: String,
    /// The installed commit.
    pub installed: Option<String>,
    /// The commit that an upgrade would install.
    pub wanted: Option<String>,
    /// The newest tag, if it is newer than the declared one.
    pub newest: Option<String>,
    /// Whether a newer version is known.
    pub outdated: bool,
    /// Why some of these values are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `csk diff --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiffJson {
    /// The version of this format.
    pub version: u32,
    /// The skills that differ, in all projects.
    pub skills: Vec<SkillDiffJson>,
    /// What could not be compared, and why.
    pub problems: Vec<String>,
}

/// The differences in a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillDiffJson {
    /// The project's alias.
    pub project: String,
    /// The skill.
    pub name: String,
    /// The old commit.
    pub from: Option<String>,
    /// The new commit; null for the files on disk.
    pub to: Option<String>,
    /// The files that differ.
    pub files: Vec<FileDiffJson>,
    /// Added commands.
    pub commands_gained: Vec<String>,
    /// Removed commands.
    pub commands_lost: Vec<String>,
    /// Newly required system programs.
    pub programs_gained: Vec<String>,
    /// System programs that are no longer required.
    pub programs_lost: Vec<String>,
    /// Newly declared capabilities.
    pub capabilities_gained: Vec<String>,
    /// Capabilities that are no longer declared.
    pub capabilities_lost: Vec<String>,
}

/// A change to a file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileDiffJson {
    /// Its path in the skill; under `runtime/` for command files, under an agent's folder for copies there.
    pub path: String,
    /// `added`, `removed`, `changed`, or `mode` if only its mode differs.
    pub change: String,
    /// The line diff, if it is a text file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// `csk why --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhyJson {
    /// The version of this format.
    pub version: u32,
    /// The skill or command that was looked up.
    pub name: String,
    /// Every reason why it is installed.
    pub reasons: Vec<ReasonJson>,
}

/// Why a skill or a command is installed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReasonJson {
    /// `skill`, `command` for a command provided by a skill, or `program` for a program required by a skill.
    pub kind: String,
    /// The project's alias; `global` for the global scope.
    pub project: String,
    /// The skill.
    pub skill: String,
    /// The file that declares it.
    pub declared_in: String,
    /// The declared reference: its kind and name.
    pub reference: String,
    /// The repository, or the URL it is cloned from.
    pub source: String,
    /// The installed commit.
    pub installed: Option<String>,
    /// The path of the skill or command.
    pub path: String,
    /// The agents that can use it.
    pub agents: Vec<String>,
}

/// `csk doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DoctorJson {
    /// The version of this format.
    pub version: u32,
    /// Whether no problems were found; notes do not count.
    pub ok: bool,
    /// The checks, in order.
    pub checks: Vec<CheckJson>,
}

/// One check.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckJson {
    /// The stable name of the check.
    pub check: String,
    /// `ok`, `note` or `fail`.
    pub state: String,
    /// What was found.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// `csk import --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportJson {
    /// The version of this format.
    pub version: u32,
    /// The Skillfile that was written, or would be written in a dry run.
    pub skillfile: String,
    /// The imported skills.
    pub imported: Vec<ImportedJson>,
    /// The skills that were not imported, and why.
    pub skipped: Vec<SkippedJson>,
    /// Notes for the next install.
    pub notes: Vec<String>,
    /// Whether the Skillfile was written.
    pub written: bool,
}

/// An imported skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportedJson {
    /// The skill.
    pub name: String,
    /// The lockfile or folder it was found in.
    pub from: String,
    /// The new declaration: repository, folder in it, and reference.
    pub declared: String,
}

/// A skipped skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkippedJson {
    /// The skill.
    pub name: String,
    /// Why it was not imported.
    pub reason: String,
}

/// `csk install --json`, `csk upgrade --json`, `csk global install --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallJson {
    /// The version of this format.
    pub version: u32,
    /// Whether this was a dry run; if so, the listed changes were not made.
    pub dry_run: bool,
    /// The projects.
    pub projects: Vec<InstallProjectJson>,
}

/// The result for a project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallProjectJson {
    /// Its alias; `global` for the global scope.
    pub alias: String,
    /// The entries added to its `.gitignore`.
    pub ignored: Vec<String>,
    /// Warnings about the project.
    pub warnings: Vec<String>,
    /// Changes that do not belong to a skill.
    pub changes: Vec<String>,
    /// The results for its skills, removals last.
    pub skills: Vec<InstallSkillJson>,
    /// Why nothing was done in the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<InstallErrorJson>,
}

/// The result for a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallSkillJson {
    /// The skill.
    pub name: String,
    /// The declared reference: its kind and name; null if it is no longer declared.
    pub reference: Option<String>,
    /// The wanted commit.
    pub commit: Option<String>,
    /// `up-to-date`, `installed`, `removed` or `failed`.
    pub outcome: String,
    /// Warnings about the skill.
    pub warnings: Vec<String>,
    /// The changes, one line each.
    pub changes: Vec<String>,
    /// Why it failed; the previous version is still in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<InstallErrorJson>,
}

/// Why something was not done.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallErrorJson {
    /// What went wrong.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `csk cache dir --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheDirJson {
    /// The version of this format.
    pub version: u32,
    /// The cache path.
    pub folder: String,
}

/// `csk cache size --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheSizeJson {
    /// The version of this format.
    pub version: u32,
    /// The cache path.
    pub folder: String,
    /// The number of snapshots.
    pub snapshots: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// `csk config show --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigJson {
    /// The version of this format.
    pub version: u32,
    /// The user's config file path.
    pub file: String,
    /// The folder with csk's own state.
    pub home: String,
    /// The keys enforced by the system config.
    pub locked: Vec<String>,
    /// The effective config from all layers; see the format of config.json.
    pub config: serde_json::Value,
}

/// `csk project resolve --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolveJson {
    /// The version of this format.
    pub version: u32,
    /// The alias of the logical project.
    pub project_alias: String,
    /// The alias of this working copy.
    pub checkout_alias: String,
    /// The project's folder.
    pub path: String,
    /// The path of its Skillfile.
    pub skillfile: String,
    /// The checked-out branch.
    pub branch: Option<String>,
    /// The task ID found in the branch name.
    pub task_id: Option<String>,
    /// A short digest of its path.
    pub path_hash: String,
    /// The folder its skills are installed in.
    pub skills: String,
}

/// `csk global list --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GlobalListJson {
    /// The version of this format.
    pub version: u32,
    /// The declared skills: skill name, reference kind and reference name.
    pub skills: Vec<String>,
}

/// `csk skill check --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillCheckJson {
    /// The version of this format.
    pub version: u32,
    /// The skill folder.
    pub path: String,
    /// Whether it can be published.
    pub valid: bool,
    /// The problems found, each as `file:line:column: message`.
    pub problems: Vec<String>,
}

/// `csk add --json` and `csk show --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceSkillsJson {
    /// The version of this format.
    pub version: u32,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The folder of the project or of the global scope; null if the skills are only shown.
    pub project: Option<String>,
    /// The skills.
    pub skills: Vec<SourceSkillJson>,
    /// The ids of the agents that find the skills.
    pub agents: Vec<String>,
    /// The files that were written, apart from what an install writes.
    pub written: Vec<String>,
}

/// A skill of a source.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceSkillJson {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The URL of its repository; null if the repository has none.
    pub git: Option<String>,
    /// Its folder in the repository; null if it is the whole repository.
    pub path: Option<String>,
    /// The tag, branch or revision: its kind and name.
    pub reference: String,
    /// The commit.
    pub commit: String,
    /// The digest of its files.
    pub bundle_sha256: String,
    /// The audit verdict.
    pub verdict: String,
    /// Why it needs review or is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its commands, required programs and declared capabilities, one line each.
    pub facts: Vec<String>,
    /// What was observed to use capabilities: for each capability, what it is used for.
    pub observed: BTreeMap<String, Vec<String>>,
    /// What was done: `installed`, `up-to-date` or `declared`; null if it is only shown.
    pub outcome: Option<String>,
}

/// `csk find --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindJson {
    /// The version of this format.
    pub version: u32,
    /// The skills that match, best first.
    pub skills: Vec<FoundSkillJson>,
    /// What could not be searched, and why.
    pub problems: Vec<String>,
}

/// A skill that matches a query.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FoundSkillJson {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Where it was found: `installed`, `repository` or `index`.
    pub kind: String,
    /// The project, repository or index file.
    pub place: String,
    /// The arguments of `csk add`; null if it is only known as installed.
    pub add: Option<Vec<String>>,
}
