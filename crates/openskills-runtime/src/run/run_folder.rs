//! Folders that runs work in: copies of skills and empty workspaces. Each has a lock that the kernel holds for its process, so
//! what a killed run left is known at once, and a folder in use is never taken for that.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skill_fs::{AbsPath, FsError, make_private_folder};

/// The folder of all of them.
pub(crate) const FOLDER: &str = "runs";
/// The lock of a folder, in it; and the one that is held while folders are made and looked at.
const LOCK: &str = "lock";
const ALL: &str = ".lock";
/// Where files are.
const FILES: &str = "files";
/// One without a lock is of an older version, which may still run.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of a run; it goes when it is dropped.
#[derive(Debug)]
pub(crate) struct RunFolder {
    files: PathBuf,
    // Dropped in this order: the folder goes while it is still locked.
    _folder: tempfile::TempDir,
    _lock: File,
}

impl RunFolder {
    /// Makes an empty folder below `base`.
    pub(crate) fn new(base: &AbsPath) -> Result<Self, FsError> {
        make_private_folder(base)?;
        let failed = |source| FsError::Io { path: base.to_string(), source };
        let _all = lock_all(base).map_err(failed)?;
        let folder =
            tempfile::Builder::new().prefix("run-").tempdir_in(base.as_path()).map_err(failed)?;
        let lock = File::create_new(folder.path().join(LOCK)).map_err(failed)?;
        lock.try_lock().map_err(|error| failed(error.into()))?;
        let files = folder.path().join(FILES);
        fs::create_dir(&files).map_err(failed)?;
        Ok(Self { files, _folder: folder, _lock: lock })
    }

    /// Returns the folder for files.
    pub(crate) fn path(&self) -> &Path {
        &self.files
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // The lock goes last: what is left without one is not known for a leftover.
        let _ = remove_all(&self.files);
    }
}

/// What a killed run left. Its lock is held, so no other process touches it.
#[derive(Debug)]
pub(crate) struct LeftOver {
    pub(crate) path: PathBuf,
    _lock: Option<File>,
}

impl LeftOver {
    /// Removes it, its lock last.
    pub(crate) fn remove(&self) -> io::Result<()> {
        remove_all(&self.path.join(FILES))?;
        remove_all(&self.path)
    }

    /// Returns how many bytes its files have.
    pub(crate) fn bytes(&self) -> u64 {
        size(&self.path)
    }
}

/// Removes a folder with everything in it. Folders that somebody closed are opened first.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_folders(path)?;
            fs::remove_dir_all(path)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes what killed runs left. What cannot be removed is left for the next time, and shown by `openskills cache`.
pub(crate) fn sweep(base: &AbsPath) {
    for left in left_over(base).unwrap_or_default() {
        let _ = left.remove();
    }
}

/// Finds what killed runs left.
pub(crate) fn left_over(base: &AbsPath) -> io::Result<Vec<LeftOver>> {
    // A link leads to what is somebody else's.
    match fs::symlink_metadata(base.as_path()) {
        Ok(metadata) if metadata.is_dir() => {}
        _ => return Ok(Vec::new()),
    }
    let _all = lock_all(base)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(base.as_path())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(look_at(&entry)?);
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

fn look_at(entry: &fs::DirEntry) -> io::Result<Option<LeftOver>> {
    let path = entry.path();
    let lock = match OpenOptions::new().write(true).open(path.join(LOCK)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
            // Nobody makes one now; an empty one is the last of what was being removed.
            let is_empty = fs::read_dir(&path)?.next().is_none();
            return Ok((is_empty || age > OLD).then_some(LeftOver { path, _lock: None }));
        }
        // What cannot be looked at is not taken for anything.
        Err(_) => return Ok(None),
    };
    let is_free = lock.try_lock().is_ok();
    Ok(is_free.then_some(LeftOver { path, _lock: Some(lock) }))
}

/// Takes the lock under which folders are made and looked at. It is held for a moment only.
fn lock_all(base: &AbsPath) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(base.join(ALL).as_path())?;
    file.lock()?;
    Ok(file)
}

fn size(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    let one = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(one).sum()
}

#[cfg(unix)]
fn open_folders(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_folders(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn open_folders(_: &Path) -> io::Result<()> {
    Ok(())
}
