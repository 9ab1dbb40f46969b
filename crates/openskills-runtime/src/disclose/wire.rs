//! The JSON form of an index entry.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use skill_state::SkillSource;

use crate::{ApprovalState, Provenance, Scope, Skill, rfc3339};

/// An index entry, as exchanged with hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillIndexEntry {
    /// The skill's ID.
    pub skill_id: String,
    /// The skill's name.
    pub name: String,
    /// What the skill does and when to use it.
    pub description: String,
    /// The skill's trust level.
    pub source: SkillSource,
    /// The skill's folder.
    pub path: String,
    /// Digest of the skill's content; absent if one of its files cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// When its SKILL.md was last modified (RFC 3339, UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// Free-form metadata, string to string.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The skill's license.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Compatibility requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// The tools that the skill may use; absent means no restriction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<String>,
    /// Path of its SKILL.md; absent for a builtin skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Where the skill was found.
    pub scope: Scope,
    /// False if the user disabled the skill.
    pub enabled: bool,
    /// Whether the model may invoke the skill.
    pub model_may_invoke: bool,
    /// Whether the user may invoke the skill by name.
    pub user_may_invoke: bool,
    /// Rank of its root in the order of precedence, starting at 1.
    pub priority: usize,
    /// The ID of the skill that its name refers to instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowed_by: Option<String>,
    /// The MCP server that serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedEntry>,
    /// The URL of the repository that csk installed it from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    /// Where csk installed it from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// The MCP server that serves a skill, and whether the skill may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServedEntry {
    /// The user's label for the server.
    pub server: String,
    /// The URI of the skill's SKILL.md on the server.
    pub uri: String,
    /// Whether the user approved the current version.
    pub approval: ApprovalState,
}

impl SkillIndexEntry {
    /// Returns the entry of a skill, without its digest; `model_may_invoke` considers only the frontmatter.
    pub(crate) fn new(skill: &Skill) -> Self {
        let text = |(key, value): &(String, String)| (key.clone(), Value::from(value.clone()));
        Self {
            skill_id: skill.id.clone(),
            name: skill.name.to_string(),
            description: skill.description.clone(),
            source: skill.source,
            path: skill.path().to_owned(),
            hash: None,
            last_modified: skill.last_modified().map(rfc3339),
            metadata: skill.metadata.iter().map(text).collect(),
            license: skill.license.clone(),
            compatibility: skill.compatibility.clone(),
            allowed_tools: skill.allowed_tools.clone(),
            location: skill.location(),
            scope: skill.scope,
            enabled: skill.is_enabled,
            model_may_invoke: skill.model_may_invoke,
            user_may_invoke: skill.user_may_invoke,
            priority: skill.priority,
            shadowed_by: skill.shadowed_by.clone(),
            served: None,
            origin_url: skill.provenance.as_ref().and_then(|from| from.origin_url.clone()),
            provenance: skill.provenance.as_deref().cloned(),
        }
    }
}
