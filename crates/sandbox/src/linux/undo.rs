//! Saves the files that applying changes replaces, and records what is at their paths. Paths are opened below the
//! workspace without following symlinks.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use skill::Digest;

use super::layer::{link_below, open_file, open_folder, stat_below};
pub(crate) use super::revert::{check, revert};
use crate::layer::Change;
use crate::undo::{Owner, PathState, ReplacedPath, SaveError, saved_name};

/// Larger files are not read: no run can create one, so it must be the user's.
const MAX_FILE: i64 = 4 << 30;

pub(crate) fn save(
    workspace: &Path,
    changes: &[Change],
    folder: &Path,
    max: u64,
) -> Result<Vec<(PathBuf, PathState)>, SaveError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| SaveError::Io { path, source }
    };
    let root = open_folder(workspace).map_err(failed(workspace))?;
    let paths: BTreeSet<&PathBuf> = changes.iter().map(|change| &change.path).collect();
    let mut all = Vec::new();
    let mut left = max;
    for (number, path) in paths.into_iter().enumerate() {
        let is_too_large = |stat: &rustix::fs::Stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                && u64::try_from(stat.st_size).is_ok_and(|size| size > left)
        };
        if stat_below(&root, path).is_ok_and(|stat| is_too_large(&stat)) {
            return Err(SaveError::TooLarge { max });
        }
        let state = state(&root, path).map_err(failed(path))?;
        match state {
            PathState::Other => return Err(SaveError::Special { path: path.clone() }),
            PathState::File { .. } => {
                let saved = folder.join(saved_name(number));
                let copied = open_file(&root, path).and_then(|from| {
                    let mut to = File::create_new(saved)?;
                    io::copy(&mut from.take(left.saturating_add(1)), &mut to)
                });
                let copied = copied.map_err(failed(path))?;
                left = left.checked_sub(copied).ok_or(SaveError::TooLarge { max })?;
            }
            PathState::Nothing | PathState::Folder { .. } | PathState::Link { .. } => {}
        }
        all.push((path.clone(), state));
    }
    Ok(all)
}

pub(crate) fn inspect(
    workspace: &Path,
    saved: Vec<(PathBuf, PathState)>,
) -> io::Result<Vec<ReplacedPath>> {
    let root = open_folder(workspace)?;
    let one = |(path, before): (PathBuf, PathState)| {
        let after = state(&root, &path)?;
        Ok(ReplacedPath { path, before, after })
    };
    saved.into_iter().map(one).collect()
}

/// Returns what exists at a path.
pub(super) fn state(root: &OwnedFd, path: &Path) -> io::Result<PathState> {
    let stat = match stat_below(root, path) {
        Ok(stat) => stat,
        // A symlink in place of a parent folder counts as nothing: what was below the folder is gone.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                || error.raw_os_error() == Some(libc::ELOOP) =>
        {
            return Ok(PathState::Nothing);
        }
        Err(error) => return Err(error),
    };
    let mode = stat.st_mode & 0o777;
    let owner = Some(Owner { user: stat.st_uid, group: stat.st_gid });
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => PathState::Folder { mode, owner },
        FileType::Symlink => PathState::Link { target: link_below(root, path)?, owner },
        FileType::RegularFile if stat.st_size <= MAX_FILE => {
            let mut bytes = Vec::new();
            open_file(root, path)?.read_to_end(&mut bytes)?;
            PathState::File { mode, sha256: Digest::of(&bytes).to_string(), owner }
        }
        _ => PathState::Other,
    })
}
