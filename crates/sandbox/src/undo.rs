//! What a commit replaced, kept so that it can be put back while nobody has changed it since.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Change, sys};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", deny_unknown_fields)]
pub enum State {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder {
        /// Its permissions.
        mode: u32,
    },
    /// A file.
    File {
        /// Its permissions.
        mode: u32,
        /// The digest of what it holds.
        sha256: String,
    },
    /// A link.
    Link {
        /// Where it leads.
        target: PathBuf,
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

/// Why a commit is not taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// Somebody changed something since.
    #[error("{} has been changed since", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// A file cannot be read or written. What is taken back already stays so, and the rest can be tried again.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Keeps what changes are about to replace, in a folder that is there; returns what was at each path. `None` if it has more than `most` bytes.
pub fn keep(
    workspace: &Path,
    changes: &[Change],
    folder: &Path,
    most: u64,
) -> io::Result<Option<Vec<(PathBuf, State)>>> {
    sys::undo::keep(workspace, changes, folder, most)
}

/// Returns what is at each path now.
pub fn look(workspace: &Path, kept: Vec<(PathBuf, State)>) -> io::Result<Vec<Replaced>> {
    sys::undo::look(workspace, kept)
}

/// Makes sure that everything is as the commit left it, or as it was before.
pub fn check(workspace: &Path, replaced: &[Replaced]) -> Result<(), UndoError> {
    sys::undo::check(workspace, replaced)
}

/// Puts back what was there. Returns folders that the commit made and that stay, since something else is in them by now.
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
