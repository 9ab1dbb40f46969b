//! Processes of command lines that nothing waits for: those that a command left running, and commands that the agent
//! runs in the background. They live until their session ends. What they write is applied before the next command of the
//! session starts, and when they or the session end.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sandbox::{
    Applied, ApplyError, BackgroundId, Change, Conflict, GitData, ProcessId, StoredLayer,
};
use serde::{Deserialize, Serialize};
use skill::Digest;
use skill_fs::{AbsPath, FsError, make_private_folder};

use super::kept::{allowed, apply};
use super::session_folders::remove_temporary;
use crate::RuntimeError;
use crate::run::run_folder::remove_all;
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::state::own_files::read_json;

/// The folder of background processes, in the cache folder, where the layers are.
const FOLDER: &str = "background";
/// Describes the processes of one command.
const RECORD: &str = "background.json";
/// Their writes.
const LAYER: &str = "layer";
/// How long to wait for a process that applies the rest of a command's changes.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of a description.
const MAX_BYTES: u64 = 64 << 20;

/// The processes that a command left running.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BackgroundRecord {
    /// `None` on systems without such an identity.
    pub(super) process: Option<BackgroundId>,
    /// The openskills process that still waits for the command, and applies the rest when it ends.
    pub(super) waiting: Option<ProcessId>,
    pub(super) command: String,
    pub(super) workspace: PathBuf,
    /// What the command may do.
    pub(super) access: Vec<String>,
    /// When the command started, in milliseconds since 1970.
    pub(super) started_ms: u64,
    /// What was applied of its writes.
    pub(super) applied: Applied,
}

/// What happened when the background processes of a command were ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedBackground {
    /// The command line that started them, with secrets redacted.
    pub command: String,
    /// How many later changes were applied.
    pub applied: usize,
    /// Why later changes were not applied, if so.
    pub problem: Option<String>,
}

/// The result of applying changes of background processes.
#[derive(Debug, Default)]
pub(super) struct LaterChanges {
    /// All changes since they were last looked at, with those that are refused.
    pub(super) changes: Vec<Change>,
    pub(super) conflicts: Vec<Conflict>,
}

/// Returns the folder of a command's background processes, and creates it.
pub(super) fn folder_of(cache: &AbsPath, session: &str, id: &str) -> Result<AbsPath, FsError> {
    let own = session_folder(cache, session);
    let folder = own.join(id);
    for folder in [&cache.join(FOLDER), &own, &folder] {
        make_private_folder(folder)?;
    }
    Ok(folder)
}

/// Returns the folder for the layer of a command.
pub(super) fn layer_of(folder: &AbsPath) -> AbsPath {
    folder.join(LAYER)
}

/// Records the processes of a command. If their layer is in another folder, it is moved, because that folder is removed
/// with the command.
pub(super) fn record(
    folder: &AbsPath,
    layer: &Path,
    background: &BackgroundRecord,
) -> Result<(), RuntimeError> {
    let failed = |source| FsError::Io { path: folder.to_string(), source };
    write(folder, background)?;
    let own = layer_of(folder);
    if layer != own.as_path() {
        fs::rename(layer, own.as_path()).map_err(failed)?;
    }
    Ok(())
}

/// Removes the record of a command that has ended.
pub(super) fn forget(folder: &AbsPath) -> Result<(), FsError> {
    remove_all(folder.as_path()).map_err(|source| FsError::Io { path: folder.to_string(), source })
}

impl OpenSkillRuntime {
    /// Applies what commands of this session that are still running in the background have written since.
    pub(super) fn apply_background(&self, workspace: &Path) -> Result<(), RuntimeError> {
        for folder in self.background()? {
            if read(&folder)?.is_some_and(|record| record.workspace == workspace) {
                // What cannot be applied now is tried again later, and reported when the session ends.
                let _ = self.apply_later(&folder);
            }
        }
        Ok(())
    }

    /// Applies what a command that ran in the background has written since, and returns what was applied of it.
    pub(super) fn finish_background(
        &self,
        folder: &AbsPath,
    ) -> Result<(LaterChanges, BackgroundRecord), RuntimeError> {
        let later = self.apply_later(folder)?;
        let missing = || FsError::Io {
            path: folder.to_string(),
            source: io::Error::other("the record of a running command is missing"),
        };
        Ok((later, read(folder)?.ok_or_else(missing)?))
    }

    /// Returns processes of this session that a command may share its network with: they may do the same as it.
    pub(super) fn background_to_join(
        &self,
        workspace: &Path,
        access: &[String],
    ) -> Result<Option<BackgroundId>, RuntimeError> {
        for folder in self.background()? {
            let record = read(&folder)?.filter(|record| {
                record.workspace == workspace
                    && record.access == access
                    && record.process.is_some_and(|process| process.stage.is_running())
            });
            if let Some(record) = record {
                return Ok(record.process);
            }
        }
        Ok(None)
    }

