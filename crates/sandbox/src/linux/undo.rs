//! Keeps what a commit replaces, and puts it back. Every path is opened below the workspace, through no link.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, mkdirat, openat, renameat, symlinkat, unlinkat,
};
use skill::Digest;

use super::layer::{folder_of, link_below, open_below, open_file, open_folder, stat_below};
use crate::layer::Change;
use crate::undo::{Replaced, State, UndoError, kept_name};

pub(crate) fn keep(
    workspace: &Path,
    changes: &[Change],
    folder: &Path,
    most: u64,
) -> io::Result<Option<Vec<(PathBuf, State)>>> {
    let host = open_folder(workspace)?;
    let paths: BTreeSet<&PathBuf> = changes.iter().map(|change| &change.path).collect();
    let mut all = Vec::new();
    let mut left = most;
    for (number, path) in paths.into_iter().enumerate() {
        let state = state(&host, path)?;
        if matches!(state, State::File { .. }) {
            let mut from = open_file(&host, path)?.take(left.saturating_add(1));
            let mut to = File::create_new(folder.join(kept_name(number)))?;
            let copied = io::copy(&mut from, &mut to)?;
            if copied > left {
                return Ok(None);
            }
            left -= copied;
        }
        all.push((path.clone(), state));
    }
    Ok(Some(all))
}

pub(crate) fn look(workspace: &Path, kept: Vec<(PathBuf, State)>) -> io::Result<Vec<Replaced>> {
    let host = open_folder(workspace)?;
    let one = |(path, before): (PathBuf, State)| {
        let after = state(&host, &path)?;
        Ok(Replaced { path, before, after })
    };
    kept.into_iter().map(one).collect()
}

pub(crate) fn check(workspace: &Path, replaced: &[Replaced]) -> Result<(), UndoError> {
    let host = open_folder(workspace).map_err(failed(workspace))?;
    for one in replaced {
        let now = state(&host, &one.path).map_err(failed(&one.path))?;
        if now != one.after && now != one.before {
            return Err(UndoError::Changed { path: one.path.clone() });
        }
    }
    Ok(())
}

pub(crate) fn take_back(
    workspace: &Path,
    folder: &Path,
    replaced: &[Replaced],
) -> Result<Vec<PathBuf>, UndoError> {
    check(workspace, replaced)?;
    let host = open_folder(workspace).map_err(failed(workspace))?;
    let mut stay = Vec::new();
    // What came goes, the deepest first; then what went comes back, from above.
    for one in replaced.iter().rev() {
        let now = state(&host, &one.path).map_err(failed(&one.path))?;
        let is_other_kind = std::mem::discriminant(&now) != std::mem::discriminant(&one.before);
        if now == State::Nothing || !is_other_kind {
            continue;
        }
        match remove(&host, &one.path, &now) {
            Err(error)
                if error.kind() == io::ErrorKind::DirectoryNotEmpty
                    && one.before == State::Nothing =>
            {
                stay.push(one.path.clone());
            }
            done => done.map_err(failed(&one.path))?,
        }
    }
    for (number, one) in replaced.iter().enumerate() {
        let now = state(&host, &one.path).map_err(failed(&one.path))?;
        if now != one.before && one.before != State::Nothing {
            put_back(&host, one, &folder.join(kept_name(number))).map_err(failed(&one.path))?;
        }
    }
    Ok(stay)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> UndoError + '_ {
    |source| UndoError::Io { path: path.to_owned(), source }
}

/// Returns what is at a path.
fn state(host: &OwnedFd, path: &Path) -> io::Result<State> {
    let stat = match stat_below(host, path) {
        Ok(stat) => stat,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(State::Nothing);
        }
        Err(error) => return Err(error),
    };
    let mode = stat.st_mode & 0o777;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => State::Folder { mode },
        FileType::Symlink => State::Link { target: link_below(host, path)? },
        FileType::RegularFile => {
            let mut bytes = Vec::new();
            open_file(host, path)?.read_to_end(&mut bytes)?;
            State::File { mode, sha256: Digest::of(&bytes).to_string() }
        }
        _ => State::Other,
    })
}

fn remove(host: &OwnedFd, path: &Path, now: &State) -> io::Result<()> {
    let (folder, name) = folder_of(host, path)?;
    let flags = match now {
        State::Folder { .. } => AtFlags::REMOVEDIR,
        State::Nothing | State::File { .. } | State::Link { .. } | State::Other => AtFlags::empty(),
    };
    Ok(unlinkat(&folder, name, flags)?)
}

fn put_back(host: &OwnedFd, one: &Replaced, kept: &Path) -> io::Result<()> {
    let (folder, name) = folder_of(host, &one.path)?;
    match &one.before {
        State::Nothing | State::Other => Ok(()),
        State::Folder { mode } => {
            match mkdirat(&folder, name, Mode::from_raw_mode(*mode)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(fchmod(open_below(host, &one.path, OFlags::DIRECTORY)?, Mode::from_raw_mode(*mode))?)
        }
        State::Link { target } => {
            match unlinkat(&folder, name, AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(symlinkat(target, &folder, name)?)
        }
        State::File { mode, .. } => {
            let bytes = std::fs::read(kept)?;
            let mut staged = name.to_owned();
            staged.push(format!(".openskills-{}.tmp", std::process::id()));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut file = File::from(openat(&folder, &staged, flags, Mode::from_raw_mode(0o600))?);
            let written = file
                .write_all(&bytes)
                .and_then(|()| Ok(fchmod(&file, Mode::from_raw_mode(*mode))?))
                .and_then(|()| Ok(renameat(&folder, &staged, &folder, name)?));
            if written.is_err() {
                let _ = unlinkat(&folder, &staged, AtFlags::empty());
            }
            written
        }
    }
}
