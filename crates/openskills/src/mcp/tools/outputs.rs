//! The data in the results of the tools. The output schema of the list is derived from its struct.

use std::collections::BTreeSet;

use openskills_runtime::ExitStatus;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The structured content of `skills.list`.
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

/// The data for programs in a result of `skills.read`.
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

/// The data for programs in a result of `skills.read_resource`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileOutput {
    pub(super) skill_id: String,
    #[serde(flatten)]
    pub(super) file: Option<FileDetails>,
    pub(super) path: String,
    /// For text, the offset of the returned part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<usize>,
    /// The offset of the next part, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_offset: Option<usize>,
}

/// Details of a file; absent for a folder.
#[derive(Debug, Serialize)]
pub(super) struct FileDetails {
    pub(super) uri: String,
    pub(super) sha256: String,
    pub(super) size: usize,
}

/// The data for programs in a result of `skills.run_script`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunOutput<'a> {
    pub(super) exit_code: u8,
    pub(super) exit_status: ExitStatus,
    pub(super) skill_id: &'a str,
    pub(super) changes: &'a [String],
    pub(super) applied: bool,
    pub(super) blocked_calls: BTreeSet<&'a str>,
    pub(super) not_granted: &'a [String],
    /// The streams that were truncated.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) truncated: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_applied: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) review: Option<String>,
}

/// The data of `skills.run_command` for programs.
#[derive(Debug, Serialize)]
pub(super) struct CommandOutput {
    pub(super) exit_code: u8,
    /// The streams of which only the first part is in the text.
    pub(super) truncated: Vec<&'static str>,
    pub(super) notes: Vec<String>,
    /// Whether processes are still running in the background.
    pub(super) left_running: bool,
}
