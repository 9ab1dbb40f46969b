//! Stores what the last run changed in a workspace, so that it can be undone.
//!
//! `undo/NAME.json` in the state folder lists what was replaced and names the folder beside it that holds the replaced
//! files, or it states why the last run cannot be undone. `undo/NAME.pending` exists while a run changes the workspace
//! (see `journal`): after a killed run nothing is undone, because the record belongs to the run before it.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

mod journal;

use std::fs;
use std::path::{Path, PathBuf};

use sandbox::undo::{ReplacedPath, UndoError, check, revert};
use serde::{Deserialize, Serialize};
use skill::Digest;
use skill_fs::{AbsPath, read_own_file};

pub(crate) use self::journal::{DIRECT, NO_STATE, RunIds, UndoJournal};
use crate::RuntimeError;

const FOLDER: &str = "undo";
/// Larger records are rejected, in bytes.
const MAX_RECORD: u64 = 16 << 20;
/// The format version. Version 1 has no file owners and no `cannot_undo`.
const VERSION: u32 = 2;

/// The changes that the last run applied to a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastApplied {
    /// The version of this format.
    version: u32,
    /// The workspace.
    pub workspace: PathBuf,
    /// The skill.
    pub skill_id: String,
    /// The run.
    pub execution_id: String,
    /// When the changes were applied, as a Unix timestamp in seconds.
    #[serde(alias = "committed_at")]
    pub applied_at: i64,
    /// The folder with the original files; empty if none are kept.
    kept: String,
    /// Every changed path, sorted.
    pub replaced: Vec<ReplacedPath>,
    /// Why the run cannot be undone, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cannot_undo: Option<String>,
}

impl LastApplied {
    /// Loads the changes of the last run in a workspace; fails if they cannot be undone.
    pub(crate) fn load(state: &AbsPath, workspace: &Path) -> Result<Option<Self>, RuntimeError> {
        let found = match read(&pending(state, workspace))? {
            None => read(&pointer(state, workspace))?,
            pending => pending,
        };
        let is_known =
            |found: &Self| (1..=VERSION).contains(&found.version) && found.workspace == workspace;
        let Some(found) = found.filter(is_known) else { return Ok(None) };
        if let Some(why) = &found.cannot_undo {
            return Err(RuntimeError::Setup {
                message: format!(
                    "cannot undo the last run of `{}` in `{}`: {why}",
                    found.skill_id,
                    workspace.display()
                ),
                hint: None,
            });
        }
        Ok(is_plain(&found.kept).then_some(found))
    }

    /// Checks that everything can be undone. Returns folders that would be kept because they are no longer empty.
    pub(crate) fn check(&self, state: &AbsPath) -> Result<Vec<PathBuf>, RuntimeError> {
        check(&self.workspace, self.kept(state).as_path(), &self.replaced)
            .map_err(|error| self.refused(&error))
    }

    /// Restores the original files. Returns folders that are kept because they are no longer empty.
    pub(crate) fn take_back(&self, state: &AbsPath) -> Result<Vec<PathBuf>, RuntimeError> {
        let stay = revert(&self.workspace, self.kept(state).as_path(), &self.replaced)
            .map_err(|error| self.refused(&error))?;
        // Remove the record before the originals that it refers to.
        if fs::remove_file(pointer(state, &self.workspace).as_path()).is_ok() {
            remove_kept(state, &self.kept);
        }
        Ok(stay)
    }

    fn kept(&self, state: &AbsPath) -> AbsPath {
        state.join(FOLDER).join(&self.kept)
    }

    fn refused(&self, why: &UndoError) -> RuntimeError {
        RuntimeError::Undo { skill: self.skill_id.clone(), message: why.to_string() }
    }
}

fn read(file: &AbsPath) -> Result<Option<LastApplied>, RuntimeError> {
    let Some(bytes) = read_own_file(file, MAX_RECORD)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| RuntimeError::Setup {
        message: format!("cannot read `{file}`: {error}"),
        hint: Some(
            "delete the file; it only records what `openskills undo` would revert".to_owned(),
        ),
    })
}

/// Returns true for a valid name of a backup folder.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns the path of a workspace's record.
fn pointer(state: &AbsPath, workspace: &Path) -> AbsPath {
    file(state, workspace, "json")
}

/// Returns the path of the record of a run that is changing a workspace, or was killed while it did.
fn pending(state: &AbsPath, workspace: &Path) -> AbsPath {
    file(state, workspace, "pending")
}

fn file(state: &AbsPath, workspace: &Path, ending: &str) -> AbsPath {
    let name = Digest::of(workspace.as_os_str().as_encoded_bytes());
    state.join(FOLDER).join(format!("{}.{ending}", name.short()))
}

fn remove_kept(state: &AbsPath, kept: &str) {
    if is_plain(kept) {
        let _ = fs::remove_dir_all(state.join(FOLDER).join(kept).as_path());
    }
}
