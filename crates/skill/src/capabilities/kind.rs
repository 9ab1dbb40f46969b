//! The kinds of capability: one list for the manifest, the audit, approvals, the sandbox and the log.

use std::fmt;

/// A kind of capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapabilityKind {
    /// Files that are read.
    Read,
    /// Files that are written.
    Write,
    /// Hosts that are reached.
    Network,
    /// Programs that are started.
    Exec,
    /// Variables of the environment.
    Env,
    /// Services whose secrets are used.
    Secrets,
    /// Tools of the agent.
    Tools,
}

impl CapabilityKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 7] =
        [Self::Read, Self::Write, Self::Network, Self::Exec, Self::Env, Self::Secrets, Self::Tools];

    /// Returns the word for it, in every file, message and log entry.
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

    /// Reads the word for it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns the key that declares it: in `capabilities` of csk-skill.json, or for tools in the frontmatter.
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

/// One thing that is allowed or refused: a folder, a host, a variable. It is shown and logged as `kind: what`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// The kind of capability.
    pub kind: CapabilityKind,
    /// What of it.
    pub what: String,
}

impl Permission {
    /// Returns a permission of a kind.
    pub fn new(kind: CapabilityKind, what: impl fmt::Display) -> Self {
        Self { kind, what: what.to_string() }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.what)
    }
}
