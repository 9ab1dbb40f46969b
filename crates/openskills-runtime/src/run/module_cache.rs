//! Caches compiled modules where no skill can write, sealed with a key that is stored elsewhere.
//!
//! The folder may be deleted or copied from another machine; anything not sealed with this user's key is recompiled.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use sandbox_wasm::{Artifact, CacheName, KEY_LENGTH};
use skill_fs::{AbsPath, FsError, make_private_folder, own_names, read_own_file, write_file};

use crate::Places;

/// The folder inside the cache folder.
pub(crate) const FOLDER: &str = "wasm";
/// The key file in the state folder.
const KEY: &str = "wasm.key";
pub(crate) const ENDING: &str = ".cwasm";
/// Larger code is not cached.
const MAX_CODE: u64 = 512 << 20;
/// Older code is recompiled when needed.
const MAX_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// The compiled modules of this user.
#[derive(Debug, Clone)]
pub(crate) struct ModuleCache {
    folder: AbsPath,
    key: [u8; KEY_LENGTH],
}

impl ModuleCache {
    /// Opens the cache; `None` if there is no folder that only the user can access.
    pub(crate) fn open(places: &Places) -> Result<Option<Self>, FsError> {
        let (Some(cache), Some(state)) = (&places.cache, &places.state) else { return Ok(None) };
        let folder = cache.join(FOLDER);
        // A missing cache must not prevent the run.
        if make_private_folder(&folder).is_err() {
            return Ok(None);
        }
        make_private_folder(state)?;
        let is_folder = fs::symlink_metadata(folder.as_path()).is_ok_and(|it| it.is_dir());
        if !is_folder || !make_private(&folder) {
            return Ok(None);
        }
        Ok(Some(Self { folder, key: key(state)? }))
    }

    /// Returns a module's code if it is cached and its seal is valid.
    pub(crate) fn get(&self, name: &CacheName) -> Option<Artifact> {
        let path = self.path(name);
        if is_old(&path) {
            return None;
        }
        // An unreadable entry counts as missing.
        let kept = read_own_file(&path, MAX_CODE).ok().flatten()?;
        Artifact::unsealed(&self.key, name, &kept)
    }

    /// Caches a module's code and removes old entries.
    pub(crate) fn put(&self, name: &CacheName, code: &Artifact) {
        let path = self.path(name);
        let sealed = code.sealed(&self.key, name);
        // `write_file` skips identical content, so an old file would keep its old time.
        if is_old(&path) {
            let _ = fs::remove_file(path.as_path());
        }
        // Code that cannot be cached is recompiled next time.
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

/// Returns true for code that was compiled long ago. A file without a modification time does not count as old.
fn is_old(path: &AbsPath) -> bool {
    let made = fs::metadata(path.as_path()).and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| SystemTime::now().duration_since(made).is_ok_and(|age| age > MAX_AGE))
}

/// Returns the user's key. A missing or malformed key, or one that others can read, is replaced.
fn key(state: &AbsPath) -> Result<[u8; KEY_LENGTH], FsError> {
    let path = state.join(KEY);
    let failed = |source| FsError::Io { path: path.to_string(), source };
    let known = read_own_file(&path, KEY_LENGTH as u64)?.and_then(|bytes| bytes.try_into().ok());
    if let Some(key) = known.filter(|_| is_private(&path)) {
        return Ok(key);
    }
    let mut new = [0; KEY_LENGTH];
    getrandom::fill(&mut new).map_err(|error| failed(io::Error::other(error.to_string())))?;
    // Temporary files are readable only by their owner. If two processes race, the later key wins and code sealed with
    // the other one is recompiled.
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

/// Removes other users' access to a folder; returns false if that fails.
#[cfg(unix)]
fn make_private(folder: &AbsPath) -> bool {
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
fn make_private(_: &AbsPath) -> bool {
    true
}
