//! Changes a workspace in steps that can be rolled back. A staging folder in the workspace contains new files (`new-N`)
//! and removed ones (`old-N`).

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, chownat, fchmod, fchown, fstat, mkdirat,
    renameat_with, statat, symlinkat, unlinkat,
};

use super::layer::{is_folder, names, open_below, parent_of};

/// A completed step, which can be rolled back.
enum CompletedStep {
    /// An entry was moved into the staging folder.
    MovedAside { number: usize, path: PathBuf },
    /// A staged entry was moved to a path where nothing was.
    Placed { number: usize, path: PathBuf },
    /// A staged entry was exchanged with the one at the path.
    Exchanged { number: usize, path: PathBuf },
    /// A folder was created.
    FolderCreated { path: PathBuf },
    /// A symbolic link was created.
    LinkCreated { path: PathBuf },
    /// An empty folder with this metadata was removed.
    FolderRemoved { path: PathBuf, stat: Stat },
    /// The permissions or the owner of a folder, which had this metadata, were changed.
    MetadataChanged { path: PathBuf, stat: Stat },
}

impl CompletedStep {
    fn path(&self) -> &Path {
        match self {
            Self::MovedAside { path, .. }
            | Self::Placed { path, .. }
            | Self::Exchanged { path, .. }
            | Self::FolderCreated { path }
            | Self::LinkCreated { path }
            | Self::FolderRemoved { path, .. }
            | Self::MetadataChanged { path, .. } => path,
        }
    }
}

/// A workspace, its staging folder, and the steps completed so far.
pub(super) struct Transaction {
    pub(super) workspace: OwnedFd,
    pub(super) staging: OwnedFd,
    /// The name of the staging folder.
    name: String,
    steps: Vec<CompletedStep>,
}

/// A user id and a group id.
pub(super) type OwnerIds = (u32, u32);

impl Transaction {
    /// Creates the staging folder, which must not exist yet.
    pub(super) fn new(workspace: OwnedFd, name: String) -> io::Result<Self> {
        mkdirat(&workspace, &name, Mode::RWXU)?;
        let staging = open_below(&workspace, Path::new(&name), OFlags::DIRECTORY)?;
        Ok(Self { workspace, staging, name, steps: Vec::new() })
    }

    /// Moves an entry into the staging folder.
    pub(super) fn move_aside(&mut self, number: usize, path: &Path) -> io::Result<()> {
        let (folder, name) = parent_of(&self.workspace, path)?;
        renameat_with(&folder, name, &self.staging, old_name(number), RenameFlags::NOREPLACE)?;
        self.steps.push(CompletedStep::MovedAside { number, path: path.to_owned() });
        Ok(())
    }

    /// Moves a staged entry to a path where nothing is.
    pub(super) fn place(&mut self, number: usize, path: &Path) -> io::Result<()> {
        let (folder, name) = parent_of(&self.workspace, path)?;
        renameat_with(&self.staging, new_name(number), &folder, name, RenameFlags::NOREPLACE)?;
        self.steps.push(CompletedStep::Placed { number, path: path.to_owned() });
        Ok(())
    }

    /// Atomically exchanges a staged entry with the one at a path.
    pub(super) fn exchange(&mut self, number: usize, path: &Path) -> io::Result<()> {
        let (folder, name) = parent_of(&self.workspace, path)?;
        renameat_with(&self.staging, new_name(number), &folder, name, RenameFlags::EXCHANGE)?;
        self.steps.push(CompletedStep::Exchanged { number, path: path.to_owned() });
        Ok(())
    }

    /// Creates a folder where nothing is.
    pub(super) fn create_folder(&mut self, path: &Path) -> io::Result<()> {
        let (folder, name) = parent_of(&self.workspace, path)?;
        mkdirat(&folder, name, Mode::from_raw_mode(0o777))?;
        self.steps.push(CompletedStep::FolderCreated { path: path.to_owned() });
        Ok(())
    }

