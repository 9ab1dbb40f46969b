//! Applies the changes of a run to the workspace: all of them, or none.
//!
//! Conflicts are detected first. New files are then written to a staging folder in the workspace, before any existing
//! file is touched. Each change is one rename, checked again just before, that can be rolled back. Deleted files are
//! moved to the staging folder and removed by name at the end, so files that something else added there are kept.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, Stat, accessat, fchmod, fstat, openat};

use super::git_data;
use super::layer::{
    Layer, changed_at, checked_content, failed, hash_length, is_folder, is_same, link_below, names,
    open_below, open_file, open_folder, stat_below,
};
use super::origin::is_original;
use super::stored::stamp_below;
use super::transaction::{Transaction, new_name, old_name, set_owner};
use crate::layer::{ApplyError, Change, ChangeKind, Conflict};

impl Layer {
    /// Applies changes, all of them or none.
    pub(crate) fn apply(
        &self,
        changes: &[Change],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), ApplyError> {
        let root = open_folder(&self.workspace).map_err(failed(&self.workspace))?;
        let deleted = deleted(changes);
        for change in changes {
            if let Some(reason) = &change.refused {
                return Err(ApplyError::Refused {
                    path: change.path.clone(),
                    reason: reason.clone(),
                });
            }
            let is_parent_deleted = change.path.ancestors().any(|path| deleted.contains(path));
            if (change.kind == ChangeKind::Deleted || !is_parent_deleted)
                && let Some(conflict) = self.check(&root, change, &deleted)?
            {
                let Conflict { path, what } = conflict;
                return Err(ApplyError::Conflict { path, what });
            }
            check_writable(&root, &change.path).map_err(failed(&change.path))?;
        }
        self.check_size(changes)?;
        // An unpredictable name, so that nothing else can have created the folder.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = format!(".openskills-{}-{now}.tmp", std::process::id());
        let mut transaction = Transaction::new(root, name).map_err(failed(&self.workspace))?;
        let staged = self.stage_all(&transaction, changes, is_cancelled);
        let applied = staged.and_then(|()| self.apply_staged(&mut transaction, changes, &deleted));
        match applied {
            Ok(()) => finish(transaction, changes),
            Err(error) => Err(match transaction.roll_back() {
                Ok(()) => error,
                Err((paths, kept)) => {
                    ApplyError::PartlyApplied { paths, kept, cause: error.to_string() }
                }
            }),
        }
    }

    /// Returns every path that something else changed since the run started.
    pub(crate) fn conflicts(&self, changes: &[Change]) -> Result<Vec<Conflict>, ApplyError> {
        let root = open_folder(&self.workspace).map_err(failed(&self.workspace))?;
        let deleted = deleted(changes);
        let mut conflicts = Vec::new();
        for change in changes {
            let is_parent_deleted = change.path.ancestors().any(|path| deleted.contains(path));
            if change.kind == ChangeKind::Deleted || !is_parent_deleted {
                conflicts.extend(self.check(&root, change, &deleted)?);
            }
        }
        Ok(conflicts)
    }

    /// Writes new files to the staging folder. No existing file is touched yet, so it can still be cancelled.
    fn stage_all(
        &self,
        transaction: &Transaction,
        changes: &[Change],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), ApplyError> {
        for (number, change) in changes.iter().enumerate() {
            if is_cancelled() {
                return Err(ApplyError::Cancelled);
            }
            if matches!(change.kind, ChangeKind::Added | ChangeKind::Modified) {
                self.stage(transaction, number, change).map_err(failed(&change.path))?;
                self.check_staged(transaction, number, change)?;
            }
        }
        if is_cancelled() { Err(ApplyError::Cancelled) } else { Ok(()) }
    }

    fn apply_staged(
        &self,
        transaction: &mut Transaction,
        changes: &[Change],
        deleted: &BTreeSet<&Path>,
    ) -> Result<(), ApplyError> {
        // Deletions come first, because something new may take the same path. A folder is moved together with its
        // content.
        for (number, change) in changes.iter().enumerate() {
            let is_top = change.path.ancestors().skip(1).all(|path| !deleted.contains(path));
            if change.kind == ChangeKind::Deleted && is_top {
                self.check(&transaction.workspace, change, deleted)?;
                transaction.move_aside(number, &change.path).map_err(failed(&change.path))?;
            }
        }
        for (number, change) in changes.iter().enumerate() {
            if change.kind == ChangeKind::Modified {
                self.check(&transaction.workspace, change, deleted)?;
            }
            perform(transaction, number, change).map_err(failed(&change.path))?;
        }
        // Permissions of folders come last and bottom-up: they may make folders inaccessible that earlier steps need.
        for change in changes.iter().rev() {
            if let Some(mode) = self.mode_of(change).map_err(failed(&change.path))? {
                transaction.set_metadata(&change.path, mode, None).map_err(failed(&change.path))?;
            }
        }
        Ok(())
    }

