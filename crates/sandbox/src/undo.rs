//! Saves the files that applying changes replaces, so that `undo` can restore them as long as nothing else has changed
//! them since.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Change, sys};

/// The owner of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The user id.
    pub user: u32,
    /// The group id.
    pub group: u32,
}

/// What exists at a path. Records of older versions have no owners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", deny_unknown_fields)]
pub enum PathState {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder {
        /// Its permissions.
        mode: u32,
        /// Its owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// A file.
    File {
        /// Its permissions.
        mode: u32,
        /// The digest of its content.
        sha256: String,
        /// Its owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// A symbolic link.
    Link {
        /// Its target.
        target: PathBuf,
        /// Its owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Owner>,
    },
    /// Anything else.
    Other,
}

/// A path, and what it was before and after changes were applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplacedPath {
    /// The path, relative to the workspace.
    pub path: PathBuf,
    /// What was there before.
    pub before: PathState,
    /// What is there since.
    pub after: PathState,
}

/// Why replaced files could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The replaced files are too large.
    #[error("it replaced more than {} MiB of files", max >> 20)]
    TooLarge {
        /// The limit in bytes.
        max: u64,
    },
    /// Something that cannot be created again.
    #[error("`{}` was not a file, folder or symlink", path.display())]
    Special {
        /// The path.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot back up `{}`: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Why applied changes were not undone. Unless stated otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A path has been changed since the run.
    #[error("`{}` has been changed since the run", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// The saved original is missing or damaged.
    #[error("the saved original of `{}` is missing or damaged", path.display())]
    Lost {
        /// The path.
        path: PathBuf,
    },
    /// Another process is undoing the same run.
    #[error("another `undo` of this run is in progress")]
    Busy,
    /// A file cannot be read or written.
    #[error("`{}`: {source}; nothing was undone", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It failed partway, and the steps for these paths could not be rolled back.
    #[error(
        "{cause}; already undone: {}; everything else is as the run left it",
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    PartlyUndone {
        /// The paths that are already undone.
        paths: Vec<PathBuf>,
        /// What failed.
        cause: String,
    },
}

/// Saves the files that `changes` are about to replace to an existing folder, at most `max` bytes. Returns what was at
/// each path.
pub fn save(
    workspace: &Path,
    changes: &[Change],
    folder: &Path,
    max: u64,
) -> Result<Vec<(PathBuf, PathState)>, SaveError> {
    sys::undo::save(workspace, changes, folder, max)
}

/// Adds to each saved state what is at its path now.
pub fn inspect(
    workspace: &Path,
    saved: Vec<(PathBuf, PathState)>,
) -> io::Result<Vec<ReplacedPath>> {
    sys::undo::inspect(workspace, saved)
}

/// Checks that everything can be undone: each path is as the run left it or as it was before, and the originals are
/// saved. Returns folders that the run created and that would be kept because they now contain something else.
pub fn check(
    workspace: &Path,
    folder: &Path,
    replaced: &[ReplacedPath],
) -> Result<Vec<PathBuf>, UndoError> {
    sys::undo::check(workspace, folder, replaced)
}

/// Restores the originals, all of them or none. If a call is killed, the next one completes it. Returns what [`check`]
/// returns, and also the staging folder if it cannot be removed.
pub fn revert(
    workspace: &Path,
    folder: &Path,
    replaced: &[ReplacedPath],
) -> Result<Vec<PathBuf>, UndoError> {
    sys::undo::revert(workspace, folder, replaced)
}

/// Returns the file name under which an original is saved.
#[cfg(target_os = "linux")]
pub(crate) fn saved_name(number: usize) -> String {
    format!("old-{number}")
}