    /// Creates a symbolic link where nothing is.
    pub(super) fn create_link(&mut self, target: &Path, path: &Path) -> io::Result<()> {
        let (folder, name) = parent_of(&self.workspace, path)?;
        symlinkat(target, &folder, name)?;
        self.steps.push(CompletedStep::LinkCreated { path: path.to_owned() });
        Ok(())
    }

    /// Removes an empty folder; an error if it is not empty.
    pub(super) fn remove_folder(&mut self, path: &Path) -> io::Result<()> {
        let (folder, name) = parent_of(&self.workspace, path)?;
        let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        unlinkat(&folder, name, AtFlags::REMOVEDIR)?;
        self.steps.push(CompletedStep::FolderRemoved { path: path.to_owned(), stat });
        Ok(())
    }

    /// Changes the permissions of a folder, and its owner if possible.
    pub(super) fn set_metadata(
        &mut self,
        path: &Path,
        mode: u32,
        owner: Option<OwnerIds>,
    ) -> io::Result<()> {
        let folder = open_below(&self.workspace, path, OFlags::DIRECTORY)?;
        let stat = fstat(&folder)?;
        let is_owner = owner.is_none_or(|owner| owner == (stat.st_uid, stat.st_gid));
        if stat.st_mode & 0o777 == mode && is_owner {
            return Ok(());
        }
        self.steps.push(CompletedStep::MetadataChanged { path: path.to_owned(), stat });
        set_metadata(&folder, &stat, mode, owner)
    }

    /// Returns true if the entry that [`exchange`](Self::exchange) moved to the staging folder is an empty folder or no
    /// folder.
    pub(super) fn is_exchanged_empty(&self, number: usize) -> io::Result<bool> {
        let name = new_name(number);
        let stat = statat(&self.staging, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !is_folder(&stat) {
            return Ok(true);
        }
        Ok(names(&open_below(&self.staging, Path::new(&name), OFlags::DIRECTORY)?)?.is_empty())
    }

    /// Rolls back all steps, the last one first. If some cannot be rolled back, returns their paths and the staging
    /// folder, which is kept because it contains the originals.
    pub(super) fn roll_back(mut self) -> Result<(), (Vec<PathBuf>, PathBuf)> {
        let mut failed = Vec::new();
        while let Some(step) = self.steps.pop() {
            if self.roll_back_one(&step).is_err() {
                failed.push(step.path().to_owned());
            }
        }
        if !failed.is_empty() {
            return Err((failed, PathBuf::from(&self.name)));
        }
        self.clear("new-");
        let _ = unlinkat(&self.workspace, &self.name, AtFlags::REMOVEDIR);
        Ok(())
    }

    fn roll_back_one(&self, step: &CompletedStep) -> io::Result<()> {
        let (folder, name) = parent_of(&self.workspace, step.path())?;
        let from_staging = |staged: String, flags: RenameFlags| {
            Ok(renameat_with(&self.staging, staged, &folder, name, flags)?)
        };
        match step {
            CompletedStep::MovedAside { number, .. } => {
                from_staging(old_name(*number), RenameFlags::NOREPLACE)
            }
            CompletedStep::Exchanged { number, .. } => {
                from_staging(new_name(*number), RenameFlags::EXCHANGE)
            }
            CompletedStep::Placed { number, .. } => {
                let staged = new_name(*number);
                Ok(renameat_with(&folder, name, &self.staging, staged, RenameFlags::NOREPLACE)?)
            }
            CompletedStep::FolderCreated { .. } => Ok(unlinkat(&folder, name, AtFlags::REMOVEDIR)?),
            CompletedStep::LinkCreated { .. } => Ok(unlinkat(&folder, name, AtFlags::empty())?),
            CompletedStep::FolderRemoved { path, stat } => {
                mkdirat(&folder, name, Mode::RWXU)?;
                let created = open_below(&self.workspace, path, OFlags::DIRECTORY)?;
                let owner = Some((stat.st_uid, stat.st_gid));
                set_metadata(&created, stat, stat.st_mode & 0o777, owner)
            }
            CompletedStep::MetadataChanged { path, stat } => {
                let folder = open_below(&self.workspace, path, OFlags::DIRECTORY)?;
                let owner = Some((stat.st_uid, stat.st_gid));
                set_metadata(&folder, stat, stat.st_mode & 0o777, owner)
            }
        }
    }

    /// Returns the number and the path of all entries that were moved into the staging folder.
    pub(super) fn moved_aside(&self) -> Vec<(usize, PathBuf)> {
        let moved = self.steps.iter().filter_map(|step| match step {
            CompletedStep::MovedAside { number, path } => Some((*number, path.clone())),
            CompletedStep::Placed { .. }
            | CompletedStep::Exchanged { .. }
            | CompletedStep::FolderCreated { .. }
            | CompletedStep::LinkCreated { .. }
            | CompletedStep::FolderRemoved { .. }
            | CompletedStep::MetadataChanged { .. } => None,
        });
        moved.collect()
    }

    /// Removes an entry in the staging folder.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = parent_of(&self.staging, path)?;
        remove_at(&folder, name)
    }

