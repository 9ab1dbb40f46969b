//! The private folders of command lines: a home folder for each project, which keeps caches of package managers, and
//! temporary files for each session.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skill::Digest;
use skill_fs::{AbsPath, FsError, make_private_folder};

use crate::Places;
use crate::RuntimeError;
use crate::run::run_folder::remove_all;
use crate::state::decisions::no_state_folder;
use crate::state::own_files::remove_old;

/// The home folders, in the cache folder.
pub(crate) const HOMES: &str = "command-homes";
/// The temporary files of sessions, in the cache folder.
pub(crate) const TEMPORARY: &str = "command-tmp";
/// Temporary files of sessions that have not been used for this long are removed.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The private folders of a command line.
#[derive(Debug)]
pub(super) struct SessionFolders {
    /// Stands for the user's home folder.
    pub(super) home: PathBuf,
    /// Stands for `/tmp`.
    pub(super) temporary: PathBuf,
}

impl SessionFolders {
    /// Returns the folders of a session in a project, and creates those that are missing.
    pub(super) fn of(
        places: &Places,
        workspace: &Path,
        session: &str,
    ) -> Result<Self, RuntimeError> {
        let cache = places.cache.as_ref().ok_or_else(no_state_folder)?;
        let homes = cache.join(HOMES);
        let home = homes.join(Digest::of(workspace.as_os_str().as_encoded_bytes()).short());
        let all = cache.join(TEMPORARY);
        let temporary = all.join(Digest::of(session.as_bytes()).short());
        if !temporary.as_path().is_dir() {
            remove_old(all.as_path(), MAX_AGE, remove_all);
        }
        for folder in [&homes, &home, &all, &temporary] {
            make_private_folder(folder)?;
        }
        let real = |folder: &AbsPath| {
            fs::canonicalize(folder.as_path())
                .map_err(|source| FsError::Io { path: folder.to_string(), source })
        };
        Ok(Self { home: real(&home)?, temporary: real(&temporary)? })
    }
}

/// Removes the temporary files of a session.
pub(super) fn remove_temporary(places: &Places, session: &str) -> Result<(), RuntimeError> {
    let Some(cache) = &places.cache else { return Ok(()) };
    let folder = cache.join(TEMPORARY).join(Digest::of(session.as_bytes()).short());
    remove_all(folder.as_path())
        .map_err(|source| FsError::Io { path: folder.to_string(), source }.into())
}
