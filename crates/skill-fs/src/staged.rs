//! A temporary file next to the file that it will replace.
//!
//! Its name is derived from that file's, so that the next writer finds and removes what a killed process left behind.
//! The writer holds a kernel lock on the temporary file: if it is locked, the next writer waits instead.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sys;

/// How long to wait for another writer of the same file.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait between attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A file that is being written. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) file: File,
    path: Option<PathBuf>,
}

impl Staged {
    /// Creates an empty file next to `target`.
    pub(crate) fn beside(target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let path = target.with_file_name(format!(".csk-{}.tmp", name.to_string_lossy()));
        let start = Instant::now();
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                // Another writer may have removed it as a leftover before it was locked.
                Ok(file) if try_lock(&file, &path)? => return Ok(Self { file, path: Some(path) }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    remove_leftover(&path)?;
                }
                Err(error) => return Err(error),
            }
            if start.elapsed() > TIMEOUT {
                let message = format!("another process is writing to `{}`", path.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
        }
    }

    /// Renames it to `target`.
    pub(crate) fn persist(mut self, target: &Path) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        sys::replace(path, target)?;
        self.path = None;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // If this fails, the next writer removes the file.
            let _ = sys::remove_file(path);
        }
    }
}

/// Tries to lock a file; true if it is locked and still at `path`.
fn try_lock(file: &File, path: &Path) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => sys::is_same_file(file, path),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes a file whose writer has ended; waits one interval if the writer is still running.
fn remove_leftover(path: &Path) -> io::Result<()> {
    let ignore_missing = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    };
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => {
            return Err(io::Error::other(format!("`{}` is not a regular file", path.display())));
        }
        Err(error) => return ignore_missing(error),
    }
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) => return ignore_missing(error),
    };
    if try_lock(&file, path)? {
        return sys::remove_file(path).or_else(ignore_missing);
    }
    std::thread::sleep(RETRY_INTERVAL);
    Ok(())
}
