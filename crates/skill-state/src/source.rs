//! The trust level of a skill.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The trust level of a skill, ordered from most to least trusted. A skill is never shadowed by one with a lower trust
/// level.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SkillSource {
    /// Shipped with the runtime.
    Builtin,
    /// Provided by the machine's administrator.
    Org,
    /// The user's own, or from a folder that the user trusts.
    User,
    /// Untrusted.
    ThirdParty,
}

impl SkillSource {
    /// Returns the name used in files and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Org => "org",
            Self::User => "user",
            Self::ThirdParty => "third_party",
        }
    }

    /// The trust levels that a configuration file may set. No file can make a skill builtin.
    pub const CONFIGURABLE: [Self; 3] = [Self::Org, Self::User, Self::ThirdParty];

    /// Parses a trust level in a configuration file.
    pub fn configured(text: &str) -> Option<Self> {
        Self::CONFIGURABLE.into_iter().find(|source| source.as_str() == text)
    }
}

impl fmt::Display for SkillSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