    /// Returns the permissions that a change sets for a folder.
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

    /// Checks whether something else changed the path that is about to be replaced.
    fn check(
        &self,
        root: &OwnedFd,
        change: &Change,
        deleted: &BTreeSet<&Path>,
    ) -> Result<Option<Conflict>, ApplyError> {
        let conflict =
            |what: &str| Some(Conflict { path: change.path.clone(), what: what.to_owned() });
        let now = match stat_below(root, &change.path) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&change.path)(error)),
        };
        // What this layer wrote itself is no conflict.
        if let Some(applied) = self.applied_path(&change.path)
            && now.is_some()
            && applied.workspace == stamp_below(root, &change.path).map_err(failed(&change.path))?
        {
            return Ok(None);
        }
        Ok(match (&change.kind, now) {
            (ChangeKind::Modified | ChangeKind::Deleted | ChangeKind::Mode { .. }, None) => {
                conflict("it was deleted since the run started")
            }
            (ChangeKind::Mode { from, .. }, Some(now)) => {
                // The copy of a folder always has the owner's permissions set, so ignore them.
                let is_it = is_folder(&now) && (now.st_mode | 0o700) & 0o777 == from | 0o700;
                if is_it { None } else { conflict("it was changed since the run started") }
            }
            (ChangeKind::Modified | ChangeKind::Deleted, Some(now)) => {
                let is_changed = self.is_changed(root, &change.path, &now, deleted);
                if is_changed.map_err(failed(&change.path))? {
                    conflict("it was changed since the run started")
                } else {
                    None
                }
            }
            (ChangeKind::Folder | ChangeKind::Added | ChangeKind::Link(_), Some(_)) => {
                conflict("it was created since the run started")
            }
            (ChangeKind::Folder | ChangeKind::Added | ChangeKind::Link(_), None) => None,
        })
    }

    /// Returns true if a path is not as it was when the run started.
    fn is_changed(
        &self,
        root: &OwnedFd,
        path: &Path,
        now: &Stat,
        deleted: &BTreeSet<&Path>,
    ) -> io::Result<bool> {
        // A deleted folder must only contain entries that are deleted too.
        if is_folder(now) {
            let inside = names(&open_below(root, path, OFlags::DIRECTORY)?)?;
            if inside.iter().any(|name| !deleted.contains(path.join(name).as_path())) {
                return Ok(true);
            }
        }
        let Some(base) = &self.base else {
            // An entry that is moved with its folder keeps its own times, but the times of the folder change. They
            // also change if something creates another file in it; then it is still the original folder.
            let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
            let mut is_moved = false;
            for folder in folders {
                is_moved |= changed_at(&stat_below(root, folder)?) >= self.started
                    && !is_original(&self.upper, root, folder);
            }
            return Ok(is_moved || changed_at(now) >= self.started);
        };
        let before = stat_below(base, path)?;
        let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
        Ok(kind(&before) != kind(now)
            || match kind(now) {
                FileType::Symlink => link_below(root, path)? != link_below(base, path)?,
                FileType::Directory => false,
                _ => !is_same(base, root, path, &before, now),
            })
    }

    /// Refuses files that are larger in total than the layer itself could be: sparse files and hard links grow when
    /// they are copied.
    pub(crate) fn check_size(&self, changes: &[Change]) -> Result<(), ApplyError> {
        let files = changes
            .iter()
            .filter(|change| matches!(change.kind, ChangeKind::Added | ChangeKind::Modified));
        let size = |change: &Change| {
            stat_below(&self.upper, &change.path)
                .map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(u64::MAX))
        };
        let total = files.map(size).fold(0, u64::saturating_add);
        let max = self.max_bytes;
        if total > max { Err(ApplyError::TooLarge { max }) } else { Ok(()) }
    }

    /// Checks the content that is about to be placed: processes in the background may have changed the file since its
    /// content was checked.
    fn check_staged(
        &self,
        transaction: &Transaction,
        number: usize,
        change: &Change,
    ) -> Result<(), ApplyError> {
        let Ok(inside) = change.path.strip_prefix(git_data::FOLDER) else { return Ok(()) };
        if !git_data::has_checked_content(inside) {
            return Ok(());
        }
        let staged = open_file(&transaction.staging, Path::new(&new_name(number)));
        let bytes = staged.and_then(|file| checked_content(&file)).map_err(failed(&change.path))?;
        match git_data::refused_content(inside, &bytes, hash_length(&transaction.workspace)) {
            Some(reason) => {
                let (path, reason) = (change.path.clone(), reason.to_owned());
                Err(ApplyError::Refused { path, reason })
            }
            None => Ok(()),
        }
    }

    /// Writes the new content of a file to the staging folder.
    fn stage(&self, transaction: &Transaction, number: usize, change: &Change) -> io::Result<()> {
        let mut from = open_file(&self.upper, &change.path)?;
        let mode = fstat(&from)?.st_mode & 0o777;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode_while_writing = Mode::from_raw_mode(0o600);
        let to = openat(&transaction.staging, new_name(number), flags, mode_while_writing)?;
        let mut to = File::from(to);
        copy_sparse(&mut from, &mut to)?;
        if change.kind == ChangeKind::Modified {
            // If this user may not change the owner, the file belongs to this user.
            let before = stat_below(&transaction.workspace, &change.path)?;
            let to = to.as_fd().try_clone_to_owned()?;
            set_owner(&to, (before.st_uid, before.st_gid));
        }
        Ok(fchmod(&to, Mode::from_raw_mode(mode))?)
    }
}

