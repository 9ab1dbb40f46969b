//! JSON output of the `mcp` commands.

use openskills_runtime::{RuntimeError, SyncChange, SyncedSkills};
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `openskills mcp list --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServersJson {
    /// Version of this format.
    pub version: u32,
    /// Servers, sorted by label.
    pub servers: Vec<McpServerJson>,
}

/// A configured server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServerJson {
    /// Server label.
    pub label: String,
    /// Command or URL of the server.
    pub address: String,
    /// Number of skills from this server; absent if it was never synced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<usize>,
    /// Number of rejected skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<usize>,
    /// URIs of the skills added one by one with `--skill`, sorted.
    pub requested_uris: Vec<String>,
    /// Time of the last sync (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<String>,
}

/// Output of `openskills mcp sync --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpSyncedJson {
    /// Version of this format.
    pub version: u32,
    /// Every synced server.
    pub servers: Vec<McpSyncJson>,
}

/// The sync result of one server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpSyncJson {
    /// Server label.
    pub label: String,
    /// Number of skills it lists; absent if the sync failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<usize>,
    /// Changes since the last sync.
    pub changes: Vec<SyncedSkillJson>,
    /// Rejected skills.
    pub refused: Vec<SyncedSkillJson>,
    /// Why the sync failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A changed or rejected skill of a server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SyncedSkillJson {
    /// URI of its SKILL.md.
    pub uri: String,
    /// `new`, `changed` or `gone`; for a rejected skill, the reason.
    pub change: String,
}

impl McpSyncJson {
    pub(crate) fn done(label: &str, synced: &SyncedSkills, changes: &[SyncChange]) -> Self {
        let change = |change: &SyncChange| {
            let (uri, change) = change.parts();
            SyncedSkillJson { uri: uri.to_owned(), change: change.to_owned() }
        };
        let refused = |(uri, reason): &(String, String)| SyncedSkillJson {
            uri: uri.clone(),
            change: reason.clone(),
        };
        Self {
            label: label.to_owned(),
            skills: Some(synced.len()),
            changes: changes.iter().map(change).collect(),
            refused: synced.refused.iter().map(refused).collect(),
            error: None,
        }
    }

    pub(crate) fn failed(label: &str, error: &RuntimeError) -> Self {
        let error = Some(error.to_string());
        Self {
            label: label.to_owned(),
            skills: None,
            changes: Vec::new(),
            refused: Vec::new(),
            error,
        }
    }
}

/// Output of `openskills mcp install --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpInstallJson {
    /// Version of this format.
    pub version: u32,
    /// Client name.
    pub client: String,
    /// The client's config file.
    pub file: String,
    /// The change as a diff; empty if nothing changes.
    pub diff: String,
    /// Whether the file was written.
    pub written: bool,
}
