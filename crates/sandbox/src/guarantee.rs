//! What a sandbox promises, each found out by doing and not by a version.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that holds while a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Guarantee {
    /// Files that were not granted cannot be read.
    FsRead,
    /// Files that were not granted cannot be written.
    FsWrite,
    /// There is no network but what was granted.
    NetNone,
    /// No socket of another program can be reached.
    UnixIsolated,
    /// No other process can be signalled.
    Signals,
    /// Nothing that it started outlives it.
    TreeKill,
    /// Not even names, sizes, times and link targets of files that were not granted can be seen.
    MetadataHidden,
    /// Temporary files are its own.
    PrivateTmp,
    /// Protected names in the workspace cannot be written, nor moved away.
    SubpathProtect,
    /// The memory of all processes together is bounded.
    Mem,
    /// The number of processes is bounded.
    Pids,
}

impl Guarantee {
    /// All of them.
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
    /// Those without which nothing runs.
    pub const CORE: [Self; 6] = [
        Self::FsRead,
        Self::FsWrite,
        Self::NetNone,
        Self::UnixIsolated,
        Self::Signals,
        Self::TreeKill,
    ];

    /// Returns the word for it.
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

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guarantee| guarantee.as_str() == text)
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
