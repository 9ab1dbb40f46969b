//! What a run changed in its workspace.

use std::io;
use std::path::{Path, PathBuf};

/// One change of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where, seen from the workspace.
    pub path: PathBuf,
    /// What.
    pub kind: ChangeKind,
    /// Why it cannot be committed.
    pub refused: Option<String>,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// A file that was not there.
    Added,
    /// A file with another content or mode.
    Modified,
    /// It is gone.
    Deleted,
    /// A folder that was not there.
    Folder,
    /// A link to this.
    Link(PathBuf),
    /// A folder that was there, with other rights.
    Mode {
        /// Its rights before.
        from: u32,
        /// Its rights now.
        to: u32,
    },
}

impl Change {
    /// Returns the path for people and records: what is no text, or would steer a terminal, is escaped. A link says where it leads.
    pub fn shown(&self) -> String {
        match &self.kind {
            ChangeKind::Link(target) => format!("{} -> {}", escaped(&self.path), escaped(target)),
            ChangeKind::Mode { from, to } => {
                format!("{} ({from:03o} -> {to:03o})", escaped(&self.path))
            }
            ChangeKind::Added | ChangeKind::Modified | ChangeKind::Deleted | ChangeKind::Folder => {
                escaped(&self.path)
            }
        }
    }
}

/// Two names that differ look different.
fn escaped(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => text.to_owned(),
        Some(text) => text.escape_debug().to_string(),
        None => path.as_os_str().as_encoded_bytes().escape_ascii().to_string(),
    }
}

impl ChangeKind {
    /// Returns the word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Folder => "folder",
            Self::Link(_) => "link",
            Self::Mode { .. } => "mode",
        }
    }
}

/// Why nothing was committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A change that no run may make.
    #[error("{} is not committed: {reason}", path.display())]
    Refused {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Somebody else changed the same file.
    #[error("{} is not committed: {what}", path.display())]
    Conflict {
        /// The path.
        path: PathBuf,
        /// What happened.
        what: String,
    },
    /// Folders are too deep inside each other.
    #[error("there are more than {most} folders inside each other")]
    TooDeep {
        /// How many there may be.
        most: usize,
    },
    /// The files are too large altogether.
    #[error("the files have more than {most} bytes altogether")]
    TooLarge {
        /// How many they may have.
        most: u64,
    },
    /// There are more changes than can be looked at.
    #[error("there are more than {most} changes, or their paths are too long altogether")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
    /// Something went wrong in the middle, and could not be taken back.
    #[error(
        "{because}; these could not be taken back: {}; what they were is kept in {}",
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        kept.display()
    )]
    Partly {
        /// What is changed.
        paths: Vec<PathBuf>,
        /// Where what it was is, seen from the workspace.
        kept: PathBuf,
        /// What went wrong.
        because: String,
    },
    /// All of it was committed, and what somebody else put into a folder that went meanwhile is kept.
    #[error("it is committed, and what came into a folder that went meanwhile is kept in {}", kept.display())]
    Kept {
        /// Where, seen from the workspace.
        kept: PathBuf,
    },
    /// The caller changed its mind before anything was changed.
    #[error("it was called off before anything was changed")]
    CalledOff,
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What a run wrote, above a workspace that is as it was.
#[derive(Debug)]
pub struct Layer(pub(crate) crate::sys::Layer);

impl Layer {
    /// Returns every change, sorted by path.
    pub fn changes(&self) -> Result<Vec<Change>, CommitError> {
        self.0.changes()
    }

    /// Carries out changes, all of them or none. A file that somebody else changed since the run began is a conflict.
    pub fn commit(&self, changes: &[Change]) -> Result<(), CommitError> {
        self.0.commit(changes, &|| false)
    }

    /// The same, unless it is called off: that is asked until the last moment before the first change, and not any more after it.
    pub fn commit_unless(
        &self,
        changes: &[Change],
        is_called_off: &dyn Fn() -> bool,
    ) -> Result<(), CommitError> {
        self.0.commit(changes, is_called_off)
    }

    /// Reads what a changed file holds now, at most so many bytes.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        self.0.read(path, most)
    }
}