/// Copies a file without filling its holes, so that it takes no more space than in the layer.
fn copy_sparse(from: &mut File, to: &mut File) -> io::Result<()> {
    use rustix::fs::SeekFrom;

    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut at = 0;
    while at < length {
        at = match rustix::fs::seek(&*from, SeekFrom::Data(at)) {
            Ok(data) => data,
            // There is no more data.
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(&*from, SeekFrom::Hole(at))?.min(length);
        rustix::fs::seek(&*from, SeekFrom::Start(at))?;
        rustix::fs::seek(&*to, SeekFrom::Start(at))?;
        io::copy(&mut Read::take(&mut *from, end - at), to)?;
        at = end;
    }
    Ok(())
}

/// Returns the paths that changes delete.
fn deleted(changes: &[Change]) -> BTreeSet<&Path> {
    let deleted = changes.iter().filter(|change| change.kind == ChangeKind::Deleted);
    deleted.map(|change| change.path.as_path()).collect()
}

/// Checks that entries can be created and removed in the parent folder of a path, or in its nearest existing ancestor.
pub(super) fn check_writable(root: &OwnedFd, path: &Path) -> io::Result<()> {
    for folder in path.ancestors().skip(1) {
        match open_below(root, folder, OFlags::DIRECTORY) {
            Ok(open) => {
                return Ok(accessat(
                    &open,
                    ".",
                    Access::WRITE_OK | Access::EXEC_OK,
                    AtFlags::empty(),
                )?);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // A file or link that a folder will replace. Its own deletion is checked separately.
            Err(error)
                if error.kind() == io::ErrorKind::NotADirectory
                    || error.raw_os_error() == Some(libc::ELOOP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn perform(transaction: &mut Transaction, number: usize, change: &Change) -> io::Result<()> {
    match &change.kind {
        ChangeKind::Deleted | ChangeKind::Mode { .. } => Ok(()),
        ChangeKind::Folder => transaction.create_folder(&change.path),
        ChangeKind::Link(target) => transaction.create_link(target, &change.path),
        ChangeKind::Added => transaction.place(number, &change.path),
        ChangeKind::Modified => transaction.exchange(number, &change.path),
    }
}

/// Removes the deleted entries by their known names. Anything that was added to them meanwhile is kept and reported.
fn finish(transaction: Transaction, changes: &[Change]) -> Result<(), ApplyError> {
    for (number, top) in transaction.moved_aside() {
        for change in changes.iter().rev().filter(|change| change.kind == ChangeKind::Deleted) {
            if let Ok(rest) = change.path.strip_prefix(&top) {
                let _ = transaction.remove(&Path::new(&old_name(number)).join(rest));
            }
        }
    }
    transaction.finish().map_err(|kept| ApplyError::LeftoversKept { kept })
}
