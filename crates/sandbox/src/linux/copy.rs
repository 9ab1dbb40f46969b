//! A private copy of a small workspace.
//!
//! A layer cannot rename a folder that lies below it (EXDEV); a copy can. It is made twice: one is given to the run, and one is kept to
//! see what the run changed and whether somebody else changed it meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, fchmod, fstat, futimens,
    mkdirat, openat, readlinkat, statat, symlinkat,
};

/// A workspace with more entries or more bytes is not copied: a layer costs nothing to make.
const MOST_ENTRIES: usize = 256;
const MOST_BYTES: u64 = 4 << 20;
const DEEPEST: usize = 16;

/// What is to be copied of one folder.
pub(super) struct Tree {
    stat: Stat,
    entries: Vec<(OsString, Entry)>,
}

enum Entry {
    Folder(Tree),
    File(Stat),
    Link(OsString),
}

#[derive(Default)]
struct Seen {
    entries: usize,
    bytes: u64,
}

/// Looks at a workspace; `None` if it is not small, or holds what cannot be copied.
pub(super) fn small(folder: &OwnedFd) -> Option<Tree> {
    look(folder, 0, &mut Seen::default())
}

fn look(folder: &OwnedFd, depth: usize, seen: &mut Seen) -> Option<Tree> {
    let stat = fstat(folder).ok()?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder).ok()? {
        let entry = entry.ok()?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        seen.entries += 1;
        let copied = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if depth < DEEPEST => {
                let open = openat(folder, name, folder_flags(), Mode::empty()).ok()?;
                Entry::Folder(look(&open, depth + 1, seen)?)
            }
            FileType::RegularFile => {
                seen.bytes = seen.bytes.saturating_add(u64::try_from(stat.st_size).ok()?);
                Entry::File(stat)
            }
            FileType::Symlink => {
                let target = readlinkat(folder, name, Vec::new()).ok()?;
                Entry::Link(OsStr::from_bytes(target.to_bytes()).to_owned())
            }
            _ => return None,
        };
        if seen.entries > MOST_ENTRIES || seen.bytes > MOST_BYTES {
            return None;
        }
        entries.push((name.to_owned(), copied));
    }
    Some(Tree { stat, entries })
}

fn folder_flags() -> OFlags {
    OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW
}

/// Copies a workspace to empty folders.
pub(super) fn copy(tree: &Tree, from: &OwnedFd, to: &[OwnedFd; 2]) -> io::Result<()> {
    for (name, entry) in &tree.entries {
        match entry {
            Entry::Folder(tree) => {
                let from = openat(from, name, folder_flags(), Mode::empty())?;
                let make = |to: &OwnedFd| -> io::Result<OwnedFd> {
                    mkdirat(to, name, Mode::RWXU)?;
                    Ok(openat(to, name, folder_flags(), Mode::empty())?)
                };
                copy(tree, &from, &[make(&to[0])?, make(&to[1])?])?;
            }
            Entry::File(stat) => copy_file(from, to, name, stat)?,
            Entry::Link(target) => {
                for to in to {
                    symlinkat(target.as_os_str(), to, name)?;
                }
            }
        }
    }
    for to in to {
        // The owner of the copy must be able to work in it.
        finish(to, &tree.stat, Mode::RWXU)?;
    }
    Ok(())
}

fn copy_file(from: &OwnedFd, to: &[OwnedFd; 2], name: &OsStr, stat: &Stat) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let from = File::from(openat(from, name, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    // Somebody may be writing to it; what is copied stays bounded.
    io::Read::read_to_end(&mut io::Read::take(&from, MOST_BYTES + 1), &mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("it grew while it was copied"));
    }
    for to in to {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut to = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        io::Write::write_all(&mut to, &bytes)?;
        finish(&to.into(), stat, Mode::empty())?;
    }
    Ok(())
}

/// Gives a copy the mode and the time of what it was copied from.
fn finish(to: &OwnedFd, stat: &Stat, always: Mode) -> io::Result<()> {
    fchmod(to, Mode::from_raw_mode(stat.st_mode & 0o777) | always)?;
    let time = |seconds: i64, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or(0),
    };
    let times = Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    };
    Ok(futimens(to, &times)?)
}
