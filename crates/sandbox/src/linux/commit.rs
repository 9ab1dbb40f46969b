//! Carries out what a run changed: all of it, or nothing.
//!
//! Whatever stands against a change is found first. What is new is written beside the workspace's files, in a folder of our own, before anything
//! of theirs is touched; then each change is one rename that can be taken back, looked at once more just before. What goes is put into that
//! folder too, and is removed by name at the end: what nobody knew of stays.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    Access, AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, accessat, fchmod, fchown,
    fstat, mkdirat, openat, renameat_with, symlinkat, unlinkat,
};

use super::layer::{
    Layer, changed_at, failed, folder_of, is_folder, is_same, link_below, names, open_below,
    open_file, open_folder, stat_below,
};
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
        let mut work = Work::new(host).map_err(failed(&self.workspace))?;
        let staged = self.stage_all(&mut work, changes, is_called_off);
        let done = staged.and_then(|()| self.carry_out(&mut work, changes, &gone));
        match done {
            Ok(()) => work.finish(changes),
            Err(error) => Err(work.undo(error)),
        }
    }

    /// Writes what is new into our own folder. Nothing of the workspace is touched yet, so it can still be called off.
    fn stage_all(
        &self,
        work: &mut Work,
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
            work.perform(number, change).map_err(failed(&change.path))?;
        }
        Ok(())
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
            (ChangeKind::Modified | ChangeKind::Deleted, None) => conflict("it is gone meanwhile"),
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
            // Whose group it is may not be ours to say; then it is the user's own.
            let before = stat_below(&work.host, &change.path)?;
            let _ = fchown(&to, None, Some(Gid::from_raw(before.st_gid)));
        }
        Ok(fchmod(&to, Mode::from_raw_mode(mode))?)
    }
}

/// Makes sure that entries can be made and removed in the folder of a path, or in the nearest one that is there.
fn may_write(host: &OwnedFd, path: &Path) -> io::Result<()> {
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
            // Something that is to become a folder stands there still; whether it may go was asked for itself.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn new_name(number: usize) -> String {
    format!("new-{number}")
}

fn old_name(number: usize) -> String {
    format!("old-{number}")
}

/// A step that was done, and can be taken back.
enum Done {
    /// Something was put into our folder.
    Aside { number: usize, path: PathBuf },
    /// A file came out of our folder to a place where there was none.
    Placed { number: usize, path: PathBuf },
    /// A file changed places with one of our folder.
    Exchanged { number: usize, path: PathBuf },
    /// A folder was made.
    Made(PathBuf),
    /// A link was made.
    Linked(PathBuf),
}

/// The workspace, our own folder in it, and what was done.
struct Work {
    host: OwnedFd,
    own: OwnedFd,
    name: String,
    done: Vec<Done>,
}

impl Work {
    fn new(host: OwnedFd) -> io::Result<Self> {
        // A name that nobody can have known.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = format!(".openskills-{}-{now}.tmp", std::process::id());
        mkdirat(&host, &name, Mode::RWXU)?;
        let own = open_below(&host, Path::new(&name), OFlags::DIRECTORY)?;
        Ok(Self { host, own, name, done: Vec::new() })
    }

