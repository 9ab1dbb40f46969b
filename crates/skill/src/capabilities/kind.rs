//! The kinds of capability: one list shared by the manifest, the audit, approvals, the sandbox and the log.

use std::fmt;

/// A kind of capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapabilityKind {
    /// Files that are read.
    Read,
    /// Files that are written.
    Write,
    /// Hosts that are contacted.
    Network,
    /// Programs that are started.
    Exec,
    /// Environment variables.
    Env,
    /// Services whose secrets are used.
    Secrets,
    /// Tools of the agent.
    Tools,
}

impl CapabilityKind {
    /// Every kind, in display order.
    pub const ALL: [Self; 7] =
        [Self::Read, Self::Write, Self::Network, Self::Exec, Self::Env, Self::Secrets, Self::Tools];

    /// Returns the name used in every file, message and log entry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Network => "network",
            Self::Exec => "exec",
            Self::Env => "env",
            Self::Secrets => "secrets",
            Self::Tools => "tools",
        }
    }

    /// Parses the name of a kind.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns the key that declares this kind: in `capabilities` of csk-skill.json, or in the frontmatter for tools.
    pub const fn declared_as(self) -> &'static str {
        match self {
            Self::Read | Self::Write => "filesystem",
            Self::Network => "network",
            Self::Exec => "exec",
            Self::Env => "env_read",
            Self::Secrets => "secrets",
            Self::Tools => "allowed-tools",
        }
    }
}

impl fmt::Display for CapabilityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One item that is allowed or refused, such as a folder, a host or a variable. Shown and logged as `kind: item`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// The kind of capability.
    pub kind: CapabilityKind,
    /// The item, as it is shown.
    pub item: String,
}

impl Permission {
    /// Returns a permission of a kind.
    pub fn new(kind: CapabilityKind, item: impl fmt::Display) -> Self {
        Self { kind, item: item.to_string() }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.item)
    }
}
