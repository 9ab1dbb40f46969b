//! What the last run did to a workspace, kept so that it can be taken back.
//!
//! `undo/NAME.json` in the state folder says what was replaced, and names the folder beside it that has it; or it says why the last run cannot be
//! taken back. `undo/NAME.pending` stands beside it while a run changes the workspace (`keeping`): where a run was killed, nothing is taken back,
//! since the record is of a run before it.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

mod keeping;

use std::fs;
use std::path::{Path, PathBuf};

use sandbox::undo::{Replaced, UndoError, check, take_back};
use serde::{Deserialize, Serialize};
use skill::Digest;
use skill_fs::{AbsPath, read_own_file};

pub(crate) use self::keeping::{DIRECT, Keeping, NO_STATE, RunIds};
use crate::RuntimeError;

const FOLDER: &str = "undo";
/// How large a record may be.
const MAX_RECORD: u64 = 16 << 20;
/// The version of the format. Records of the first one have no owners of files, and none says why a run cannot be taken back.
const VERSION: u32 = 2;

/// What a run committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastCommit {
    /// The version of this format.
    version: u32,
    /// The workspace.
    pub workspace: PathBuf,
    /// The skill.
    pub skill_id: String,
    /// The run.
    pub execution_id: String,
    /// When, in seconds since 1970.
    pub committed_at: i64,
    /// The folder that has what was there before; empty if nothing is kept.
    kept: String,
    /// Every path, sorted.
    pub replaced: Vec<Replaced>,
    /// Why it cannot be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cannot_undo: Option<String>,
}

impl LastCommit {
    /// Returns what the last run committed to a workspace; an error if it cannot be taken back.
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
                    "the last run of `{}` in {} cannot be taken back: {why}",
                    found.skill_id,
                    workspace.display()
                ),
                hint: None,
            });
        }
        Ok(is_plain(&found.kept).then_some(found))
    }

    /// Makes sure that all of it can be taken back. Returns folders that would stay, since something else is in them by now.
    pub(crate) fn check(&self, state: &AbsPath) -> Result<Vec<PathBuf>, RuntimeError> {
        check(&self.workspace, self.kept(state).as_path(), &self.replaced)
            .map_err(|error| self.refused(&error))
    }

    /// Puts back what was there before. Returns folders that stay, since something else is in them by now.
    pub(crate) fn take_back(&self, state: &AbsPath) -> Result<Vec<PathBuf>, RuntimeError> {
        let stay = take_back(&self.workspace, self.kept(state).as_path(), &self.replaced)
            .map_err(|error| self.refused(&error))?;
        // What a record names must be there as long as it is. One that stays finds everything taken back.
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

fn read(file: &AbsPath) -> Result<Option<LastCommit>, RuntimeError> {
    let Some(bytes) = read_own_file(file, MAX_RECORD)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| RuntimeError::Setup {
        message: format!("{file} cannot be read: {error}"),
        hint: Some("it only says what `openskills undo` takes back, and may be deleted".to_owned()),
    })
}

/// Returns true for the name of a folder of ours.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns the record of a workspace.
fn pointer(state: &AbsPath, workspace: &Path) -> AbsPath {
    file(state, workspace, "json")
}

/// Returns the record of a run that changes a workspace just now, or was killed when it did.
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
