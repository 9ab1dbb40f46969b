//! Windows: folders are paths. A file is opened while every folder above it is held open, so that none of them can be
//! renamed or replaced by a link between the check and the open.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use skill::RelPath;

use super::{Stat, Type};
use crate::Stamp;

// Values from the Windows API.
const FILE_READ_ATTRIBUTES: u32 = 0x80;
const GENERIC_READ: u32 = 0x8000_0000;
const FILE_SHARE_READ: u32 = 1;
const FILE_SHARE_WRITE: u32 = 2;
const FILE_SHARE_DELETE: u32 = 4;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_ATTRIBUTE_DEVICE: u32 = 0x40;
const ERROR_SHARING_VIOLATION: i32 = 32;

/// How often to try to replace a file that another process, such as a virus scanner, keeps open for a moment.
const MAX_TRIES: u32 = 20;
/// How long to wait between attempts.
const RETRY_INTERVAL: std::time::Duration = std::time::Duration::from_millis(10);

/// A folder, by its path.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Opens a folder that the caller trusts; follows links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self(path.to_owned()))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// Returns the properties of the entry at `path`, following links.
    pub(crate) fn stat_following(&self, path: &str) -> io::Result<Stat> {
        Ok(stat_of(&fs::metadata(self.0.join(path))?))
    }

    /// Opens a folder in this one; fails if it is a link.
    pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
        let path = self.0.join(name);
        match stat_of(&fs::symlink_metadata(&path)?).kind {
            Type::Folder => Ok(Self(path)),
            Type::Link => Err(io::ErrorKind::CrossesDevices.into()),
            Type::File | Type::Other(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Returns the serial number of the volume and the number of the folder on it.
    pub(crate) fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        identity_of(&open_entry(&self.0, Access::Attributes, Sharing::All)?).map(Some)
    }

    /// Returns the properties of the entry `name`, without following a link.
    pub(crate) fn stat(&self, name: &str) -> io::Result<Stat> {
        Ok(stat_of(&fs::symlink_metadata(self.0.join(name))?))
    }

    /// Returns the target of the link `name`, as bytes.
    pub(crate) fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        let target = fs::read_link(self.0.join(name))?;
        // Skills and digests use slashes on every system.
        Ok(target.to_string_lossy().replace('\\', "/").into_bytes())
    }
}

/// What an entry is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Attributes,
    Read,
}

/// What other processes may do with an entry while it is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    All,
    /// The entry cannot be renamed or deleted.
    Pinned,
}

/// Opens a file or a folder itself, even if it is a link.
fn open_entry(path: &Path, access: Access, sharing: Sharing) -> io::Result<File> {
    let shared = match sharing {
        Sharing::All => FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
        Sharing::Pinned => FILE_SHARE_READ | FILE_SHARE_WRITE,
    };
    OpenOptions::new()
        .access_mode(match access {
            Access::Attributes => FILE_READ_ATTRIBUTES,
            Access::Read => GENERIC_READ,
        })
        .share_mode(shared)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

fn stat_of(metadata: &Metadata) -> Stat {
    let kind = match metadata.file_type() {
        // Symlinks and junctions. Other reparse points, such as files in cloud storage, are files and folders.
        kind if kind.is_symlink() => Type::Link,
        _ if metadata.file_attributes() & FILE_ATTRIBUTE_DEVICE != 0 => Type::Other("a device"),
        kind if kind.is_dir() => Type::Folder,
        kind if kind.is_file() => Type::File,
        _ => Type::Other("an entry of an unknown type"),
    };
    Stat { kind, size: metadata.len(), executable: false, inode: None }
}

fn identity_of(file: &File) -> io::Result<(u64, u64)> {
    let information = winapi_util::file::information(file)?;
    Ok((information.volume_serial_number(), information.file_index()))
}

/// Opens a folder at its real path; fails if any component of the path is a link.
pub(crate) fn open_real(path: &Path) -> io::Result<Folder> {
    for part in path.ancestors().filter(|part| part.file_name().is_some()) {
        if fs::symlink_metadata(part)?.is_symlink() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
    }
    Folder::open(path)
}

/// Passes each name in `folder` to `take`, in no particular order, until `take` fails.
pub(crate) fn each_entry<E: From<io::Error>>(
    folder: &Folder,
    mut take: impl FnMut(&[u8], Option<Type>) -> Result<(), E>,
) -> Result<(), E> {
    for entry in fs::read_dir(&folder.0)? {
        let entry = entry?;
        let kind = entry.metadata().ok().map(|metadata| stat_of(&metadata).kind);
        take(entry.file_name().as_encoded_bytes(), kind)?;
    }
    Ok(())
}

/// Opens a file below `folder`; fails if any component is a link.
pub(crate) fn open_beneath(folder: &Folder, path: &RelPath) -> io::Result<File> {
    let mut parts: Vec<&str> = path.parts().collect();
    let last = parts.pop().unwrap_or_default();
    let mut full = folder.0.clone();
    let mut held = Vec::with_capacity(parts.len());
    for part in parts {
        full.push(checked_name(part)?);
        let opened = open_entry(&full, Access::Attributes, Sharing::Pinned)?;
        match stat_of(&opened.metadata()?).kind {
            Type::Folder => held.push(opened),
            Type::Link => return Err(io::ErrorKind::CrossesDevices.into()),
            Type::File | Type::Other(_) => return Err(io::ErrorKind::NotADirectory.into()),
        }
    }
    full.push(checked_name(last)?);
    let file = open_entry(&full, Access::Read, Sharing::All)?;
    match stat_of(&file.metadata()?).kind {
        Type::Link => Err(io::ErrorKind::CrossesDevices.into()),
        Type::File | Type::Folder | Type::Other(_) => Ok(file),
    }
}

/// Refuses names that Windows does not take literally: streams (`file:stream`), other separators, and names that lose
/// a dot or a space at their end. [`skill::is_device_name`] covers `NUL`, `COM1` and their like.
fn checked_name(name: &str) -> io::Result<&str> {
    let is_literal = !name.contains([':', '\\', '/', '<', '>', '"', '|', '?', '*'])
        && !name.ends_with(['.', ' '])
        && !skill::is_device_name(name);
    if is_literal {
        Ok(name)
    } else {
        let message = format!("Windows cannot use the file name `{name}`");
        Err(io::Error::new(io::ErrorKind::InvalidFilename, message))
    }
}

/// Opens a file below `folder`; follows no link.
pub(crate) fn open_plain(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_beneath(folder, path)
}

/// The change time of a file can be set by programs here, so no stamp is reliable.
pub(crate) fn stamp_of(_: &Metadata) -> Option<Stamp> {
    None
}

/// The access control list of the user's folders decides who can write to them, so every file there counts as the
/// user's own.
pub(crate) fn is_own(_: &Metadata) -> bool {
    true
}

/// Windows cannot exchange two paths atomically.
pub(crate) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames `from` to `to`; fails if `to` exists.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    replace(from, to)
}

