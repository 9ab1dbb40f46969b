//! Small files of openskills: read with a limit, and removed when they are old.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use skill_fs::{AbsPath, FsError};

/// Reads a JSON file; `None` if it does not exist.
pub(crate) fn read_json<T: DeserializeOwned>(
    path: &AbsPath,
    max_bytes: u64,
) -> Result<Option<T>, FsError> {
    let failed = |source| FsError::Io { path: path.to_string(), source };
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match fs::metadata(path.as_path()) {
        Ok(found) if found.len() > max_bytes => {
            return Err(failed(io::Error::other("the file is too large")));
        }
        Ok(_) => {}
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    match fs::read(path.as_path()) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into())),
        // Another process has removed it in the meantime.
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Removes the entries of a folder that have not changed for some time. What cannot be removed stays until the next
/// time.
pub(crate) fn remove_old(
    folder: &Path,
    max_age: Duration,
    remove: impl Fn(&Path) -> io::Result<()>,
) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    for entry in entries.filter_map(Result::ok) {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = modified
            .is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > max_age));
        if is_old {
            let _ = remove(&entry.path());
        }
    }
}