    /// Ends everything that commands of this session left running, applies what it wrote since, and removes the
    /// session's temporary files.
    pub fn end_session(&mut self) -> Result<Vec<EndedBackground>, RuntimeError> {
        let mut ended = Vec::new();
        for folder in self.background()? {
            if let Some(record) = read(&folder)? {
                ended.push(self.end_one(&folder, record)?);
            }
            forget(&folder)?;
        }
        remove_temporary(self.places()?, &self.session.id)?;
        Ok(ended)
    }

    fn end_one(
        &self,
        folder: &AbsPath,
        record: BackgroundRecord,
    ) -> Result<EndedBackground, RuntimeError> {
        let failed = |error: io::Error| RuntimeError::Setup {
            message: format!("cannot end the processes of `{}`: {error}", record.command),
            hint: None,
        };
        if let Some(process) = &record.process {
            sandbox::end_background(process).map_err(failed)?;
        }
        // The process that waits for the command applies the rest, and removes the folder.
        let begun = Instant::now();
        while record.waiting.is_some_and(ProcessId::is_running) && begun.elapsed() < WAIT_TIMEOUT {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (applied, problem) = match self.apply_later(folder) {
            Ok(LaterChanges { changes, conflicts }) if conflicts.is_empty() => {
                (changes.len(), None)
            }
            Ok(LaterChanges { changes, conflicts }) => {
                let files = super::kept::conflict_lines(&conflicts).join("; ");
                (changes.len(), Some(format!("not applied, because of conflicts: {files}")))
            }
            Err(error) => (0, Some(error.to_string())),
        };
        Ok(EndedBackground { command: record.command, applied, problem })
    }

    /// Applies what the processes of a record have written since they were last looked at, except what conflicts.
    fn apply_later(&self, folder: &AbsPath) -> Result<LaterChanges, RuntimeError> {
        let Some(BackgroundRecord { workspace, .. }) = read(folder)? else {
            return Ok(LaterChanges::default());
        };
        let _lock = self.lock_workspace(&workspace)?;
        // Another process may have applied something, or removed the record, in the meantime.
        let Some(mut record) = read(folder)? else { return Ok(LaterChanges::default()) };
        let failed = |error: ApplyError| RuntimeError::Setup {
            message: format!("cannot apply what `{}` wrote: {error}", record.command),
            hint: None,
        };
        let layer = layer_of(folder);
        let stored = StoredLayer {
            folder: layer.as_path(),
            workspace: &record.workspace,
            since: UNIX_EPOCH + Duration::from_millis(record.started_ms),
            git: GitData::Writable,
        };
        let layer = stored.open().map_err(failed)?.after(record.applied.clone());
        let found = layer.changes().map_err(failed)?;
        let mut changes = allowed(&found);
        if changes.is_empty() {
            return Ok(LaterChanges { changes: found, conflicts: Vec::new() });
        }
        let conflicts = layer.conflicts(&changes).map_err(failed)?;
        changes.retain(|change| {
            !conflicts.iter().any(|conflict| change.path.starts_with(&conflict.path))
        });
        let seen = layer.seen(&changes).map_err(failed)?;
        apply(&layer, &changes).map_err(failed)?;
        record.applied = layer.applied(seen).map_err(failed)?;
        write(folder, &record)?;
        Ok(LaterChanges { changes: found, conflicts })
    }

    /// Returns the folders of this session's background processes.
    fn background(&self) -> Result<Vec<AbsPath>, RuntimeError> {
        let cache = self.places()?.cache.as_ref().ok_or_else(no_state_folder)?;
        let own = session_folder(cache, &self.session.id);
        let failed = |source| FsError::Io { path: own.to_string(), source };
        let entries = match fs::read_dir(own.as_path()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error).into()),
        };
        let mut folders = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            folders.push(AbsPath::new(path).map_err(|error| failed(io::Error::other(error)))?);
        }
        folders.sort();
        Ok(folders)
    }
}

fn session_folder(cache: &AbsPath, session: &str) -> AbsPath {
    cache.join(FOLDER).join(Digest::of(session.as_bytes()).short())
}

/// Reads the description of background processes; `None` if recording them was interrupted.
fn read(folder: &AbsPath) -> Result<Option<BackgroundRecord>, FsError> {
    read_json(&folder.join(RECORD), MAX_BYTES)
}

/// Writes the description of background processes.
fn write(folder: &AbsPath, record: &BackgroundRecord) -> Result<(), RuntimeError> {
    let failed = |source| FsError::Io { path: folder.to_string(), source };
    let text = serde_json::to_string(record).map_err(|error| failed(error.into()))?;
    let file = tempfile::NamedTempFile::new_in(folder.as_path()).map_err(failed)?;
    fs::write(file.path(), text).map_err(failed)?;
    file.persist(folder.join(RECORD).as_path()).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Returns milliseconds since 1970.
pub(super) fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
