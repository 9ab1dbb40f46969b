//! Makes a private copy of a small workspace.
//!
//! With an overlay, renaming an existing folder fails (EXDEV); with a copy it works. The workspace is copied twice: the
//! run gets one copy, and the other one is kept to find out what the run changed, and what something else changed
//! meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, fchmod, fstat, futimens,
    mkdirat, openat, readlinkat, statat, symlinkat,
};

/// The limits of a copy. Larger workspaces get an overlay, which costs nothing to create.
const MAX_ENTRIES: usize = 256;
const MAX_BYTES: u64 = 4 << 20;
const MAX_DEPTH: usize = 16;

/// What to copy of one folder.
pub(super) struct CopyPlan {
    stat: Stat,
    entries: Vec<(OsString, PlannedEntry)>,
}

enum PlannedEntry {
    Folder(CopyPlan),
    File(Stat),
    Link(OsString),
}

#[derive(Default)]
struct Totals {
    entries: usize,
    bytes: u64,
}

/// Plans the copy of a workspace; `None` if it is not small, or contains something that cannot be copied.
pub(super) fn plan(folder: &OwnedFd) -> Option<CopyPlan> {
    plan_folder(folder, 0, &mut Totals::default())
}

fn plan_folder(folder: &OwnedFd, depth: usize, totals: &mut Totals) -> Option<CopyPlan> {
    let stat = fstat(folder).ok()?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder).ok()? {
        let entry = entry.ok()?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        totals.entries += 1;
        let planned = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if depth < MAX_DEPTH => {
                let open = openat(folder, name, folder_flags(), Mode::empty()).ok()?;
                PlannedEntry::Folder(plan_folder(&open, depth + 1, totals)?)
            }
            FileType::RegularFile => {
                totals.bytes = totals.bytes.saturating_add(u64::try_from(stat.st_size).ok()?);
                PlannedEntry::File(stat)
            }
            FileType::Symlink => {
                let target = readlinkat(folder, name, Vec::new()).ok()?;
                PlannedEntry::Link(OsStr::from_bytes(target.to_bytes()).to_owned())
            }
            _ => return None,
        };
        if totals.entries > MAX_ENTRIES || totals.bytes > MAX_BYTES {
            return None;
        }
        entries.push((name.to_owned(), planned));
    }
    Some(CopyPlan { stat, entries })
}

fn folder_flags() -> OFlags {
    OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW
}

/// Copies a workspace to two empty folders.
pub(super) fn copy(plan: &CopyPlan, from: &OwnedFd, to: &[OwnedFd; 2]) -> io::Result<()> {
    for (name, entry) in &plan.entries {
        match entry {
            PlannedEntry::Folder(plan) => {
                let from = openat(from, name, folder_flags(), Mode::empty())?;
                let create = |to: &OwnedFd| -> io::Result<OwnedFd> {
                    mkdirat(to, name, Mode::RWXU)?;
                    Ok(openat(to, name, folder_flags(), Mode::empty())?)
                };
                copy(plan, &from, &[create(&to[0])?, create(&to[1])?])?;
            }
            PlannedEntry::File(stat) => copy_file(from, to, name, stat)?,
            PlannedEntry::Link(target) => {
                for to in to {
                    symlinkat(target.as_os_str(), to, name)?;
                }
            }
        }
    }
    for to in to {
        // The owner of the copy must be able to use it.
        copy_metadata(to, &plan.stat, Mode::RWXU)?;
    }
    Ok(())
}

fn copy_file(from: &OwnedFd, to: &[OwnedFd; 2], name: &OsStr, stat: &Stat) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let from = File::from(openat(from, name, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    // The file may grow while it is copied, so limit how much is read.
    io::Read::read_to_end(&mut io::Read::take(&from, MAX_BYTES + 1), &mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("the file grew while it was copied"));
    }
    for to in to {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut to = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        io::Write::write_all(&mut to, &bytes)?;
        copy_metadata(&to.into(), stat, Mode::empty())?;
    }
    Ok(())
}

/// Gives a copy the permissions, plus those in `always`, and the times of the original.
fn copy_metadata(to: &OwnedFd, stat: &Stat, always: Mode) -> io::Result<()> {
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
