//! Executions that began and have not ended: a marker file each, whose lock the kernel holds for the process that runs it.
//!
//! Markers are made and looked at under the lock of the log alone, so none is seen before its own lock is held.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};

use serde::{Deserialize, Serialize};
use skill_fs::{AbsPath, make_private_folder};

use super::head::private;
use super::{LogError, Sync};
use crate::event::{ScriptInterruption, ScriptStart, Writing};
use crate::process::ProcessIdentity;

/// The folder of the markers, in that of the log.
const FOLDER: &str = "open";
/// How the names of markers end.
const END: &str = ".json";
/// The most that is read of one.
const MAX_MARKER: u64 = 64 << 10;
/// How many are looked at at once.
const MAX_MARKERS: usize = 1000;

/// What a marker says of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Marker {
    skill_id: String,
    session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    script: String,
    started_at: String,
    writes: Writing,
    process: ProcessIdentity,
}

/// An execution that began. Dropped without [`close`](Self::close), it counts as interrupted once its process is gone.
#[derive(Debug)]
pub(crate) struct OpenRun {
    path: AbsPath,
    file: File,
    marker: Marker,
}

impl OpenRun {
    /// Makes the marker of an execution. The lock of the log must be held.
    pub(super) fn begin(
        folder: &AbsPath,
        start: &ScriptStart,
        now: &str,
        sync: Sync,
    ) -> Result<Self, LogError> {
        let folder = folder.join(FOLDER);
        make_private_folder(&folder).map_err(|error| LogError::Io {
            path: folder.to_string(),
            source: io::Error::other(error),
        })?;
        let path = folder.join(format!("{}{END}", start.execution_id));
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        private(&mut options);
        let file = options.open(path.as_path()).map_err(failed)?;
        file.try_lock().map_err(|error| failed(error.into()))?;
        let marker = Marker {
            skill_id: start.skill_id.clone(),
            session_id: start.session_id.clone(),
            task_id: start.task_id.clone(),
            script: start.script.clone(),
            started_at: now.to_owned(),
            writes: start.writes,
            process: start.process.clone(),
        };
        let mut run = Self { path, file, marker };
        run.write()?;
        if sync == Sync::Always {
            let synced =
                run.file.sync_data().and_then(|()| File::open(folder.as_path())?.sync_all());
            synced.map_err(|source| LogError::Io { path: folder.to_string(), source })?;
        }
        Ok(run)
    }

    /// Notes what is about to happen to the workspace, before it does.
    pub(crate) fn set_writes(&mut self, writes: Writing) -> Result<(), LogError> {
        self.marker.writes = writes;
        self.write()
    }

    /// Removes the marker: whatever ended the execution is in the log.
    pub(crate) fn close(self) {
        // One that stays is found by the next process, which then records the same end a second time.
        let _ = fs::remove_file(self.path.as_path());
    }

    fn write(&mut self) -> Result<(), LogError> {
        let Self { path, file, marker } = self;
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let bytes = serde_json::to_vec(marker).map_err(|error| failed(error.into()))?;
        let written = file.rewind().and_then(|()| file.write_all(&bytes));
        written.and_then(|()| file.set_len(bytes.len() as u64)).map_err(failed)
    }
}

/// An execution whose process is gone.
pub(super) struct Abandoned {
    path: AbsPath,
    /// Held until the end is in the log.
    _lock: File,
    pub(super) event: ScriptInterruption,
}

impl Abandoned {
    /// Removes the marker.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(self.path.as_path());
    }
}

/// Finds executions whose process is gone: nobody holds the lock of the marker, and no such process runs. The lock of the
/// log must be held. What cannot be looked at is left for the next one.
pub(super) fn abandoned(folder: &AbsPath) -> Vec<Abandoned> {
    let folder = folder.join(FOLDER);
    let Ok(entries) = fs::read_dir(folder.as_path()) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.take(MAX_MARKERS).collect();
    names.sort_unstable();
    names.iter().filter_map(|name| look_at(&folder, name)).collect()
}

fn look_at(folder: &AbsPath, name: &str) -> Option<Abandoned> {
    let id = name.strip_suffix(END)?;
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let path = folder.join(name);
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    private(&mut options);
    let mut file = options.open(path.as_path()).ok()?;
    file.try_lock().ok()?;
    let mut bytes = Vec::new();
    (&mut file).take(MAX_MARKER).read_to_end(&mut bytes).ok()?;
    // A power cut may leave a marker without its text: that there was an execution is known all the same.
    let marker: Option<Marker> = serde_json::from_slice(&bytes).ok();
    if marker.as_ref().is_some_and(|marker| marker.process.is_running()) {
        return None;
    }
    let event = match marker {
        Some(marker) => ScriptInterruption {
            execution_id: id.to_owned(),
            skill_id: Some(marker.skill_id),
            session_id: Some(marker.session_id),
            task_id: marker.task_id,
            script: Some(marker.script),
            started_at: Some(marker.started_at),
            writes: Some(marker.writes),
            may_have_written: marker.writes.may_have_written(),
            process: Some(marker.process),
        },
        None => ScriptInterruption {
            execution_id: id.to_owned(),
            skill_id: None,
            session_id: None,
            task_id: None,
            script: None,
            started_at: None,
            writes: None,
            may_have_written: true,
            process: None,
        },
    };
    Some(Abandoned { path, _lock: file, event })
}