/// Renames `from` to `to`, replacing a file there, even a read-only one. Waits briefly if another process has one of
/// them open.
pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        let error = match fs::rename(from, to) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
        if is_denied && make_writable(to)? {
            continue;
        }
        let is_busy = is_denied || error.raw_os_error() == Some(ERROR_SHARING_VIOLATION);
        tries += 1;
        if !is_busy || tries == MAX_TRIES {
            return Err(error);
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// Removes a file, even a read-only one.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && make_writable(path)? => {
            fs::remove_file(path)
        }
        done => done,
    }
}

/// Removes a folder with everything in it, even read-only files.
pub(crate) fn remove_dir_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_tree_writable(path)?;
            fs::remove_dir_all(path)
        }
        done => done,
    }
}

fn make_tree_writable(path: &Path) -> io::Result<()> {
    match stat_of(&fs::symlink_metadata(path)?).kind {
        Type::Folder => {
            make_writable(path)?;
            for entry in fs::read_dir(path)? {
                make_tree_writable(&entry?.path())?;
            }
        }
        Type::File | Type::Other(_) => {
            make_writable(path)?;
        }
        Type::Link => {}
    }
    Ok(())
}

/// Clears the read-only attribute of an entry. Returns false if it was not set, or there is no such entry.
fn make_writable(path: &Path) -> io::Result<bool> {
    let mut permissions = match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_symlink() => metadata.permissions(),
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if !permissions.readonly() {
        return Ok(false);
    }
    #[expect(clippy::permissions_set_readonly_false, reason = "on Windows this is one attribute")]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions)?;
    Ok(true)
}

/// Without `unsafe` there is no way to check whether a process is alive, so it counts as alive.
pub(crate) fn is_process_alive(_: u32) -> bool {
    true
}

/// Returns true if `path` still refers to the open `file`.
pub(crate) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    match open_entry(path, Access::Attributes, Sharing::All) {
        Ok(named) => Ok(identity_of(&named)? == identity_of(file)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Keeps the lock file: an open file cannot be removed and created again atomically here.
pub(crate) fn remove_lock(_: &Path) {}

/// Returns true if both paths are on the same volume.
pub(crate) fn is_same_device(one: &Path, other: &Path) -> io::Result<bool> {
    let volume = |path: &Path| {
        let opened = open_entry(path, Access::Attributes, Sharing::All)?;
        Ok::<_, io::Error>(identity_of(&opened)?.0)
    };
    Ok(volume(one)? == volume(other)?)
}

/// Files have no executable bit here.
pub(crate) fn is_executable(_: &Metadata) -> bool {
    false
}

/// Returns true if a link was refused.
pub(crate) fn is_refused_link(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

/// Every file can be opened here.
pub(crate) fn is_not_openable(_: &io::Error) -> bool {
    false
}
