//! What the commands write as JSON. Each type has a schema under `schemas/`.

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde_json::{Map, Value};
use term::{DiagnosticJson, sarif};

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

/// `openskills prompt --format json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptJson {
    /// The version of this format.
    pub version: u32,
    /// The skills that the model may know of.
    pub skills: Vec<DisclosedJson>,
}

/// A skill as the model gets to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DisclosedJson {
    /// Its name.
    pub name: String,
    /// What it does and when to use it, on one line.
    pub description: String,
    /// Its SKILL.md, absolute; absent for clients without a file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// Returns the schema of every output, by the name of its file under `schemas/`.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("openskills-validate", schema_for!(ValidateJson)),
        ("openskills-validate-sarif", schema_for!(sarif::Log)),
        ("openskills-show", schema_for!(ShowJson)),
        ("openskills-prompt", schema_for!(PromptJson)),
    ]
}
