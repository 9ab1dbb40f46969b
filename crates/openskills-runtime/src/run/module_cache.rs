//! Compiled modules, kept where no skill can write, under a seal whose key is kept elsewhere.
//!
//! The folder may be lost or brought along from another machine: what was not sealed with this user's key is compiled again.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use sandbox_wasm::{Artifact, CacheName, KEY_LENGTH};
use skill_fs::{AbsPath, FsError, make_private_folder, own_names, read_own_file, write_file};

use crate::Places;

/// The folder, below that of caches.
pub(crate) const FOLDER: &str = "wasm";
/// The key, in the folder of state.
const KEY: &str = "wasm.key";
pub(crate) const ENDING: &str = ".cwasm";
/// The largest code that is kept.
const MAX: u64 = 512 << 20;
/// Code that was compiled so long ago is compiled again when it is needed.
const OLD: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// The compiled modules of this user.
#[derive(Debug, Clone)]
pub(crate) struct ModuleCache {
    folder: AbsPath,
    key: [u8; KEY_LENGTH],
}

impl ModuleCache {
    /// Opens the cache; `None` where there is no place for one that is the user's alone.
    pub(crate) fn open(places: &Places) -> Result<Option<Self>, FsError> {
        let (Some(cache), Some(state)) = (&places.cache, &places.state) else { return Ok(None) };
        let folder = cache.join(FOLDER);
        // What stands in the way is no reason not to run.
        if make_private_folder(&folder).is_err() {
            return Ok(None);
        }
        make_private_folder(state)?;
        let is_folder = fs::symlink_metadata(folder.as_path()).is_ok_and(|it| it.is_dir());
        if !is_folder || !close(&folder) {
            return Ok(None);
        }
        Ok(Some(Self { folder, key: key(state)? }))
    }

    /// Returns a module's code, if it is there as it was put there.
    pub(crate) fn get(&self, name: &CacheName) -> Option<Artifact> {
        let path = self.path(name);
        if is_old(&path) {
            return None;
        }
        // A cache that cannot be read is no cache.
        let kept = read_own_file(&path, MAX).ok().flatten()?;
        Artifact::unsealed(&self.key, name, &kept)
    }

    /// Keeps a module's code, and drops what is old.
    pub(crate) fn put(&self, name: &CacheName, code: &Artifact) {
        let path = self.path(name);
        let sealed = code.sealed(&self.key, name);
        // The same bytes would not be written again, and would stay old.
        if is_old(&path) {
            let _ = fs::remove_file(path.as_path());
        }
        // What cannot be kept is compiled again.
        let _ = write_file(&path, &sealed);
        for name in own_names(&self.folder).unwrap_or_default() {
            let path = self.folder.join(&name);
            if name.ends_with(ENDING) && is_old(&path) {
                let _ = fs::remove_file(path.as_path());
            }
        }
    }

    fn path(&self, name: &CacheName) -> AbsPath {
        self.folder.join(format!("{}{ENDING}", name.as_str()))
    }
}

/// Returns true for code that was compiled long ago. What has no time is not old: whether it is there is another question.
fn is_old(path: &AbsPath) -> bool {
    let made = fs::metadata(path.as_path()).and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| SystemTime::now().duration_since(made).is_ok_and(|age| age > OLD))
}

/// Returns the user's key. One that is not there, is no key, or could be read by others is made anew.
fn key(state: &AbsPath) -> Result<[u8; KEY_LENGTH], FsError> {
    let path = state.join(KEY);
    let failed = |source| FsError::Io { path: path.to_string(), source };
    let known = read_own_file(&path, KEY_LENGTH as u64)?.and_then(|bytes| bytes.try_into().ok());
    if let Some(key) = known.filter(|_| is_private(&path)) {
        return Ok(key);
    }
    let mut new = [0; KEY_LENGTH];
    getrandom::fill(&mut new).map_err(|error| failed(io::Error::other(error.to_string())))?;
    // Such a file can be read by its owner alone. Of two processes at once the later one's key stays, and the other's code is compiled again.
    let mut file = tempfile::Builder::new()
        .prefix(".wasm-key-")
        .tempfile_in(state.as_path())
        .map_err(failed)?;
    file.write_all(&new).map_err(failed)?;
    file.persist(path.as_path()).map_err(|error| failed(error.error))?;
    Ok(new)
}

#[cfg(unix)]
fn is_private(path: &AbsPath) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path.as_path()).is_ok_and(|it| it.is_file() && it.mode() & 0o077 == 0)
}

/// Takes a folder's rights from others; false if it cannot be.
#[cfg(unix)]
fn close(folder: &AbsPath) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let is_open = |it: fs::Metadata| it.mode() & 0o077 != 0;
    match fs::metadata(folder.as_path()).map(is_open) {
        Ok(false) => true,
        Ok(true) => {
            fs::set_permissions(folder.as_path(), fs::Permissions::from_mode(0o700)).is_ok()
        }
        Err(_) => false,
    }
}

#[cfg(not(unix))]
fn is_private(_: &AbsPath) -> bool {
    true
}

#[cfg(not(unix))]
fn close(_: &AbsPath) -> bool {
    true
}
