//! Carries out what a run changed: all of it, or nothing.
//!
//! Whatever stands against a change is found first. What is new is written beside the workspace's files, in a folder of our own, before anything
//! of theirs is touched; then each change is one rename that can be taken back, looked at once more just before. What goes is put into that
//! folder too, and is removed by name at the end: what nobody knew of stays.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, Stat, accessat, fchmod, fstat, openat};

use super::layer::{
    Layer, changed_at, failed, is_folder, is_same, link_below, names, open_below, open_file,
    open_folder, stat_below,
};
use super::work::{Work, give, new_name, old_name};
use crate::layer::{Change, ChangeKind, CommitError};

impl Layer {
    /// Carries out changes, all of them or none.
    pub(crate) fn commit(
        &self,
        changes: &[Change],
        is_called_off: &dyn Fn() -> bool,
    ) -> Result<(), CommitError> {
        let host = open_folder(&self.workspace).map_err(failed(&self.workspace))?;
        let gone: BTreeSet<&Path> = changes
            .iter()
            .filter(|change| change.kind == ChangeKind::Deleted)
            .map(|change| change.path.as_path())
            .collect();
        for change in changes {
            if let Some(reason) = &change.refused {
                return Err(CommitError::Refused {
                    path: change.path.clone(),
                    reason: reason.clone(),
                });
            }
            let has_room = change.path.ancestors().any(|path| gone.contains(path));
            if change.kind == ChangeKind::Deleted || !has_room {
                self.check(&host, change, &gone)?;
            }
            may_write(&host, &change.path).map_err(failed(&change.path))?;
        }
        self.check_size(changes)?;
        // A name that nobody can have known.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = format!(".openskills-{}-{now}.tmp", std::process::id());
        let mut work = Work::new(host, name).map_err(failed(&self.workspace))?;
        let staged = self.stage_all(&work, changes, is_called_off);
        let done = staged.and_then(|()| self.carry_out(&mut work, changes, &gone));
        match done {
            Ok(()) => finish(work, changes),
            Err(error) => Err(match work.take_back() {
                Ok(()) => error,
                Err((paths, kept)) => {
                    CommitError::Partly { paths, kept, because: error.to_string() }
                }
            }),
        }
    }

    /// Writes what is new into our own folder. Nothing of the workspace is touched yet, so it can still be called off.
    fn stage_all(
        &self,
        work: &Work,
        changes: &[Change],
        is_called_off: &dyn Fn() -> bool,
    ) -> Result<(), CommitError> {
        for (number, change) in changes.iter().enumerate() {
            if is_called_off() {
                return Err(CommitError::CalledOff);
            }
            if matches!(change.kind, ChangeKind::Added | ChangeKind::Modified) {
                self.stage(work, number, change).map_err(failed(&change.path))?;
            }
        }
        if is_called_off() { Err(CommitError::CalledOff) } else { Ok(()) }
    }

    fn carry_out(
        &self,
        work: &mut Work,
        changes: &[Change],
        gone: &BTreeSet<&Path>,
    ) -> Result<(), CommitError> {
        // What goes makes room for what comes. A folder goes whole, with what is in it.
        for (number, change) in changes.iter().enumerate() {
            let is_top = change.path.ancestors().skip(1).all(|path| !gone.contains(path));
            if change.kind == ChangeKind::Deleted && is_top {
                self.check(&work.host, change, gone)?;
                work.put_aside(number, &change.path).map_err(failed(&change.path))?;
            }
        }
        for (number, change) in changes.iter().enumerate() {
            if change.kind == ChangeKind::Modified {
                self.check(&work.host, change, gone)?;
            }
            perform(work, number, change).map_err(failed(&change.path))?;
        }
        // Rights of folders come last, from below: they may close what the steps before had to enter.
        for change in changes.iter().rev() {
            if let Some(mode) = self.mode_of(change).map_err(failed(&change.path))? {
                work.mark(&change.path, mode, None).map_err(failed(&change.path))?;
            }
        }
        Ok(())
    }

    /// Returns the rights that a change gives a folder.
    fn mode_of(&self, change: &Change) -> io::Result<Option<u32>> {
        match change.kind {
            ChangeKind::Mode { to, .. } => Ok(Some(to)),
            ChangeKind::Folder => Ok(Some(stat_below(&self.upper, &change.path)?.st_mode & 0o777)),
            ChangeKind::Added
            | ChangeKind::Modified
            | ChangeKind::Deleted
            | ChangeKind::Link(_) => Ok(None),
        }
    }

