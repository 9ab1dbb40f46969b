//! What a sandbox guarantees. Each guarantee is tested on this machine, not assumed from a version.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that the sandbox enforces while a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Guarantee {
    /// Files that were not granted cannot be read.
    FsRead,
    /// Files that were not granted cannot be written.
    FsWrite,
    /// No network can be reached except what was granted.
    NetNone,
    /// Sockets of other programs cannot be reached.
    UnixIsolated,
    /// Other processes cannot be signaled.
    Signals,
    /// No process that it started outlives it.
    TreeKill,
    /// Names, sizes, times and symlink targets of files that were not granted cannot be seen either.
    MetadataHidden,
    /// Temporary files are private.
    PrivateTmp,
    /// Protected names in the workspace cannot be written or moved.
    SubpathProtect,
    /// The memory of all its processes together is limited.
    Mem,
    /// The number of its processes is limited.
    Pids,
}

impl Guarantee {
    /// All guarantees.
    pub const ALL: [Self; 11] = [
        Self::FsRead,
        Self::FsWrite,
        Self::NetNone,
        Self::UnixIsolated,
        Self::Signals,
        Self::TreeKill,
        Self::MetadataHidden,
        Self::PrivateTmp,
        Self::SubpathProtect,
        Self::Mem,
        Self::Pids,
    ];
    /// The guarantees without which nothing runs.
    pub const CORE: [Self; 6] = [
        Self::FsRead,
        Self::FsWrite,
        Self::NetNone,
        Self::UnixIsolated,
        Self::Signals,
        Self::TreeKill,
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FsRead => "fs_read",
            Self::FsWrite => "fs_write",
            Self::NetNone => "net_none",
            Self::UnixIsolated => "unix_isolated",
            Self::Signals => "signals",
            Self::TreeKill => "tree_kill",
            Self::MetadataHidden => "metadata_hidden",
            Self::PrivateTmp => "private_tmp",
            Self::SubpathProtect => "subpath_protect",
            Self::Mem => "mem",
            Self::Pids => "pids",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guarantee| guarantee.as_str() == text)
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
