//! Records a run for `undo`, before and after it changes its workspace.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use sandbox::Change;
use sandbox::undo::{PathState, inspect, save};
use skill_fs::{AbsPath, FsError, make_private_folder, write_file};

use super::{FOLDER, LastApplied, VERSION, pending, pointer, remove_kept};

/// A run that replaces more than this, in bytes, cannot be undone.
const MAX_BYTES: u64 = 64 << 20;
/// Older changes cannot be undone.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Why a run with direct writes cannot be undone.
pub(crate) const DIRECT: &str = "it wrote to the workspace directly (--direct-writes)";
/// Why a run cannot be undone without a state folder.
pub(crate) const NO_STATE: &str = "there is no state folder for backups of the files it replaced";
const UNFINISHED: &str =
    "it did not finish applying its changes: it is still running, or was killed";

/// The ids of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunIds<'a> {
    pub(crate) skill_id: &'a str,
    pub(crate) execution_id: &'a str,
}

/// The undo record of a run that is about to change a workspace. Unless the change is confirmed, dropping this restores
/// the record of the previous run.
#[derive(Debug)]
pub(crate) struct UndoJournal {
    state: AbsPath,
    record: LastApplied,
    /// The original state of each path, or why it was not kept.
    before: Result<Vec<(PathBuf, PathState)>, String>,
    is_noted: bool,
}

impl UndoJournal {
    /// Backs up the files that the changes are about to replace.
    pub(crate) fn changes(
        state: &AbsPath,
        workspace: &Path,
        changes: &[Change],
        run: RunIds<'_>,
    ) -> Result<Self, FsError> {
        let mut journal = Self::begin(state, workspace, run, UNFINISHED)?;
        let folder = state.join(FOLDER).join(run.execution_id);
        make_private_folder(&folder)?;
        run.execution_id.clone_into(&mut journal.record.kept);
        journal.before = match changes.iter().find(|change| change.path.to_str().is_none()) {
            Some(change) => Err(format!("the file name `{}` is not valid UTF-8", change.shown())),
            None => save(workspace, changes, folder.as_path(), MAX_BYTES)
                .map_err(|error| error.to_string()),
        };
        Ok(journal)
    }

    /// Records that a run is about to write directly.
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
        let journal = Self {
            state: state.clone(),
            record: LastApplied {
                version: VERSION,
                workspace: workspace.to_owned(),
                skill_id: run.skill_id.to_owned(),
                execution_id: run.execution_id.to_owned(),
                applied_at: Timestamp::now().as_second(),
                kept: String::new(),
                replaced: Vec::new(),
                cannot_undo: Some(why.to_owned()),
            },
            before: Err(why.to_owned()),
            is_noted: false,
        };
        // A killed run still counts as the last one, even if this one changes nothing.
        let pending = pending(state, workspace);
        if pending.as_path().exists() {
            journal.replace(|to| {
                fs::rename(pending.as_path(), to.as_path())
                    .map_err(|source| FsError::Io { path: to.to_string(), source })
            })?;
        }
        write(&pending, &journal.record)?;
        Ok(journal)
    }

    /// Records that the changes were applied; returns why they cannot be undone, if so.
    pub(crate) fn applied(mut self) -> Result<(), String> {
        let noted = std::mem::replace(&mut self.before, Ok(Vec::new())).and_then(|before| {
            let replaced =
                inspect(&self.record.workspace, before).map_err(|error| error.to_string())?;
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

    /// Records that the workspace was changed, and why that cannot be undone.
    pub(crate) fn cannot(mut self, why: &str) {
        remove_kept(&self.state, &self.record.kept);
        self.record.kept.clear();
        self.record.replaced.clear();
        self.record.cannot_undo = Some(why.to_owned());
        self.is_noted = true;
        // If this cannot be written, the pending record still prevents an undo.
        if self.replace(|to| write(to, &self.record)).is_ok() {
            self.end();
        }
    }

    /// Replaces the record of the previous run, and removes its backups.
    fn replace(&self, by: impl FnOnce(&AbsPath) -> Result<(), FsError>) -> Result<(), FsError> {
        let to = pointer(&self.state, &self.record.workspace);
        let old: Option<LastApplied> =
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

impl Drop for UndoJournal {
    fn drop(&mut self) {
        if !self.is_noted {
            remove_kept(&self.state, &self.record.kept);
            self.end();
        }
    }
}

fn write(to: &AbsPath, record: &LastApplied) -> Result<(), FsError> {
    let failed =
        |error: serde_json::Error| FsError::Io { path: to.to_string(), source: error.into() };
    let text = serde_json::to_string(record).map_err(failed)?;
    write_file(to, text.as_bytes()).map(drop)
}

/// Removes old records and leftovers of killed runs.
fn forget_old(state: &AbsPath) {
    let entries = fs::read_dir(state.join(FOLDER).as_path()).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = modified.is_ok_and(|modified| {
            SystemTime::now().duration_since(modified).is_ok_and(|age| age > MAX_AGE)
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

    /// A run that was killed while changing the workspace is the last one; the run before it must not be undone
    /// instead.
    #[test]
    fn a_killed_run_prevents_undoing_the_run_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        let workspace = state.join("work").as_path().to_owned();
        fs::create_dir(&workspace).unwrap();
        let load = || LastApplied::load(&state, &workspace);
        fn run(execution_id: &str) -> RunIds<'_> {
            RunIds { skill_id: "pdf", execution_id }
        }
        let begin = |id: &str| UndoJournal::changes(&state, &workspace, &[], run(id)).unwrap();
        begin("a1").applied().unwrap();
        let last = || load().unwrap().unwrap().execution_id;
        drop(begin("a2"));
        assert_eq!(last(), "a1", "what was not applied leaves it");
        std::mem::forget(begin("a3"));
        assert!(load().unwrap_err().to_string().contains("was killed"));
        drop(begin("a4"));
        assert!(load().is_err(), "nor does another one that is not applied change that");
        begin("a5").applied().unwrap();
        assert_eq!(last(), "a5");
        drop(UndoJournal::direct(&state, &workspace, run("a6")).unwrap());
        assert_eq!(last(), "a5", "nothing was started");
        UndoJournal::direct(&state, &workspace, run("a7")).unwrap().cannot(DIRECT);
        assert!(load().unwrap_err().to_string().contains("directly"));
    }
}