    fn put_aside(&mut self, number: usize, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.host, path)?;
        renameat_with(&folder, name, &self.own, old_name(number), RenameFlags::NOREPLACE)?;
        self.done.push(Done::Aside { number, path: path.to_owned() });
        Ok(())
    }

    fn perform(&mut self, number: usize, change: &Change) -> io::Result<()> {
        if change.kind == ChangeKind::Deleted {
            return Ok(());
        }
        let path = change.path.clone();
        let (folder, name) = folder_of(&self.host, &path)?;
        let done = match &change.kind {
            ChangeKind::Deleted => return Ok(()),
            ChangeKind::Folder => {
                mkdirat(&folder, name, Mode::from_raw_mode(0o777))?;
                Done::Made(path.clone())
            }
            ChangeKind::Link(target) => {
                symlinkat(target, &folder, name)?;
                Done::Linked(path.clone())
            }
            ChangeKind::Added => {
                let staged = new_name(number);
                renameat_with(&self.own, staged, &folder, name, RenameFlags::NOREPLACE)?;
                Done::Placed { number, path: path.clone() }
            }
            ChangeKind::Modified => {
                let staged = new_name(number);
                renameat_with(&self.own, staged, &folder, name, RenameFlags::EXCHANGE)?;
                Done::Exchanged { number, path: path.clone() }
            }
        };
        self.done.push(done);
        Ok(())
    }

    /// Takes everything back. What cannot be is named, and what it was is kept.
    fn undo(mut self, error: CommitError) -> CommitError {
        let mut left = Vec::new();
        while let Some(done) = self.done.pop() {
            let (taken, path) = self.take_back(done);
            if taken.is_err() {
                left.push(path);
            }
        }
        if left.is_empty() {
            self.clear_staged();
            let _ = unlinkat(&self.host, &self.name, AtFlags::REMOVEDIR);
            return error;
        }
        CommitError::Partly {
            paths: left,
            kept: PathBuf::from(&self.name),
            because: error.to_string(),
        }
    }

    fn take_back(&self, done: Done) -> (io::Result<()>, PathBuf) {
        let at = |path: &Path, back: &dyn Fn(&OwnedFd, &std::ffi::OsStr) -> io::Result<()>| {
            folder_of(&self.host, path).and_then(|(folder, name)| back(&folder, name))
        };
        match done {
            Done::Aside { number, path } => {
                let back = |folder: &OwnedFd, name: &std::ffi::OsStr| {
                    Ok(renameat_with(
                        &self.own,
                        old_name(number),
                        folder,
                        name,
                        RenameFlags::NOREPLACE,
                    )?)
                };
                (at(&path, &back), path)
            }
            Done::Placed { number, path } => {
                let back = |folder: &OwnedFd, name: &std::ffi::OsStr| {
                    Ok(renameat_with(
                        folder,
                        name,
                        &self.own,
                        new_name(number),
                        RenameFlags::NOREPLACE,
                    )?)
                };
                (at(&path, &back), path)
            }
            Done::Exchanged { number, path } => {
                let back = |folder: &OwnedFd, name: &std::ffi::OsStr| {
                    Ok(renameat_with(
                        &self.own,
                        new_name(number),
                        folder,
                        name,
                        RenameFlags::EXCHANGE,
                    )?)
                };
                (at(&path, &back), path)
            }
            Done::Made(path) => {
                let back = |folder: &OwnedFd, name: &std::ffi::OsStr| {
                    Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
                };
                (at(&path, &back), path)
            }
            Done::Linked(path) => {
                let back = |folder: &OwnedFd, name: &std::ffi::OsStr| {
                    Ok(unlinkat(folder, name, AtFlags::empty())?)
                };
                (at(&path, &back), path)
            }
        }
    }

    /// Removes what went, by the names that are known. What came to it meanwhile stays, and is named.
    fn finish(self, changes: &[Change]) -> Result<(), CommitError> {
        let aside: Vec<(usize, PathBuf)> = self
            .done
            .iter()
            .filter_map(|done| match done {
                Done::Aside { number, path } => Some((*number, path.clone())),
                _ => None,
            })
            .collect();
        for (number, top) in &aside {
            let inside = changes.iter().rev().filter(|change| change.kind == ChangeKind::Deleted);
            for change in inside {
                if let Ok(rest) = change.path.strip_prefix(top) {
                    let path = Path::new(&old_name(*number)).join(rest);
                    let _ = self.remove(&path);
                }
            }
        }
        self.clear_staged();
        match unlinkat(&self.host, &self.name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(()),
            Err(_) => Err(CommitError::Kept { kept: PathBuf::from(&self.name) }),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.own, path)?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let flags = if is_folder(&stat) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        Ok(unlinkat(&folder, name, flags)?)
    }

    /// Removes what was staged: what was not placed, and what places were changed with.
    fn clear_staged(&self) {
        let Ok(all) = names(&self.own) else { return };
        for name in all.iter().filter(|name| name.to_string_lossy().starts_with("new-")) {
            let _ = unlinkat(&self.own, name, AtFlags::empty());
        }
    }
}
