//! Where a skill was found.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a skill was found. Inside one trust level, a later scope overrides an earlier one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// On another MCP server.
    Mcp,
    /// In the program itself.
    Builtin,
    /// In a folder of the whole machine.
    System,
    /// In the user's home.
    Personal,
    /// In the project.
    Project,
    /// In a folder of the project.
    Nested,
    /// In a folder that was named.
    Custom,
    /// In a package of a library.
    Package,
}

impl Scope {
    /// Returns the word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Package => "package",
            Self::Builtin => "builtin",
            Self::System => "system",
            Self::Personal => "personal",
            Self::Project => "project",
            Self::Nested => "nested",
            Self::Custom => "custom",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
