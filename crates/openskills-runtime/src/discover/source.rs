//! The kinds of locations in which skills are found.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of location in which a skill was found. Within a trust level, later scopes take precedence.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// On an MCP server.
    Mcp,
    /// Compiled into the program.
    Builtin,
    /// In a system-wide folder.
    System,
    /// In the user's home folder.
    Personal,
    /// In the project folder.
    Project,
    /// In a subfolder of the project.
    Nested,
    /// In a folder configured by the user or the host.
    Custom,
    /// In an installed package.
    Package,
}

impl Scope {
    /// Returns the name of the scope.
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
