//! Creates the places that mounts cover. They may be inside folders that earlier programs could write, so symlinks are
//! never followed: before the root is changed, an absolute one would lead to the machine's own files.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};

use super::grants::PathKind;

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const ANY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the place at an absolute path below the new root. Creates it, and replaces what is there and is of another
/// kind.
pub(super) fn create(root: &OwnedFd, path: &Path, kind: &PathKind) -> io::Result<OwnedFd> {
    let mut current = openat(root, ".", FOLDER, Mode::empty())?;
    let mut names = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(Ok(name)),
            Component::RootDir | Component::CurDir => None,
            Component::ParentDir | Component::Prefix(_) => Some(Err(io::ErrorKind::InvalidInput)),
        })
        .peekable();
    while let Some(name) = names.next() {
        let name = name?;
        let is_file = names.peek().is_none() && *kind != PathKind::Folder;
        current = if is_file { file(&current, name)? } else { folder(&current, name)? };
    }
    Ok(current)
}

fn folder(parent: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<OwnedFd> {
    match openat(parent, name, FOLDER, Mode::empty()) {
        Ok(folder) => return Ok(folder),
        Err(rustix::io::Errno::NOENT) => {}
        Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
            unlinkat(parent, name, AtFlags::empty())?;
        }
        Err(error) => return Err(error.into()),
    }
    mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
    Ok(openat(parent, name, FOLDER, Mode::empty())?)
}

fn file(parent: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<OwnedFd> {
    let create =
        OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(parent, name, create, Mode::from_raw_mode(0o644)) {
        Ok(_) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let opened = openat(parent, name, ANY, Mode::empty())?;
    let stat = rustix::fs::fstat(&opened)?;
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile | rustix::fs::FileType::CharacterDevice => Ok(opened),
        rustix::fs::FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
        _ => {
            unlinkat(parent, name, AtFlags::empty())?;
            drop(openat(parent, name, create, Mode::from_raw_mode(0o644))?);
            Ok(openat(parent, name, ANY, Mode::empty())?)
        }
    }
}
