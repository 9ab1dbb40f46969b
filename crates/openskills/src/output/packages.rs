//! What the commands about packages write.

use openskills_runtime::Installed;
use schemars::JsonSchema;
use serde::Serialize;

/// `openskills pack --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackJson {
    /// The version of this format.
    pub version: u32,
    /// The skill's name.
    pub name: String,
    /// The archive.
    pub file: String,
    /// How many bytes it has.
    pub size: usize,
    /// How many files are in it.
    pub files: usize,
    /// Those of them that begin with a dot, or are below a folder that does.
    pub hidden: Vec<String>,
    /// Its digest.
    pub digest: String,
    /// Its signature, if it was signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// `openskills install --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallJson {
    /// The version of this format.
    pub version: u32,
    /// The skill's name.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// `installed`, `is there already` or `would be installed`.
    pub result: String,
    /// What it gains and loses, in what it declares.
    pub changes: Option<Vec<String>>,
    /// What the audit says.
    pub verdict: String,
    /// Where what was edited is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
}

/// `openskills remove --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveJson {
    /// The version of this format.
    pub version: u32,
    /// The skill's name.
    pub name: String,
    /// Its folder, which is gone.
    pub path: String,
    /// Where what was edited is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
}

/// `openskills list --installed --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstalledJson {
    /// The version of this format.
    pub version: u32,
    /// Every skill that was installed.
    pub installed: Vec<InstalledSkillJson>,
}

/// A skill that was installed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstalledSkillJson {
    /// Its folder.
    pub path: String,
    /// `installed`, `edited` or `gone`.
    pub state: String,
    /// What is known of it.
    #[serde(flatten)]
    pub record: Installed,
}

/// `openskills test --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestJson {
    /// The version of this format.
    pub version: u32,
    /// How many tests passed.
    pub passed: usize,
    /// How many failed.
    pub failed: usize,
    /// Every one of them, in order.
    pub tests: Vec<TestedJson>,
    /// Files that are called like tests, and that nothing says how to run.
    pub left_out: Vec<String>,
}

/// A test that ran.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestedJson {
    /// The file.
    pub test: String,
    /// Whether it passed.
    pub passed: bool,
    /// What it ended with.
    pub exit_code: u8,
    /// What it wrote to standard output.
    pub output: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// `openskills migrate --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigrateJson {
    /// The version of this format.
    pub version: u32,
    /// The file.
    pub file: String,
    /// What changes in it, as lines of a diff; empty if nothing does.
    pub diff: String,
    /// What is worth knowing.
    pub notes: Vec<String>,
    /// Whether it was written.
    pub written: bool,
}

/// `openskills skillify --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillifyJson {
    /// The version of this format.
    pub version: u32,
    /// The name of the skill.
    pub name: String,
    /// The kind of package: `r`, `python`, `rust` or `npm`.
    pub kind: String,
    /// The package.
    pub package: String,
    /// Its version.
    pub package_version: String,
    /// The digest of its source.
    pub source_hash: String,
    /// How many things it exports.
    pub topics: usize,
    /// Where the bundle is; absent where it is nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How it differs from the bundle in `--output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Where the bundle that somebody had edited is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// Whether it was written there.
    pub written: bool,
}
