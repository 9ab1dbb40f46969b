//! Calls shared by all Unix systems: folders are descriptors, paths are opened one component at a time, and no symlink
//! is followed.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path};
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode, RenameFlags};
use rustix::io::Errno;
use skill::RelPath;

use super::{Inode, Stat, Type};
use crate::Stamp;

/// An open folder, and whether it was listed before. It stays the same folder even if its path is renamed or replaced.
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
/// `NONBLOCK` so that opening a FIFO does not block; `NOCTTY` so that a terminal does not become the controlling one.
pub(super) const FILE: OFlags = READ.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Folder {
    /// Opens a folder that the caller trusts; follows symlinks.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, FOLDER, Mode::empty())?, AtomicBool::new(false)))
    }

    /// Returns the properties of the entry at `path`, following symlinks.
    pub(crate) fn stat_following(&self, path: &str) -> io::Result<Stat> {
        Ok(stat_from(&rustix::fs::statat(&self.0, path, AtFlags::empty())?))
    }

    /// Opens a folder in this one; fails with `ELOOP` if it is a symlink.
    pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
        match rustix::fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(folder) => Ok(Self(folder, AtomicBool::new(false))),
            // For a symlink the kernel reports `ENOTDIR` here.
            Err(Errno::NOTDIR) if self.stat(name).is_ok_and(|stat| stat.kind == Type::Link) => {
                Err(Errno::LOOP.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns device and inode, which identify the folder on this machine.
    pub(crate) fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        let stat = rustix::fs::fstat(&self.0)?;
        Ok(Some((stat.st_dev as u64, stat.st_ino)))
    }

    /// Returns the properties of the entry `name`, without following a symlink.
    pub(crate) fn stat(&self, name: &str) -> io::Result<Stat> {
        Ok(stat_from(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Returns the target of the symlink `name`, as bytes.
    pub(crate) fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }
}

#[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
fn stat_from(stat: &rustix::fs::Stat) -> Stat {
    let kind = FileType::from_raw_mode(stat.st_mode as RawMode);
    Stat {
        kind: type_of(kind).unwrap_or(Type::Other("an entry of an unknown type")),
        size: stat.st_size.cast_unsigned(),
        executable: stat.st_mode & 0o100 != 0,
        inode: Some(Inode {
            device: stat.st_dev as u64,
            number: stat.st_ino,
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

/// Returns true if the current user owns the file.
pub(crate) fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Opens a folder at its real path, one component at a time; fails if any component is a symlink.
pub(crate) fn open_real_by_component(path: &Path) -> io::Result<Folder> {
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

/// Opens a file, one component at a time; fails if any component is a symlink.
pub(super) fn open_no_follow(folder: &Folder, path: &RelPath) -> io::Result<File> {
    let mut parts: Vec<&str> = path.parts().collect();
    let last = parts.pop().unwrap_or_default();
    let mut current: Option<Folder> = None;
    for part in parts {
        current = Some(current.as_ref().unwrap_or(folder).folder(part)?);
    }
    let parent = current.as_ref().unwrap_or(folder);
    Ok(File::from(rustix::fs::openat(&parent.0, last, FILE | OFlags::NOFOLLOW, Mode::empty())?))
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

/// Atomically exchanges two paths.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Renames `from` to `to`; fails if `to` exists.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// Renames `from` to `to`, replacing a file there.
#[expect(clippy::disallowed_methods, reason = "the edge to the file system")]
pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Removes a file.
#[expect(clippy::disallowed_methods, reason = "the edge to the file system")]
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Removes a folder with everything in it.
#[expect(clippy::disallowed_methods, reason = "the edge to the file system")]
pub(crate) fn remove_dir_all(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}

/// Returns true if a process with this ID is alive.
pub(crate) fn is_process_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    !matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH))
}

/// Returns true if `path` still refers to the open `file`.
pub(crate) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let open = rustix::fs::fstat(file)?;
    match rustix::fs::stat(path) {
        Ok(named) => Ok((named.st_dev, named.st_ino) == (open.st_dev, open.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if a symlink was refused: because it leads out, forms a loop, or no symlink is allowed.
pub(crate) fn is_refused_link(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::XDEV | Errno::LOOP))
}

/// Returns true if the entry cannot be opened as a file: a socket, or a device without a driver.
pub(crate) fn is_not_openable(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NXIO | Errno::NODEV))
}

/// Returns true if both paths are on the same file system.
pub(crate) fn is_same_device(one: &Path, other: &Path) -> io::Result<bool> {
    Ok(rustix::fs::stat(one)?.st_dev == rustix::fs::stat(other)?.st_dev)
}

/// Returns true if the owner may execute a file.
pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o100 != 0
}

/// Removes the file of a lock while the lock is still held, so that no process takes the lock on a file without a path.
pub(crate) fn remove_lock(path: &Path) {
    // If this fails, the kernel still releases the lock, and the body identifies it as ours.
    let _ = rustix::fs::unlink(path);
}
