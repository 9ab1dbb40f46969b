//! What is answered to `skills/list`, `skills/get` and `resources/directory/read`, and what older clients read as resources.

use serde::Serialize;
use serde_json::{Map, Value};

/// A result of the newest revision of the protocol.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Complete<T> {
    pub(super) result_type: &'static str,
    #[serde(flatten)]
    pub(super) payload: T,
    /// How long it may be kept.
    pub(super) ttl_ms: u64,
    pub(super) cache_scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

/// The answer to `resources/directory/read`.
#[derive(Debug, Serialize)]
pub(super) struct Children {
    pub(super) resources: Vec<Child>,
}

/// A file or a folder in a folder.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Child {
    pub(super) uri: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    pub(super) mime_type: &'static str,
    /// Absent for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
}

/// The answer to `skills/list`.
#[derive(Debug, Serialize)]
pub(super) struct Skills {
    pub(super) skills: Vec<ListedSkill>,
}

/// The answer to `skills/get`.
#[derive(Debug, Serialize)]
pub(super) struct OneSkill {
    pub(super) skill: ListedSkill,
}

/// A skill with its frontmatter and every file.
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

/// `skill://index.json`, which older clients read.
#[derive(Debug, Serialize)]
pub(super) struct Index {
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
    /// Skills are served as files alone.
    pub(super) archives: [(); 0],
}

/// `skill://<id>/_manifest`, which older clients read.
#[derive(Debug, Serialize)]
pub(super) struct SkillFiles {
    pub(super) skill: String,
    pub(super) files: Vec<HashedFile>,
}

#[derive(Debug, Serialize)]
pub(super) struct HashedFile {
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) hash: String,
}
