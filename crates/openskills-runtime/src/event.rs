//! What the runtime did, as data for a log.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::{Skill, SkillSource};

/// Something that happened to a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum Event {
    /// A skill is new, or not what it was.
    #[serde(rename = "skill.discovered")]
    Discovered {
        /// Its id.
        skill_id: String,
        /// Its name.
        name: String,
        /// Who vouches for it.
        source: SkillSource,
        /// Its folder.
        path: String,
        /// What is different.
        change: Change,
        /// When.
        #[serde(serialize_with = "time")]
        #[schemars(with = "String")]
        discovered_at: Timestamp,
    },
    /// A skill that was there is gone.
    #[serde(rename = "skill.removed")]
    Removed {
        /// Its id.
        skill_id: String,
        /// Its name.
        name: String,
        /// Its folder.
        path: String,
        /// When.
        #[serde(serialize_with = "time")]
        #[schemars(with = "String")]
        removed_at: Timestamp,
    },
    /// A skill was activated.
    #[serde(rename = "skill.activated")]
    Activated(SkillActivation),
    /// A file of a skill was read.
    #[serde(rename = "skill.resource_read")]
    ResourceRead(ResourceRead),
}

/// What is different about a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there.
    New,
    /// It was another version.
    Changed,
}

/// One activation of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillActivation {
    /// Its id.
    pub skill_id: String,
    /// The digest of its content.
    pub hash: String,
    /// Who vouches for it.
    pub source: SkillSource,
    /// The session.
    pub session_id: String,
    /// The task, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// When.
    #[serde(serialize_with = "time")]
    #[schemars(with = "String")]
    pub activated_at: Timestamp,
    /// Whether the same was active in the session before.
    pub repeated: bool,
}

/// One file of a skill that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceRead {
    /// The skill's id.
    pub skill_id: String,
    /// Who vouches for the skill.
    pub source: SkillSource,
    /// The session.
    pub session_id: String,
    /// The file, seen from the skill.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// The digest of its bytes.
    pub sha256: String,
    /// When.
    #[serde(serialize_with = "time")]
    #[schemars(with = "String")]
    pub read_at: Timestamp,
}

impl Event {
    /// Returns the id of the skill that it is about.
    pub fn skill_id(&self) -> &str {
        match self {
            Self::Discovered { skill_id, .. } | Self::Removed { skill_id, .. } => skill_id,
            Self::Activated(activation) => &activation.skill_id,
            Self::ResourceRead(read) => &read.skill_id,
        }
    }

    pub(crate) fn discovered(skill: &Skill, change: Change, at: Timestamp) -> Self {
        Self::Discovered {
            skill_id: skill.id.clone(),
            name: skill.name.to_string(),
            source: skill.source,
            path: skill.path().to_owned(),
            change,
            discovered_at: at,
        }
    }

    pub(crate) fn removed(skill: &Skill, at: Timestamp) -> Self {
        let (skill_id, name, path) =
            (skill.id.clone(), skill.name.to_string(), skill.path().to_owned());
        Self::Removed { skill_id, name, path, removed_at: at }
    }
}

/// Returns a time as RFC 3339 in UTC, in whole milliseconds.
pub fn rfc3339(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn time<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*at))
}
