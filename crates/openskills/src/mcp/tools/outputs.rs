//! What the tools answer as data: one struct each, from which the JSON and, where clients are told of it, the schema come.

use std::collections::BTreeSet;

use openskills_runtime::ExitStatus;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The data of `skills.list`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::mcp) struct ListOutput {
    pub(super) skills: Vec<ListedSkill>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedSkill {
    pub(super) id: String,
    pub(super) skill_id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) source: String,
    pub(super) uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
}

/// What programs are told of an activation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadOutput {
    pub(super) id: String,
    pub(super) skill_id: String,
    pub(super) name: String,
    pub(super) hash: String,
    pub(super) source: String,
    pub(super) files: Vec<String>,
    pub(super) more_files: usize,
}

/// What programs are told of a file, or of the list of a folder.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileOutput {
    pub(super) skill_id: String,
    #[serde(flatten)]
    pub(super) file: Option<FileFacts>,
    pub(super) path: String,
    /// Where the part that is given begins, of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<usize>,
    /// Where the next part begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_offset: Option<usize>,
}

/// What a folder does not have.
#[derive(Debug, Serialize)]
pub(super) struct FileFacts {
    pub(super) uri: String,
    pub(super) sha256: String,
    pub(super) size: usize,
}

/// What programs are told of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunOutput<'a> {
    pub(super) exit_code: u8,
    pub(super) exit_status: ExitStatus,
    pub(super) skill_id: &'a str,
    pub(super) changes: &'a [String],
    pub(super) committed: bool,
    pub(super) tried: BTreeSet<&'a str>,
    pub(super) not_granted: &'a [String],
    /// The streams of which not everything is given.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) cut: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_committed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review: Option<String>,
}
