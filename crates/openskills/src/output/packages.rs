//! JSON output of the commands that pack, install, test and convert skills.

use openskills_runtime::Installed;
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `openskills pack --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackJson {
    /// Version of this format.
    pub version: u32,
    /// Skill name.
    pub name: String,
    /// Archive path.
    pub file: String,
    /// Size of the archive in bytes.
    pub size: usize,
    /// Number of files in the archive.
    pub files: usize,
    /// Hidden files in the archive: those whose path has a component starting with a dot.
    pub hidden: Vec<String>,
    /// Archive digest.
    pub digest: String,
    /// Path of the signature, if the archive was signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Output of `openskills install --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallJson {
    /// Version of this format.
    pub version: u32,
    /// Skill name.
    pub name: String,
    /// Skill folder.
    pub path: String,
    /// `installed`, `already installed` or `would be installed`.
    pub result: String,
    /// Declared capabilities gained and lost compared with the installed version.
    pub changes: Option<Vec<String>>,
    /// Audit verdict.
    pub verdict: String,
    /// Backup of the locally edited version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
}

/// Output of `openskills remove --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveJson {
    /// Version of this format.
    pub version: u32,
    /// Skill name.
    pub name: String,
    /// The removed folder.
    pub path: String,
    /// Backup of the locally edited version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
}

/// Output of `openskills list --installed --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstalledJson {
    /// Version of this format.
    pub version: u32,
    /// Every installed skill.
    pub installed: Vec<InstalledSkillJson>,
}

/// An installed skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstalledSkillJson {
    /// Skill folder.
    pub path: String,
    /// `installed`, `edited` or `gone`.
    pub state: String,
    /// The install record.
    #[serde(flatten)]
    pub record: Installed,
}

/// Output of `openskills test --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestJson {
    /// Version of this format.
    pub version: u32,
    /// Number of tests that passed.
    pub passed: usize,
    /// Number of tests that failed.
    pub failed: usize,
    /// Every test, in order.
    pub tests: Vec<TestedJson>,
    /// Files named like tests that openskills does not know how to run.
    pub skipped: Vec<String>,
}

/// A test that ran.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestedJson {
    /// The test file.
    pub test: String,
    /// Whether the test passed.
    pub passed: bool,
    /// Test exit code.
    pub exit_code: u8,
    /// The test's standard output.
    pub output: String,
    /// The test's standard error.
    pub stderr: String,
}

/// Output of `openskills migrate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigrateJson {
    /// Version of this format.
    pub version: u32,
    /// The converted file.
    pub file: String,
    /// The change as a diff; empty if nothing changes.
    pub diff: String,
    /// Notes about the conversion.
    pub notes: Vec<String>,
    /// Whether the file was written.
    pub written: bool,
}

/// Output of `openskills skillify --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillifyJson {
    /// Version of this format.
    pub version: u32,
    /// Skill name.
    pub name: String,
    /// Kind of package: `r`, `python`, `rust` or `npm`.
    pub kind: String,
    /// Package name.
    pub package: String,
    /// Package version.
    pub package_version: String,
    /// Digest of the package source.
    pub source_hash: String,
    /// Number of exports.
    pub topics: usize,
    /// Bundle folder; absent if it was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Diff against the existing bundle in `--output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Backup of an existing bundle with local edits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// Whether the bundle was written to `--output`.
    pub written: bool,
}
