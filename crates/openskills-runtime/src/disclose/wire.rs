//! A skill of the index as JSON.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use skill_state::SkillSource;

use crate::{ApprovalState, Provenance, Scope, Skill, rfc3339};

/// One entry of the index as hosts exchange it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillIndexEntry {
    /// The skill's id.
    pub skill_id: String,
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Who vouches for it.
    pub source: SkillSource,
    /// Its folder.
    pub path: String,
    /// The digest of its content; absent where a file of it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// When its SKILL.md was last written, as RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// Free data, text to text.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Its licence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// What it needs around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// The tools it may use; absent means no restriction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<String>,
    /// Its SKILL.md; absent for a builtin skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Where it was found.
    pub scope: Scope,
    /// Whether the user has not switched it off.
    pub enabled: bool,
    /// Whether the model may start it by itself.
    pub model_may_invoke: bool,
    /// Whether the user may start it by name.
    pub user_may_invoke: bool,
    /// The place of its root in the order of precedence: 1 comes first.
    pub priority: usize,
    /// The id of the skill that its name means instead.
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

/// Which MCP server serves a skill, and whether it may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServedEntry {
    /// The label that the user gave the server.
    pub server: String,
    /// The URI of its SKILL.md there.
    pub uri: String,
    /// Whether the user approved it as it is.
    pub approval: ApprovalState,
}

impl SkillIndexEntry {
    /// Returns the entry of a skill, without its digest, and with what its frontmatter alone says about the model.
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
