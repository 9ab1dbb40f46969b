//! Keeps what a commit replaces, and says what is at its paths. Every path is opened below the workspace, through no link.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use skill::Digest;

use super::layer::{link_below, open_file, open_folder, stat_below};
pub(crate) use super::take_back::{check, take_back};
use crate::layer::Change;
use crate::undo::{KeepError, Owner, Replaced, State, kept_name};

/// More than any run could have committed: such a file is nobody's but the user's, and is not read.
const MAX_FILE: i64 = 4 << 30;

pub(crate) fn keep(
    workspace: &Path,
    changes: &[Change],
    folder: &Path,
    most: u64,
) -> Result<Vec<(PathBuf, State)>, KeepError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| KeepError::Io { path, source }
    };
    let host = open_folder(workspace).map_err(failed(workspace))?;
    let paths: BTreeSet<&PathBuf> = changes.iter().map(|change| &change.path).collect();
    let mut all = Vec::new();
    let mut left = most;
    for (number, path) in paths.into_iter().enumerate() {
        let is_too_large = |stat: &rustix::fs::Stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                && u64::try_from(stat.st_size).is_ok_and(|size| size > left)
        };
        if stat_below(&host, path).is_ok_and(|stat| is_too_large(&stat)) {
            return Err(KeepError::TooLarge { most });
        }
        let state = state(&host, path).map_err(failed(path))?;
        match state {
            State::Other => return Err(KeepError::Special { path: path.clone() }),
            State::File { .. } => {
                let kept = folder.join(kept_name(number));
                let copied = open_file(&host, path).and_then(|from| {
                    let mut to = File::create_new(kept)?;
                    io::copy(&mut from.take(left.saturating_add(1)), &mut to)
                });
                let copied = copied.map_err(failed(path))?;
                left = left.checked_sub(copied).ok_or(KeepError::TooLarge { most })?;
            }
            State::Nothing | State::Folder { .. } | State::Link { .. } => {}
        }
        all.push((path.clone(), state));
    }
    Ok(all)
}

pub(crate) fn look(workspace: &Path, kept: Vec<(PathBuf, State)>) -> io::Result<Vec<Replaced>> {
    let host = open_folder(workspace)?;
    let one = |(path, before): (PathBuf, State)| {
        let after = state(&host, &path)?;
        Ok(Replaced { path, before, after })
    };
    kept.into_iter().map(one).collect()
}

/// Returns what is at a path.
pub(super) fn state(host: &OwnedFd, path: &Path) -> io::Result<State> {
    let stat = match stat_below(host, path) {
        Ok(stat) => stat,
        // A link on the way is no folder either: what was below it is not there.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                || error.raw_os_error() == Some(libc::ELOOP) =>
        {
            return Ok(State::Nothing);
        }
        Err(error) => return Err(error),
    };
    let mode = stat.st_mode & 0o777;
    let owner = Some(Owner { user: stat.st_uid, group: stat.st_gid });
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => State::Folder { mode, owner },
        FileType::Symlink => State::Link { target: link_below(host, path)?, owner },
        FileType::RegularFile if stat.st_size <= MAX_FILE => {
            let mut bytes = Vec::new();
            open_file(host, path)?.read_to_end(&mut bytes)?;
            State::File { mode, sha256: Digest::of(&bytes).to_string(), owner }
        }
        _ => State::Other,
    })
}