    /// Makes sure that nobody else changed what is about to be replaced.
    fn check(
        &self,
        host: &OwnedFd,
        change: &Change,
        gone: &BTreeSet<&Path>,
    ) -> Result<(), CommitError> {
        let conflict = |what: &str| {
            Err(CommitError::Conflict { path: change.path.clone(), what: what.to_owned() })
        };
        let now = match stat_below(host, &change.path) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&change.path)(error)),
        };
        match (&change.kind, now) {
            (ChangeKind::Modified | ChangeKind::Deleted | ChangeKind::Mode { .. }, None) => {
                conflict("it is gone meanwhile")
            }
            (ChangeKind::Mode { from, .. }, Some(now)) => {
                // A copy of a folder may always be entered by its owner.
                let is_it = is_folder(&now) && (now.st_mode | 0o700) & 0o777 == from | 0o700;
                if is_it { Ok(()) } else { conflict("it was changed meanwhile") }
            }
            (ChangeKind::Modified | ChangeKind::Deleted, Some(now)) => {
                let is_changed = self.is_changed(host, &change.path, &now, gone);
                if is_changed.map_err(failed(&change.path))? {
                    conflict("it was changed meanwhile")
                } else {
                    Ok(())
                }
            }
            (ChangeKind::Folder | ChangeKind::Added | ChangeKind::Link(_), Some(_)) => {
                conflict("it was made meanwhile")
            }
            (ChangeKind::Folder | ChangeKind::Added | ChangeKind::Link(_), None) => Ok(()),
        }
    }

    /// Returns true if something is not what the run began with.
    fn is_changed(
        &self,
        host: &OwnedFd,
        path: &Path,
        now: &Stat,
        gone: &BTreeSet<&Path>,
    ) -> io::Result<bool> {
        // A folder that is to go must hold nothing that does not.
        if is_folder(now) {
            let inside = names(&open_below(host, path, OFlags::DIRECTORY)?)?;
            if inside.iter().any(|name| !gone.contains(path.join(name).as_path())) {
                return Ok(true);
            }
        }
        let Some(base) = &self.base else {
            // What is moved keeps its own time; the folder that it is moved into does not.
            let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
            let mut is_moved = false;
            for folder in folders {
                is_moved |= changed_at(&stat_below(host, folder)?) >= self.started;
            }
            return Ok(is_moved || changed_at(now) >= self.started);
        };
        let before = stat_below(base, path)?;
        let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
        Ok(kind(&before) != kind(now)
            || match kind(now) {
                FileType::Symlink => link_below(host, path)? != link_below(base, path)?,
                FileType::Directory => false,
                _ => !is_same(base, host, path, &before, now),
            })
    }

    /// Refuses more than the layer itself could hold: files with nothing in them, and one file under many names, grow on the way.
    pub(crate) fn check_size(&self, changes: &[Change]) -> Result<(), CommitError> {
        let files = changes
            .iter()
            .filter(|change| matches!(change.kind, ChangeKind::Added | ChangeKind::Modified));
        let size = |change: &Change| {
            stat_below(&self.upper, &change.path)
                .map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(u64::MAX))
        };
        let total = files.map(size).fold(0, u64::saturating_add);
        if total > self.most { Err(CommitError::TooLarge { most: self.most }) } else { Ok(()) }
    }

    /// Writes what a file is to hold to the folder of our own.
    fn stage(&self, work: &Work, number: usize, change: &Change) -> io::Result<()> {
        let mut from = open_file(&self.upper, &change.path)?;
        let mode = fstat(&from)?.st_mode & 0o777;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let to = openat(&work.own, new_name(number), flags, Mode::from_raw_mode(0o600))?;
        let mut to = File::from(to);
        io::copy(&mut from, &mut to)?;
        if change.kind == ChangeKind::Modified {
            // Whose it is may not be ours to say; then it is the user's own.
            let before = stat_below(&work.host, &change.path)?;
            let to = to.as_fd().try_clone_to_owned()?;
            give(&to, (before.st_uid, before.st_gid));
        }
        Ok(fchmod(&to, Mode::from_raw_mode(mode))?)
    }
}

/// Makes sure that entries can be made and removed in the folder of a path, or in the nearest one that is there.
pub(super) fn may_write(host: &OwnedFd, path: &Path) -> io::Result<()> {
    for folder in path.ancestors().skip(1) {
        match open_below(host, folder, OFlags::DIRECTORY) {
            Ok(open) => {
                return Ok(accessat(
                    &open,
                    ".",
                    Access::WRITE_OK | Access::EXEC_OK,
                    AtFlags::empty(),
                )?);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Something that is to become a folder stands there still, or a link; whether it may go was asked for itself.
            Err(error)
                if error.kind() == io::ErrorKind::NotADirectory
                    || error.raw_os_error() == Some(libc::ELOOP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn perform(work: &mut Work, number: usize, change: &Change) -> io::Result<()> {
    match &change.kind {
        ChangeKind::Deleted | ChangeKind::Mode { .. } => Ok(()),
        ChangeKind::Folder => work.make_folder(&change.path),
        ChangeKind::Link(target) => work.link(target, &change.path),
        ChangeKind::Added => work.place(number, &change.path),
        ChangeKind::Modified => work.exchange(number, &change.path),
    }
}

/// Removes what went, by the names that are known. What came to it meanwhile stays, and is named.
fn finish(work: Work, changes: &[Change]) -> Result<(), CommitError> {
    for (number, top) in work.aside() {
        for change in changes.iter().rev().filter(|change| change.kind == ChangeKind::Deleted) {
            if let Ok(rest) = change.path.strip_prefix(&top) {
                let _ = work.remove(&Path::new(&old_name(number)).join(rest));
            }
        }
    }
    work.finish().map_err(|kept| CommitError::Kept { kept })
}
