//! Scratch folders. They are removed on drop; leftovers of a killed process are removed by the next one that uses the
//! parent folder.
//!
//! A process holds a file lock on its scratch folder. So leftovers are recognized at once, and a folder in use is never
//! removed.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use skill_fs::AbsPath;

use crate::run::run_folder;

/// Prefix of the names of scratch folders. Discovery skips them.
pub(crate) const SCRATCH_PREFIX: &str = ".openskills-";
const SCRATCH_SUFFIX: &str = ".tmp";
/// If folders cannot be locked, an older one is considered a leftover.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);
/// How many times to retry if another process removes the new folder before it is locked.
const TRIES: usize = 16;

/// A scratch folder.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Fields drop in this order, so the folder is removed while it is still locked.
    folder: tempfile::TempDir,
    _lock: Option<File>,
}

impl Scratch {
    /// Creates an empty scratch folder in `folder`.
    pub(crate) fn below(folder: &AbsPath) -> io::Result<Self> {
        for _ in 0..TRIES {
            let made = tempfile::Builder::new()
                .prefix(SCRATCH_PREFIX)
                .suffix(SCRATCH_SUFFIX)
                .tempdir_in(folder.as_path())?;
            match lock(made.path()) {
                Locked::Ours(lock) => return Ok(Self { folder: made, _lock: Some(lock) }),
                Locked::Unknown => return Ok(Self { folder: made, _lock: None }),
                // A cleanup in another process was faster.
                Locked::Theirs => {}
            }
        }
        Err(io::Error::other("other processes keep removing the temporary folder"))
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the next process removes it.
        let _ = run_folder::remove_all(self.folder.path());
    }
}

/// Removes leftovers of killed processes from `folder`. Anything that cannot be removed is left for the next time.
pub(crate) fn sweep(folder: &AbsPath) {
    // Do not follow symlinks.
    if !fs::symlink_metadata(folder.as_path()).is_ok_and(|found| found.is_dir()) {
        return;
    }
    for entry in fs::read_dir(folder.as_path()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(SCRATCH_PREFIX) && name.ends_with(SCRATCH_SUFFIX));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        let held = lock(&entry.path());
        let is_left = match &held {
            Locked::Ours(_) => true,
            Locked::Theirs => false,
            Locked::Unknown => age().is_some_and(|age| age > STALE_AFTER),
        };
        if is_left {
            let _ = run_folder::remove_all(&entry.path());
        }
    }
}

/// Who has locked a folder.
enum Locked {
    /// This process, as long as the file is open.
    Ours(File),
    /// Another process is using or removing it.
    Theirs,
    /// The file system does not support locks.
    Unknown,
}

fn lock(path: &Path) -> Locked {
    let folder = match File::open(path) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Locked::Theirs,
        Err(_) => return Locked::Unknown,
    };
    match folder.try_lock() {
        // It may have been removed between opening and locking.
        Ok(()) if is_at(&folder, path) => Locked::Ours(folder),
        Ok(()) | Err(TryLockError::WouldBlock) => Locked::Theirs,
        Err(TryLockError::Error(_)) => Locked::Unknown,
    }
}

/// Returns true if the open folder is still at `path`.
#[cfg(unix)]
fn is_at(folder: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    match (folder.metadata(), fs::symlink_metadata(path)) {
        (Ok(folder), Ok(there)) => place(folder) == place(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_removed_and_folders_in_use_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let base = AbsPath::new(folder.path()).unwrap();
        let used = Scratch::below(&base).unwrap();
        fs::write(used.path().join("a"), "a").unwrap();
        let left = folder.path().join(".openskills-left.tmp");
        fs::create_dir_all(left.join("pdf")).unwrap();
        let others = [".openskills", ".openskills-x", "openskills-x.tmp"];
        others.iter().for_each(|name| fs::create_dir(folder.path().join(name)).unwrap());
        sweep(&base);
        assert!(!left.exists() && used.path().join("a").exists());
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn read_only_folders_are_removed_and_symlinks_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let base = AbsPath::new(folder.path()).unwrap();
        let left = folder.path().join(".openskills-left.tmp");
        fs::create_dir_all(left.join("closed")).unwrap();
        fs::write(left.join("closed/a"), "a").unwrap();
        fs::set_permissions(left.join("closed"), fs::Permissions::from_mode(0o500)).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let link = folder.path().join(".openskills-link.tmp");
        symlink(elsewhere.path(), &link).unwrap();
        sweep(&base);
        assert!(!left.exists() && link.is_symlink() && elsewhere.path().exists());
    }
}
