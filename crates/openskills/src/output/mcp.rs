//! What the commands about MCP write.

use openskills_runtime::{KeptSkills, RuntimeError, SyncChange};
use schemars::JsonSchema;
use serde::Serialize;

/// `openskills mcp list --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServersJson {
    /// The version of this format.
    pub version: u32,
    /// Every server, sorted by label.
    pub servers: Vec<McpServerJson>,
}

/// A server whose skills are listed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServerJson {
    /// What the user calls it.
    pub label: String,
    /// Its command, or where it is.
    pub address: String,
    /// How many skills are taken from it; absent if it was never asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<usize>,
    /// How many more it listed, or was asked for, that were not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<usize>,
    /// URIs of the skills that it is asked for one by one, sorted.
    pub asked_for: Vec<String>,
    /// When it was last asked, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<String>,
}

/// `openskills mcp sync --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpSyncedJson {
    /// The version of this format.
    pub version: u32,
    /// Every server that was asked.
    pub servers: Vec<McpSyncJson>,
}

/// What a server answered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpSyncJson {
    /// What the user calls it.
    pub label: String,
    /// How many skills it lists; absent if it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<usize>,
    /// What is different from what it listed before.
    pub changes: Vec<SyncedSkillJson>,
    /// What was not taken, and why.
    pub refused: Vec<SyncedSkillJson>,
    /// Why it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A skill of a server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SyncedSkillJson {
    /// The URI of its SKILL.md.
    pub uri: String,
    /// `new`, `changed` or `gone`; or why it was not taken.
    pub what: String,
}

impl McpSyncJson {
    pub(crate) fn done(label: &str, kept: &KeptSkills, changes: &[SyncChange]) -> Self {
        let change = |change: &SyncChange| {
            let (uri, what) = change.parts();
            SyncedSkillJson { uri: uri.to_owned(), what: what.to_owned() }
        };
        let refused = |(uri, what): &(String, String)| SyncedSkillJson {
            uri: uri.clone(),
            what: what.clone(),
        };
        Self {
            label: label.to_owned(),
            skills: Some(kept.len()),
            changes: changes.iter().map(change).collect(),
            refused: kept.refused.iter().map(refused).collect(),
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

/// `openskills mcp install --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpInstallJson {
    /// The version of this format.
    pub version: u32,
    /// The client.
    pub client: String,
    /// Its file.
    pub file: String,
    /// What changes in it, as lines of a diff; empty if nothing does.
    pub diff: String,
    /// Whether it was written.
    pub written: bool,
}
