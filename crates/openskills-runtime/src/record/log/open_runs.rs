//! Marker files of executions that have started and not ended. The process that runs an execution holds a file lock on
//! its marker.
//!
//! A marker contains nothing; its name is the ID of the execution. Anyone who can write to the folder can create one,
//! so only executions that the log itself says are unfinished are recorded as interrupted. Markers are created and
//! inspected only under the log's lock, so no process ever sees a marker that is not locked yet.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, OpenOptions};
use std::io;

use skill_fs::{AbsPath, make_private_folder};

use super::head::private;
use super::{LogError, Sync};

/// Folder of the markers, inside the log folder.
const FOLDER: &str = "open";
/// File extension of markers.
const END: &str = ".json";
/// Most markers to process at once.
const MAX_MARKERS: usize = 1000;

/// An execution that has started. If it is dropped without [`close`](Self::close), it counts as interrupted once its
/// process is gone.
#[derive(Debug)]
pub(crate) struct OpenRun {
    path: AbsPath,
    /// Locked for as long as this is open.
    _lock: File,
}

impl OpenRun {
    /// Creates the marker of an execution. The caller must hold the log's lock.
    pub(super) fn begin(folder: &AbsPath, id: &str, sync: Sync) -> Result<Self, LogError> {
        let folder = folder.join(FOLDER);
        make_private_folder(&folder).map_err(|error| LogError::Io {
            path: folder.to_string(),
            source: io::Error::other(error),
        })?;
        let path = folder.join(format!("{id}{END}"));
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        private(&mut options);
        let file = options.open(path.as_path()).map_err(failed)?;
        file.try_lock().map_err(|error| failed(error.into()))?;
        if sync == Sync::Always {
            let synced = File::open(folder.as_path()).and_then(|folder| folder.sync_all());
            synced.map_err(|source| LogError::Io { path: folder.to_string(), source })?;
        }
        Ok(Self { path, _lock: file })
    }

    /// Removes the marker, once the end of the execution is in the log.
    pub(crate) fn close(self) {
        // If this fails, the next process removes it, since the log has the end of the execution.
        let _ = fs::remove_file(self.path.as_path());
    }
}

/// A marker that no process holds.
pub(super) struct Marker {
    path: AbsPath,
    /// Held until the end of the execution is in the log.
    _lock: File,
    /// Execution ID.
    pub(super) id: String,
}

impl Marker {
    pub(super) fn remove(self) {
        let _ = fs::remove_file(self.path.as_path());
    }
}

/// Returns markers that no process holds. The caller must hold the log's lock. A marker that cannot be opened is left
/// for the next process.
pub(super) fn abandoned(folder: &AbsPath) -> Vec<Marker> {
    let folder = folder.join(FOLDER);
    let Ok(entries) = fs::read_dir(folder.as_path()) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let found = names.filter_map(|name| open_marker(&folder, &name));
    let mut found: Vec<Marker> = found.take(MAX_MARKERS).collect();
    found.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    found
}

fn open_marker(folder: &AbsPath, name: &str) -> Option<Marker> {
    let id = name.strip_suffix(END)?;
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let path = folder.join(name);
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    private(&mut options);
    let file = options.open(path.as_path()).ok()?;
    file.try_lock().ok()?;
    Some(Marker { path, _lock: file, id: id.to_owned() })
}
