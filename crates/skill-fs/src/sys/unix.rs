//! What all Unix systems share: folders as descriptors, one name at a time, no link followed.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path};
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode, RenameFlags};
use rustix::io::Errno;
use skill::RelPath;

use super::{Stat, Trace, Type};
use crate::Stamp;

/// An open folder, and whether it was listed before. What is reached through it stays the same folder, whatever its
/// path becomes.
#[derive(Debug)]
pub(crate) struct Folder(
    pub(super) OwnedFd,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux lists by descriptor")
    )]
    pub(super) AtomicBool,
);

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
pub(super) const FOLDER: OFlags = READ.union(OFlags::DIRECTORY);
/// `NONBLOCK` so that opening a FIFO returns; `NOCTTY` so that a terminal stays nobody's.
pub(super) const FILE: OFlags = READ.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Folder {
    /// Opens a folder the caller was told to use; links on the way are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, FOLDER, Mode::empty())?, AtomicBool::new(false)))
    }

    /// Describes what is at `path`, every link followed.
    pub(crate) fn stat_following(&self, path: &str) -> io::Result<Stat> {
        Ok(described(&rustix::fs::statat(&self.0, path, AtFlags::empty())?))
    }

    /// Opens a folder inside this one; a link is refused as such.
    pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
        match rustix::fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(folder) => Ok(Self(folder, AtomicBool::new(false))),
            // The kernel calls a link here "not a folder".
            Err(Errno::NOTDIR) if self.stat(name).is_ok_and(|stat| stat.kind == Type::Link) => {
                Err(Errno::LOOP.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what tells this folder from every other on the machine.
    pub(crate) fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        let stat = rustix::fs::fstat(&self.0)?;
        Ok(Some((stat.st_dev as u64, stat.st_ino)))
    }

    /// Describes the entry `name`; a link is described, not followed.
    pub(crate) fn stat(&self, name: &str) -> io::Result<Stat> {
        Ok(described(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Returns where the link `name` points, as bytes.
    pub(crate) fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }
}

#[expect(clippy::unnecessary_cast, reason = "other systems have other types")]
fn described(stat: &rustix::fs::Stat) -> Stat {
    let kind = FileType::from_raw_mode(stat.st_mode as RawMode);
    Stat {
        kind: type_of(kind).unwrap_or(Type::Other("something unknown")),
        size: stat.st_size.cast_unsigned(),
        executable: stat.st_mode & 0o100 != 0,
        trace: Some(Trace {
            device: stat.st_dev as u64,
            inode: stat.st_ino,
            mode: stat.st_mode as u32,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }),
    }
}

/// Returns the stamp of an open file.
pub(crate) fn stamp_of(metadata: &Metadata) -> Option<Stamp> {
    Some(Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// Returns true if a file is this user's own.
pub(crate) fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Opens a folder at its real path, one name at a time: a link anywhere on the way is refused.
pub(crate) fn open_real_by_names(path: &Path) -> io::Result<Folder> {
    let mut current = Folder::open(Path::new("/"))?;
    for part in path.components() {
        match part {
            Component::RootDir => {}
            Component::Normal(name) => {
                let name = name.to_str().ok_or(io::ErrorKind::InvalidInput)?;
                current = current.folder(name)?;
            }
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => {
                return Err(io::ErrorKind::InvalidInput.into());
            }
        }
    }
    Ok(current)
}

/// Opens a file one name at a time and refuses every link on the way.
pub(super) fn open_following_nothing(folder: &Folder, path: &RelPath) -> io::Result<File> {
    let mut parts: Vec<&str> = path.parts().collect();
    let last = parts.pop().unwrap_or_default();
    let mut current: Option<Folder> = None;
    for part in parts {
        current = Some(current.as_ref().unwrap_or(folder).folder(part)?);
    }
    let holder = current.as_ref().unwrap_or(folder);
    Ok(File::from(rustix::fs::openat(&holder.0, last, FILE | OFlags::NOFOLLOW, Mode::empty())?))
}

pub(super) fn type_of(kind: FileType) -> Option<Type> {
    Some(match kind {
        FileType::RegularFile => Type::File,
        FileType::Directory => Type::Folder,
        FileType::Symlink => Type::Link,
        FileType::Fifo => Type::Other("a FIFO"),
        FileType::Socket => Type::Other("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Type::Other("a device"),
        FileType::Unknown => return None,
    })
}

/// Exchanges two paths in one step.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Renames `from` to `to`, unless there is something.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// Returns true if a process with that number lives.
pub(crate) fn is_process_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    !matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH))
}

/// Returns true if `path` is still the open `file`.
pub(crate) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let open = rustix::fs::fstat(file)?;
    match rustix::fs::stat(path) {
        Ok(named) => Ok((named.st_dev, named.st_ino) == (open.st_dev, open.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if a link was refused because it leads out, in a circle, or is a link at all.
pub(crate) fn is_refused_link(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::XDEV | Errno::LOOP))
}

/// Returns true if there is something that cannot be opened as a file: a socket, a dead device.
pub(crate) fn is_not_openable(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NXIO | Errno::NODEV))
}

/// Returns true if both paths are on one file system.
pub(crate) fn is_same_device(one: &Path, other: &Path) -> io::Result<bool> {
    Ok(rustix::fs::stat(one)?.st_dev == rustix::fs::stat(other)?.st_dev)
}

/// Returns true if the owner may execute a file.
pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o100 != 0
}

/// Removes the file of a lock that is still held; nobody can then hold a lock that has lost its name.
pub(crate) fn remove_lock(path: &Path) {
    // If it cannot be removed, the kernel still lets go of it and the body says that it is ours.
    let _ = rustix::fs::unlink(path);
}
