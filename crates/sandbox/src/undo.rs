//! What a commit replaced, kept so that it can be put back while nobody has changed it since.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Change, sys};

/// Who owns something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The number of the user.
    pub user: u32,
    /// The number of the group.
    pub group: u32,
}

/// What is at a path. Records of older versions have no owners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", deny_unknown_fields)]
pub enum State {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder {
        /// Its permissions.
        mode: u32,
        /// Whose it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// A file.
    File {
        /// Its permissions.
        mode: u32,
        /// The digest of what it holds.
        sha256: String,
        /// Whose it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// A link.
    Link {
        /// Where it leads.
        target: PathBuf,
        /// Whose it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// Anything else.
    Other,
}

/// A path, and what was there before a commit and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replaced {
    /// Where, seen from the workspace.
    pub path: PathBuf,
    /// What was there.
    pub before: State,
    /// What is there since.
    pub after: State,
}

/// Why what a commit replaces is not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It is too much.
    #[error("it replaced more than {} MiB", most >> 20)]
    TooLarge {
        /// How many bytes it may have.
        most: u64,
    },
    /// Something that cannot be made again.
    #[error("{} was neither a file, a folder nor a link", path.display())]
    Special {
        /// The path.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why a commit is not taken back. Unless it says otherwise, nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// Somebody changed something since.
    #[error("{} has been changed since", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// What was there is not kept any more, or not as it was.
    #[error("what {} was is not kept any more", path.display())]
    Lost {
        /// The path.
        path: PathBuf,
    },
    /// Another process takes the same back just now.
    #[error("another `undo` of it is running")]
    Busy,
    /// A file cannot be read or written.
    #[error("{}: {source}; nothing was taken back", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something went wrong in the middle, and these could not be made again what they were.
    #[error(
        "{because}; these are taken back already: {}; the rest is as the run left it",
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    Partly {
        /// What is taken back.
        paths: Vec<PathBuf>,
        /// What went wrong.
        because: String,
    },
}

/// Keeps what changes are about to replace, in a folder that is there; returns what was at each path. It may have `most` bytes.
pub fn keep(
    workspace: &Path,
    changes: &[Change],
    folder: &Path,
    most: u64,
) -> Result<Vec<(PathBuf, State)>, KeepError> {
    sys::undo::keep(workspace, changes, folder, most)
}

/// Returns what is at each path now.
pub fn look(workspace: &Path, kept: Vec<(PathBuf, State)>) -> io::Result<Vec<Replaced>> {
    sys::undo::look(workspace, kept)
}

/// Makes sure that all of it can be taken back: everything is as the commit left it, or as it was before, and what it was is kept. Returns
/// folders that the commit made and that would stay, since something else is in them by now.
pub fn check(
    workspace: &Path,
    folder: &Path,
    replaced: &[Replaced],
) -> Result<Vec<PathBuf>, UndoError> {
    sys::undo::check(workspace, folder, replaced)
}

/// Puts back what was there, all of it or nothing. What a killed call left is completed by the next one. Returns what [`check`] does, and the folder that
/// it worked in if that cannot be removed.
pub fn take_back(
    workspace: &Path,
    folder: &Path,
    replaced: &[Replaced],
) -> Result<Vec<PathBuf>, UndoError> {
    sys::undo::take_back(workspace, folder, replaced)
}

/// Returns the name under which what a path held is kept.
#[cfg(target_os = "linux")]
pub(crate) fn kept_name(number: usize) -> String {
    format!("old-{number}")
}
