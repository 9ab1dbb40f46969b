//! Temporary folders of runs: copies of skills and empty workspaces. Each has a file lock that the kernel releases when
//! its process dies, so leftovers of killed runs are recognized, and a folder in use is never mistaken for one.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skill_fs::{AbsPath, FsError, make_private_folder};

/// The folder that contains all run folders.
pub(crate) const FOLDER: &str = "runs";
/// The lock file in each run folder.
const LOCK: &str = "lock";
const BASE_LOCK: &str = ".lock";
/// The subfolder for files.
const FILES: &str = "files";
/// A folder without a lock may belong to a running older version, so it is only removed after this time.
const MAX_UNLOCKED_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// A temporary folder of a run, removed on drop.
#[derive(Debug)]
pub(crate) struct RunFolder {
    files: PathBuf,
    // Dropped in this order, so that the folder is removed while it is still locked.
    _folder: tempfile::TempDir,
    _lock: File,
}

impl RunFolder {
    /// Creates an empty folder in `base`.
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
        // Remove the lock last: without it, leftovers would not be recognized.
        let _ = remove_all(&self.files);
    }
}

/// A leftover of a killed run. Its lock is held, so no other process touches it.
#[derive(Debug)]
pub(crate) struct LeftOver {
    pub(crate) path: PathBuf,
    _lock: Option<File>,
}

impl LeftOver {
    /// Removes the folder, its lock last.
    pub(crate) fn remove(&self) -> io::Result<()> {
        remove_all(&self.path.join(FILES))?;
        remove_all(&self.path)
    }

    /// Returns the total size of its files in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        size(&self.path)
    }
}

/// Removes a folder and its contents, making subfolders writable if necessary.
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

/// Removes leftovers of killed runs. Those that cannot be removed stay until the next time and are shown by `openskills
/// cache`.
pub(crate) fn sweep(base: &AbsPath) {
    for left in left_over(base).unwrap_or_default() {
        let _ = left.remove();
    }
}

/// Finds leftovers of killed runs.
pub(crate) fn left_over(base: &AbsPath) -> io::Result<Vec<LeftOver>> {
    // Never follow a link to another folder.
    match fs::symlink_metadata(base.as_path()) {
        Ok(metadata) if metadata.is_dir() => {}
        _ => return Ok(Vec::new()),
    }
    let _all = lock_all(base)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(base.as_path())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(left_over_in(&entry)?);
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

fn left_over_in(entry: &fs::DirEntry) -> io::Result<Option<LeftOver>> {
    let path = entry.path();
    let lock = match OpenOptions::new().write(true).open(path.join(LOCK)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
            // No folder is being created while the base lock is held, so an empty one is the rest of an unfinished
            // removal.
            let is_empty = fs::read_dir(&path)?.next().is_none();
            return Ok(
                (is_empty || age > MAX_UNLOCKED_AGE).then_some(LeftOver { path, _lock: None })
            );
        }
        // Leave unreadable folders alone.
        Err(_) => return Ok(None),
    };
    let is_free = lock.try_lock().is_ok();
    Ok(is_free.then_some(LeftOver { path, _lock: Some(lock) }))
}

/// Takes the lock for creating and inspecting run folders. It is only held briefly.
fn lock_all(base: &AbsPath) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(base.join(BASE_LOCK).as_path())?;
    file.lock()?;
    Ok(file)
}

pub(crate) fn size(path: &Path) -> u64 {
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
