//! The results of `skills/list`, `skills/get` and `resources/directory/read`, and the JSON resources that older clients
//! read.

use serde::Serialize;
use serde_json::{Map, Value};

/// A result with the fields that the newest revision of the protocol requires.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExtensionResult<T> {
    pub(super) result_type: &'static str,
    #[serde(flatten)]
    pub(super) payload: T,
    /// How long clients may cache it.
    pub(super) ttl_ms: u64,
    pub(super) cache_scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

/// The result of `resources/directory/read`.
#[derive(Debug, Serialize)]
pub(super) struct DirectoryListing {
    pub(super) resources: Vec<DirectoryEntry>,
}

/// A file or subfolder.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DirectoryEntry {
    pub(super) uri: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    pub(super) mime_type: &'static str,
    /// Absent for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
}

/// The result of `skills/list`.
#[derive(Debug, Serialize)]
pub(super) struct SkillList {
    pub(super) skills: Vec<ListedSkill>,
}

/// The result of `skills/get`.
#[derive(Debug, Serialize)]
pub(super) struct SkillResult {
    pub(super) skill: ListedSkill,
}

/// A skill with its frontmatter and all its files.
#[derive(Debug, Serialize)]
pub(super) struct ListedSkill {
    pub(super) uri: String,
    pub(super) frontmatter: Map<String, Value>,
    pub(super) resources: Vec<ListedFile>,
}

#[derive(Debug, Serialize)]
pub(super) struct ListedFile {
    pub(super) uri: String,
    pub(super) digest: String,
    pub(super) size: u64,
}

/// The content of `skill://index.json`, which older clients read.
#[derive(Debug, Serialize)]
pub(super) struct SkillIndex {
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) skills: Vec<IndexedSkill>,
}

#[derive(Debug, Serialize)]
pub(super) struct IndexedSkill {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) description: String,
    pub(super) url: String,
    pub(super) digest: String,
    pub(super) frontmatter: Map<String, Value>,
    /// Always empty: skills are served only as files.
    pub(super) archives: [(); 0],
}

/// The content of `skill://<id>/_manifest`, which older clients read.
#[derive(Debug, Serialize)]
pub(super) struct SkillManifest {
    pub(super) skill: String,
    pub(super) files: Vec<ManifestFile>,
}

#[derive(Debug, Serialize)]
pub(super) struct ManifestFile {
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) hash: String,
}
