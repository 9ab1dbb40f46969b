//! Systems without descriptors for folders (Windows): works with paths and refuses every symlink it finds. Not tested.
//!
//! A path can be replaced between the check and the open; the documentation says so.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use skill::RelPath;

use super::{Stat, Type};
use crate::Stamp;

/// A folder, by its path.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self(path.to_owned()))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(crate) fn stat_following(&self, path: &str) -> io::Result<Stat> {
        let metadata = fs::metadata(self.0.join(path))?;
        let kind = if metadata.is_file() { Type::File } else { Type::Folder };
        Ok(Stat { kind, size: metadata.len(), executable: false, inode: None })
    }

    pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            Ok(Self(path))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// There is no cheap way to identify a folder here.
    pub(crate) fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        Ok(None)
    }

    pub(crate) fn stat(&self, name: &str) -> io::Result<Stat> {
        let metadata = fs::symlink_metadata(self.0.join(name))?;
        let kind = match metadata.file_type() {
            kind if kind.is_symlink() => Type::Link,
            kind if kind.is_dir() => Type::Folder,
            kind if kind.is_file() => Type::File,
            _ => Type::Other("an entry of an unknown type"),
        };
        Ok(Stat { kind, size: metadata.len(), executable: false, inode: None })
    }

    pub(crate) fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(fs::read_link(self.0.join(name))?.into_os_string().into_encoded_bytes())
    }
}

/// Opens a folder; only the last component is checked here.
pub(crate) fn open_real(path: &Path) -> io::Result<Folder> {
    match path.parent().zip(path.file_name().and_then(|name| name.to_str())) {
        Some((parent, name)) => Folder::open(parent)?.folder(name),
        None => Folder::open(path),
    }
}

/// Passes each name in `folder` to `take`, in no particular order, until `take` fails.
pub(crate) fn each_entry<E: From<io::Error>>(
    folder: &Folder,
    mut take: impl FnMut(&[u8], Option<Type>) -> Result<(), E>,
) -> Result<(), E> {
    for entry in fs::read_dir(&folder.0)? {
        take(entry?.file_name().as_encoded_bytes(), None)?;
    }
    Ok(())
}

/// Opens a file below `folder`; fails if any component is a symlink.
pub(crate) fn open_beneath(folder: &Folder, path: &RelPath) -> io::Result<File> {
    let mut full = folder.0.clone();
    for part in path.parts() {
        full.push(part);
        if fs::symlink_metadata(&full)?.is_symlink() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
    }
    File::open(full)
}

/// There is no reliable way to distinguish two versions of a file here.
pub(crate) fn stamp_of(_: &fs::Metadata) -> Option<Stamp> {
    None
}

/// There is no cheap way to find the owner of a file here.
pub(crate) fn is_own(_: &fs::Metadata) -> bool {
    true
}

/// Two paths cannot be exchanged atomically here.
pub(crate) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames `from` to `to`; fails if `to` exists.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if fs::exists(to)? { Err(io::ErrorKind::AlreadyExists.into()) } else { fs::rename(from, to) }
}

/// There is no way to check whether a process is alive here, so it counts as alive.
pub(crate) fn is_process_alive(_: u32) -> bool {
    true
}

/// Lock files are never removed here, so the path still refers to the open file.
pub(crate) fn is_same_file(_: &File, path: &Path) -> io::Result<bool> {
    fs::exists(path)
}

/// Keeps the lock file: an open file cannot be removed and created again atomically here.
pub(crate) fn remove_lock(_: &Path) {}

/// There is no cheap way to compare file systems here; a rename across them fails anyway.
pub(crate) fn is_same_device(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Files have no executable bit here.
pub(crate) fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// Opens a file below `folder`; follows no symlink.
pub(crate) fn open_plain(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_beneath(folder, path)
}

/// Returns true if a symlink was refused.
pub(crate) fn is_refused_link(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

/// Every file can be opened here.
pub(crate) fn is_not_openable(_: &io::Error) -> bool {
    false
}
