//! The trust level of a skill: who vouches for it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The trust level of a skill: who vouches for it, from the most trusted down. A skill is never shadowed by one of a lower trust level.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SkillSource {
    /// Shipped with the runtime.
    Builtin,
    /// Provided by whoever administers the machine.
    Org,
    /// The user's own, or of a folder that the user trusts.
    User,
    /// Anybody's.
    ThirdParty,
}

impl SkillSource {
    /// Returns the word of the data model.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Org => "org",
            Self::User => "user",
            Self::ThirdParty => "third_party",
        }
    }

    /// Those that a configuration file can name. Nobody can declare a skill to be builtin.
    pub const CONFIGURABLE: [Self; 3] = [Self::Org, Self::User, Self::ThirdParty];

    /// Reads the word of a configuration file.
    pub fn configured(text: &str) -> Option<Self> {
        Self::CONFIGURABLE.into_iter().find(|source| source.as_str() == text)
    }
}

impl fmt::Display for SkillSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