    /// Removes the staging folder, with staged and exchanged entries. If it contains anything else, it is kept and its
    /// path is returned.
    pub(super) fn finish(self) -> Result<(), PathBuf> {
        self.clear("new-");
        unlinkat(&self.workspace, &self.name, AtFlags::REMOVEDIR)
            .map_err(|_| PathBuf::from(&self.name))
    }

    /// Removes entries with this prefix from the staging folder. Folders are only removed if they are empty.
    pub(super) fn clear(&self, prefix: &str) {
        clear(&self.staging, prefix);
    }
}

/// Removes the staging folder of a killed undo, unless it contains entries that the undo did not create.
pub(super) fn clear_leftover(workspace: &OwnedFd, name: &str) -> io::Result<()> {
    let staging = match open_below(workspace, Path::new(name), OFlags::DIRECTORY) {
        Ok(staging) => staging,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    clear(&staging, "new-");
    clear(&staging, "old-");
    Ok(unlinkat(workspace, name, AtFlags::REMOVEDIR)?)
}

fn clear(staging: &OwnedFd, prefix: &str) {
    let Ok(all) = names(staging) else { return };
    for name in all.iter().filter(|name| name.to_string_lossy().starts_with(prefix)) {
        let _ = remove_at(staging, name);
    }
}

fn remove_at(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let flags = if is_folder(&stat) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    Ok(unlinkat(folder, name, flags)?)
}

/// Sets permissions, and the owner if possible. The setuid, setgid and sticky bits, which no run may set, are kept.
fn set_metadata(open: &OwnedFd, now: &Stat, mode: u32, owner: Option<OwnerIds>) -> io::Result<()> {
    if let Some(owner) = owner.filter(|owner| *owner != (now.st_uid, now.st_gid)) {
        set_owner(open, owner);
    }
    Ok(fchmod(open, Mode::from_raw_mode((now.st_mode & 0o7000) | mode))?)
}

/// Sets the owner and the group of a file or folder, or only the group if this user may not change the owner. Does
/// nothing if this user may change neither.
pub(super) fn set_owner(open: &OwnedFd, (user, group): OwnerIds) {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    if fchown(open, Some(user), Some(group)).is_err() {
        let _ = fchown(open, None, Some(group));
    }
}

/// Sets the owner and the group of a symbolic link if possible.
pub(super) fn set_link_owner(folder: &OwnedFd, name: &str, (user, group): OwnerIds) {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    let _ = chownat(folder, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW);
}

pub(super) fn new_name(number: usize) -> String {
    format!("new-{number}")
}

pub(super) fn old_name(number: usize) -> String {
    format!("old-{number}")
}
