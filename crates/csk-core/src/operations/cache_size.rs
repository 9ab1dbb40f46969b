//! The size of the snapshot cache, and cleaning it.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use skill_fs::{AbsPath, FsError};

use crate::install::journal::remove_tree;

/// The snapshots in the cache, or removed from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// The number of snapshots.
    pub snapshots: u64,
    /// The total size of their files.
    pub bytes: u64,
}

/// Returns the folder of the cache below csk's home folder.
pub fn cache_folder(home: &AbsPath) -> AbsPath {
    home.join("cache")
}

/// Returns the size of the cache.
pub fn cache_size(home: &AbsPath) -> Result<CacheSize, FsError> {
    let mut size = CacheSize::default();
    for snapshot in snapshots(home)? {
        size.snapshots += 1;
        size.bytes += bytes(&snapshot)?;
    }
    Ok(size)
}

/// Removes snapshots older than `age`, or all of them; returns what was removed. The caller must hold the process lock.
pub fn clean_cache(home: &AbsPath, age: Option<Duration>) -> Result<CacheSize, FsError> {
    let mut removed = CacheSize::default();
    let now = SystemTime::now();
    for snapshot in snapshots(home)? {
        let failed = |source| FsError::Io { path: snapshot.to_string(), source };
        let made =
            fs::symlink_metadata(snapshot.as_path()).and_then(|metadata| metadata.modified());
        let is_old = age.is_none_or(|age| {
            made.as_ref()
                .is_ok_and(|made| now.duration_since(*made).is_ok_and(|passed| passed > age))
        });
        made.as_ref().map_err(|error| failed(io::Error::other(error.to_string())))?;
        if is_old {
            removed.snapshots += 1;
            removed.bytes += bytes(&snapshot)?;
            remove_tree(&snapshot)?;
            // Removes the source's folder if this was its last snapshot.
            if let Some(source) = snapshot.parent() {
                let _ = fs::remove_dir(source.as_path());
            }
        }
    }
    if age.is_none() {
        remove_tree(&cache_folder(home))?;
    }
    Ok(removed)
}

/// Returns the folders `cache/<source>/<tree>`.
fn snapshots(home: &AbsPath) -> Result<Vec<AbsPath>, FsError> {
    let mut all = Vec::new();
    for source in folders(&cache_folder(home))? {
        // Fingerprints of projects are not snapshots.
        if !source.file_name().is_some_and(|name| name.starts_with('.')) {
            all.extend(folders(&source)?);
        }
    }
    Ok(all)
}

fn folders(folder: &AbsPath) -> Result<Vec<AbsPath>, FsError> {
    let failed = |source| FsError::Io { path: folder.to_string(), source };
    let entries = match fs::read_dir(folder.as_path()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            found.extend(entry.file_name().into_string().ok().map(|name| folder.join(name)));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn bytes(folder: &AbsPath) -> Result<u64, FsError> {
    let failed = |source| FsError::Io { path: folder.to_string(), source };
    let mut sum = 0;
    for entry in fs::read_dir(folder.as_path()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        sum += match (metadata.is_dir(), entry.file_name().into_string()) {
            (true, Ok(name)) => bytes(&folder.join(name))?,
            (true, Err(_)) => 0,
            (false, _) => metadata.len(),
        };
    }
    Ok(sum)
}
