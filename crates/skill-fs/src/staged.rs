//! A new file beside the one that it will replace.
//!
//! Its name follows from the other's, so that what a killed process left is found and removed by the next writer. A lock that the
//! kernel holds tells the two apart: a file whose writer lives is waited for.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sys;

/// How long another writer of the same file is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked at again.
const PAUSE: Duration = Duration::from_millis(5);

/// A file that is being written. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) file: File,
    path: Option<PathBuf>,
}

impl Staged {
    /// Makes an empty file beside `target`.
    pub(crate) fn beside(target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let path = target.with_file_name(format!(".csk-{}.tmp", name.to_string_lossy()));
        let start = Instant::now();
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                // Whoever cleans up may have taken it for a leftover before it was locked.
                Ok(file) if is_ours(&file, &path)? => return Ok(Self { file, path: Some(path) }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => clear(&path)?,
                Err(error) => return Err(error),
            }
            if start.elapsed() > PATIENCE {
                let why = format!("another process is writing {}", path.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    }

    /// Puts it where `target` is.
    pub(crate) fn persist(mut self, target: &Path) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        fs::rename(path, target)?;
        self.path = None;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What cannot be removed now is removed by the next writer.
            let _ = fs::remove_file(path);
        }
    }
}

/// Locks a file; true if it then still has its name.
fn is_ours(file: &File, path: &Path) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => sys::is_same_file(file, path),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes a file whose writer is gone; waits a little for one who is there.
fn clear(path: &Path) -> io::Result<()> {
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    };
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => {
            return Err(io::Error::other(format!("{} is not a regular file", path.display())));
        }
        Err(error) => return gone(error),
    }
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) => return gone(error),
    };
    if is_ours(&file, path)? {
        return fs::remove_file(path).or_else(gone);
    }
    std::thread::sleep(PAUSE);
    Ok(())
}
