//! Executions that began and have not ended: a marker file each, whose lock the kernel holds for the process that runs it.
//!
//! A marker says nothing but its name, the id of the execution: whoever may write the folder can make one, so everything that is
//! recorded because of it is what the log says of that execution already. Markers are made and looked at under the lock of the
//! log alone, so none is seen before its own lock is held.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, OpenOptions};
use std::io;

use skill_fs::{AbsPath, make_private_folder};

use super::head::private;
use super::{LogError, Sync};

/// The folder of the markers, in that of the log.
const FOLDER: &str = "open";
/// How the names of markers end.
const END: &str = ".json";
/// How many are looked at at once.
const MAX_MARKERS: usize = 1000;

/// An execution that began. Dropped without [`close`](Self::close), it counts as interrupted once its process is gone.
#[derive(Debug)]
pub(crate) struct OpenRun {
    path: AbsPath,
    /// Its lock is held as long as it is open.
    _lock: File,
}

impl OpenRun {
    /// Makes the marker of an execution. The lock of the log must be held.
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

    /// Removes the marker: whatever ended the execution is in the log.
    pub(crate) fn close(self) {
        // One that stays is removed by the next process, which sees that end in the log.
        let _ = fs::remove_file(self.path.as_path());
    }
}

/// A marker that no process holds.
pub(super) struct Marker {
    path: AbsPath,
    /// Held until the end is in the log.
    _lock: File,
    /// The id of the execution.
    pub(super) id: String,
}

impl Marker {
    /// Removes the marker.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(self.path.as_path());
    }
}

/// Finds markers that no process holds. The lock of the log must be held. What cannot be looked at is left for the next one.
pub(super) fn abandoned(folder: &AbsPath) -> Vec<Marker> {
    let folder = folder.join(FOLDER);
    let Ok(entries) = fs::read_dir(folder.as_path()) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let found = names.filter_map(|name| look_at(&folder, &name));
    let mut found: Vec<Marker> = found.take(MAX_MARKERS).collect();
    found.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    found
}

fn look_at(folder: &AbsPath, name: &str) -> Option<Marker> {
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
