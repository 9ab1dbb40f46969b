//! What is noted of a run before it changes its workspace, and after.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use sandbox::Change;
use sandbox::undo::{State, keep, look};
use skill_fs::{AbsPath, FsError, make_private_folder, write_file};

use super::{FOLDER, LastCommit, VERSION, pending, pointer, remove_kept};

/// More than this is not kept of what a run replaced.
const MAX_BYTES: u64 = 64 << 20;
/// What was committed so long ago is not taken back.
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Why a run that wrote directly cannot be taken back.
pub(crate) const DIRECT: &str = "it wrote to the workspace directly (--direct-writes)";
/// Why nothing can be where nothing is kept.
pub(crate) const NO_STATE: &str = "there is no folder to keep what it replaced in";
const UNFINISHED: &str =
    "it has not finished applying its changes: it is still at it, or was killed";

/// A run, by its ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunIds<'a> {
    pub(crate) skill_id: &'a str,
    pub(crate) execution_id: &'a str,
}

/// A run that is about to change a workspace. Unless it says that it did, the record of the run before it holds again when this goes.
#[derive(Debug)]
pub(crate) struct Keeping {
    state: AbsPath,
    record: LastCommit,
    /// What was at each path, or why it is not kept.
    before: Result<Vec<(PathBuf, State)>, String>,
    is_noted: bool,
}

impl Keeping {
    /// Keeps what changes are about to replace.
    pub(crate) fn changes(
        state: &AbsPath,
        workspace: &Path,
        changes: &[Change],
        run: RunIds<'_>,
    ) -> Result<Self, FsError> {
        let mut keeping = Self::begin(state, workspace, run, UNFINISHED)?;
        let folder = state.join(FOLDER).join(run.execution_id);
        make_private_folder(&folder)?;
        run.execution_id.clone_into(&mut keeping.record.kept);
        keeping.before = match changes.iter().find(|change| change.path.to_str().is_none()) {
            Some(change) => Err(format!("the name {} is not UTF-8", change.shown())),
            None => keep(workspace, changes, folder.as_path(), MAX_BYTES)
                .map_err(|error| error.to_string()),
        };
        Ok(keeping)
    }

    /// Notes that a run is about to write directly.
    pub(crate) fn direct(
        state: &AbsPath,
        workspace: &Path,
        run: RunIds<'_>,
    ) -> Result<Self, FsError> {
        Self::begin(state, workspace, run, DIRECT)
    }

    fn begin(
        state: &AbsPath,
        workspace: &Path,
        run: RunIds<'_>,
        why: &str,
    ) -> Result<Self, FsError> {
        forget_old(state);
        make_private_folder(&state.join(FOLDER))?;
        let keeping = Self {
            state: state.clone(),
            record: LastCommit {
                version: VERSION,
                workspace: workspace.to_owned(),
                skill_id: run.skill_id.to_owned(),
                execution_id: run.execution_id.to_owned(),
                committed_at: Timestamp::now().as_second(),
                kept: String::new(),
                replaced: Vec::new(),
                cannot_undo: Some(why.to_owned()),
            },
            before: Err(why.to_owned()),
            is_noted: false,
        };
        // A run that was killed was the last one, whatever becomes of this one.
        let pending = pending(state, workspace);
        if pending.as_path().exists() {
            keeping.replace(|to| {
                fs::rename(pending.as_path(), to.as_path())
                    .map_err(|source| FsError::Io { path: to.to_string(), source })
            })?;
        }
        write(&pending, &keeping.record)?;
        Ok(keeping)
    }

    /// Notes that the changes were committed; returns why they cannot be taken back.
    pub(crate) fn committed(mut self) -> Result<(), String> {
        let noted = std::mem::replace(&mut self.before, Ok(Vec::new())).and_then(|before| {
            let replaced =
                look(&self.record.workspace, before).map_err(|error| error.to_string())?;
            self.record.replaced = replaced;
            self.record.cannot_undo = None;
            self.replace(|to| write(to, &self.record)).map_err(|error| error.to_string())
        });
        match noted {
            Ok(()) => {
                self.end();
                Ok(())
            }
            Err(why) => {
                self.cannot(&why);
                Err(why)
            }
        }
    }

    /// Notes that the workspace was changed, and why that cannot be taken back.
    pub(crate) fn cannot(mut self, why: &str) {
        remove_kept(&self.state, &self.record.kept);
        self.record.kept.clear();
        self.record.replaced.clear();
        self.record.cannot_undo = Some(why.to_owned());
        self.is_noted = true;
        // Where that cannot be written, what stands there since the beginning refuses as well.
        if self.replace(|to| write(to, &self.record)).is_ok() {
            self.end();
        }
    }

    /// Replaces the record of the run before, and removes what was kept for it.
    fn replace(&self, by: impl FnOnce(&AbsPath) -> Result<(), FsError>) -> Result<(), FsError> {
        let to = pointer(&self.state, &self.record.workspace);
        let old: Option<LastCommit> =
            fs::read(to.as_path()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        by(&to)?;
        if let Some(old) = old.filter(|old| old.kept != self.record.kept) {
            remove_kept(&self.state, &old.kept);
        }
        Ok(())
    }

    fn end(&mut self) {
        self.is_noted = true;
        let _ = fs::remove_file(pending(&self.state, &self.record.workspace).as_path());
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if !self.is_noted {
            remove_kept(&self.state, &self.record.kept);
            self.end();
        }
    }
}

fn write(to: &AbsPath, record: &LastCommit) -> Result<(), FsError> {
    let failed =
        |error: serde_json::Error| FsError::Io { path: to.to_string(), source: error.into() };
    let text = serde_json::to_string(record).map_err(failed)?;
    write_file(to, text.as_bytes()).map(drop)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that was killed while it changed the workspace was the last one: the run before it is not taken back in its place.
    #[test]
    fn a_killed_run_keeps_the_one_before_from_being_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let workspace = state.join("work").as_path().to_owned();
        fs::create_dir(&workspace).unwrap();
        let load = || LastCommit::load(&state, &workspace);
        fn run(execution_id: &str) -> RunIds<'_> {
            RunIds { skill_id: "pdf", execution_id }
        }
        let begin = |id: &str| Keeping::changes(&state, &workspace, &[], run(id)).unwrap();
        begin("a1").committed().unwrap();
        let last = || load().unwrap().unwrap().execution_id;
        drop(begin("a2"));
        assert_eq!(last(), "a1", "what was not committed leaves it");
        std::mem::forget(begin("a3"));
        assert!(load().unwrap_err().to_string().contains("was killed"));
        drop(begin("a4"));
        assert!(load().is_err(), "nor does another one that is not committed change that");
        begin("a5").committed().unwrap();
        assert_eq!(last(), "a5");
        drop(Keeping::direct(&state, &workspace, run("a6")).unwrap());
        assert_eq!(last(), "a5", "nothing was started");
        Keeping::direct(&state, &workspace, run("a7")).unwrap().cannot(DIRECT);
        assert!(load().unwrap_err().to_string().contains("directly"));
    }
}
