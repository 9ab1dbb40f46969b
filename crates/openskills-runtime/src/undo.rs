//! What the last run committed to a workspace, kept so that it can be taken back.
//!
//! `undo/NAME.json` in the state folder says what was replaced, and names the folder beside it that has it. The file is written after the commit and removed
//! before the next one: what it says is the last thing that was committed.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use sandbox::Change;
use sandbox::undo::{Replaced, State, keep, look, take_back};
use serde::{Deserialize, Serialize};
use skill::Digest;
use skill_fs::{AbsPath, FsError, make_private_folder, read_own_file, write_file};

use crate::RuntimeError;

const FOLDER: &str = "undo";
/// More than this is not kept of what a run replaced.
const MAX_BYTES: u64 = 64 << 20;
/// How large the list of it may be.
const MAX_LIST: u64 = 16 << 20;
/// What was committed so long ago is not taken back.
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

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
    /// The folder that has what was there before.
    kept: String,
    /// Every path, sorted.
    pub replaced: Vec<Replaced>,
}

/// What was kept before a commit; it goes unless the commit is noted.
#[derive(Debug)]
pub(crate) struct Kept {
    state: AbsPath,
    folder: AbsPath,
    workspace: PathBuf,
    before: Vec<(PathBuf, State)>,
    is_noted: bool,
}

impl Kept {
    /// Keeps what changes are about to replace. `None` where that is too much, or is called by what is no text.
    pub(crate) fn new(
        state: &AbsPath,
        workspace: &Path,
        changes: &[Change],
        execution_id: &str,
    ) -> Result<Option<Self>, FsError> {
        forget_old(state);
        let pointer = pointer(state, workspace);
        remove_commit(state, &pointer);
        let folder = state.join(FOLDER).join(execution_id);
        make_private_folder(&folder)?;
        let mut kept = Self {
            state: state.clone(),
            folder,
            workspace: workspace.to_owned(),
            before: Vec::new(),
            is_noted: false,
        };
        if changes.iter().any(|change| change.path.to_str().is_none()) {
            return Ok(None);
        }
        let failed = |source| FsError::Io { path: workspace.display().to_string(), source };
        match keep(workspace, changes, kept.folder.as_path(), MAX_BYTES).map_err(failed)? {
            Some(before) => kept.before = before,
            None => return Ok(None),
        }
        Ok(Some(kept))
    }

    /// Notes that the commit was made.
    pub(crate) fn note(mut self, skill_id: &str) -> Result<(), FsError> {
        let failed = |source| FsError::Io { path: self.workspace.display().to_string(), source };
        let before = std::mem::take(&mut self.before);
        let commit = LastCommit {
            version: 1,
            workspace: self.workspace.clone(),
            skill_id: skill_id.to_owned(),
            execution_id: self.folder.file_name().unwrap_or_default().to_owned(),
            committed_at: Timestamp::now().as_second(),
            kept: self.folder.file_name().unwrap_or_default().to_owned(),
            replaced: look(&self.workspace, before).map_err(failed)?,
        };
        let text = serde_json::to_string(&commit).map_err(|error| failed(error.into()))?;
        write_file(&pointer(&self.state, &self.workspace), text.as_bytes())?;
        self.is_noted = true;
        Ok(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.is_noted {
            let _ = fs::remove_dir_all(self.folder.as_path());
        }
    }
}

impl LastCommit {
    /// Returns the last thing that was committed to a workspace.
    pub(crate) fn load(state: &AbsPath, workspace: &Path) -> Result<Option<Self>, RuntimeError> {
        let pointer = pointer(state, workspace);
        let Some(bytes) = read_own_file(&pointer, MAX_LIST)? else { return Ok(None) };
        let commit: Self = serde_json::from_slice(&bytes).map_err(|error| RuntimeError::Setup {
            message: format!("{pointer} cannot be read: {error}"),
            hint: Some(
                "it only says what `openskills undo` takes back, and may be deleted".to_owned(),
            ),
        })?;
        let is_ours =
            commit.version == 1 && commit.workspace == workspace && is_plain(&commit.kept);
        Ok(is_ours.then_some(commit))
    }

    /// Puts back what was there before. Returns folders that stay, since something else is in them by now.
    pub(crate) fn take_back(&self, state: &AbsPath) -> Result<Vec<PathBuf>, RuntimeError> {
        let kept = state.join(FOLDER).join(&self.kept);
        let stay = take_back(&self.workspace, kept.as_path(), &self.replaced)
            .map_err(|error| self.refused(&error.to_string()))?;
        remove_commit(state, &pointer(state, &self.workspace));
        Ok(stay)
    }

    /// Makes sure that nobody has changed any of it.
    pub(crate) fn check(&self) -> Result<(), RuntimeError> {
        sandbox::undo::check(&self.workspace, &self.replaced)
            .map_err(|error| self.refused(&error.to_string()))
    }

    fn refused(&self, why: &str) -> RuntimeError {
        RuntimeError::Undo { skill: self.skill_id.clone(), message: why.to_owned() }
    }
}

/// Returns true for the name of a folder of ours.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns the file that says what was committed last to a workspace.
fn pointer(state: &AbsPath, workspace: &Path) -> AbsPath {
    let name = Digest::of(workspace.as_os_str().as_encoded_bytes());
    state.join(FOLDER).join(format!("{}.json", name.short()))
}

/// Removes what a file says was committed, and the folder that it names.
fn remove_commit(state: &AbsPath, pointer: &AbsPath) {
    let commit: Option<LastCommit> =
        fs::read(pointer.as_path()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let _ = fs::remove_file(pointer.as_path());
    if let Some(kept) = commit.map(|commit| commit.kept).filter(|kept| is_plain(kept)) {
        let _ = fs::remove_dir_all(state.join(FOLDER).join(kept).as_path());
    }
}

/// Removes what was committed long ago, and what killed runs left.
fn forget_old(state: &AbsPath) {
    let entries = fs::read_dir(state.join(FOLDER).as_path()).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = modified.is_ok_and(|modified| {
            SystemTime::now().duration_since(modified).is_ok_and(|age| age > OLD)
        });
        if is_old {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}
