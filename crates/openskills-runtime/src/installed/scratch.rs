//! A folder for what is not finished. It goes when it is dropped; what a killed process left goes with the next one that works there.
//!
//! The kernel holds a lock on it for its process. So what was left is known at once, and a folder in use is never taken for that.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use skill_fs::AbsPath;

use crate::run::run_folder;

/// How the names of such folders begin. No discovery looks into one.
pub(crate) const UNFINISHED: &str = ".openskills-";
const ENDING: &str = ".tmp";
/// Where folders cannot be locked, one that is older was left by a process that was killed.
const OLD: Duration = Duration::from_secs(60 * 60);
/// How often a new folder may be taken for a leftover before it is locked.
const TRIES: usize = 16;

/// A folder for what is not finished.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Dropped in this order: the folder goes while it is still locked.
    folder: tempfile::TempDir,
    _lock: Option<File>,
}

impl Scratch {
    /// Makes an empty one in `folder`.
    pub(crate) fn below(folder: &AbsPath) -> io::Result<Self> {
        for _ in 0..TRIES {
            let made = tempfile::Builder::new()
                .prefix(UNFINISHED)
                .suffix(ENDING)
                .tempdir_in(folder.as_path())?;
            match lock(made.path()) {
                Locked::Ours(lock) => return Ok(Self { folder: made, _lock: Some(lock) }),
                Locked::Unknown => return Ok(Self { folder: made, _lock: None }),
                // Whoever cleans up was quicker.
                Locked::Theirs => {}
            }
        }
        Err(io::Error::other("other processes remove every folder that is made there"))
    }

    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one.
        let _ = run_folder::remove_all(self.folder.path());
    }
}

/// Removes what killed processes left in `folder`. What cannot be removed is left for the next time.
pub(crate) fn sweep(folder: &AbsPath) {
    // A link leads to what is somebody else's.
    if !fs::symlink_metadata(folder.as_path()).is_ok_and(|found| found.is_dir()) {
        return;
    }
    for entry in fs::read_dir(folder.as_path()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(UNFINISHED) && name.ends_with(ENDING));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        let held = lock(&entry.path());
        let is_left = match &held {
            Locked::Ours(_) => true,
            Locked::Theirs => false,
            Locked::Unknown => age().is_some_and(|age| age > OLD),
        };
        if is_left {
            let _ = run_folder::remove_all(&entry.path());
        }
    }
}

/// Whose a folder is.
enum Locked {
    /// Nobody else's, as long as this is kept.
    Ours(File),
    /// Another process uses or removes it.
    Theirs,
    /// The file system does not say.
    Unknown,
}

fn lock(path: &Path) -> Locked {
    let folder = match File::open(path) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Locked::Theirs,
        Err(_) => return Locked::Unknown,
    };
    match folder.try_lock() {
        // Between the two it may have been removed, and its lock is then that of nothing.
        Ok(()) if is_at(&folder, path) => Locked::Ours(folder),
        Ok(()) | Err(TryLockError::WouldBlock) => Locked::Theirs,
        Err(TryLockError::Error(_)) => Locked::Unknown,
    }
}

/// Returns true if a folder still has its name.
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
    fn what_a_killed_process_left_goes_and_what_is_in_use_stays() {
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
    fn closed_folders_and_links_do_not_stop_it() {
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
