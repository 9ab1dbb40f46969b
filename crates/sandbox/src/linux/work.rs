//! Changes of a workspace that can be taken back: each is one step, and a folder of our own in the workspace has what is to come (`new-N`) and what
//! went (`old-N`).

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, chownat, fchmod, fchown, fstat, mkdirat,
    renameat_with, statat, symlinkat, unlinkat,
};

use super::layer::{folder_of, is_folder, names, open_below};

/// A step that was done, and can be taken back.
enum Done {
    /// Something was put into our folder.
    Aside { number: usize, path: PathBuf },
    /// Something came out of our folder to where nothing was.
    Placed { number: usize, path: PathBuf },
    /// Something changed places with what is in our folder.
    Exchanged { number: usize, path: PathBuf },
    /// A folder was made.
    Made { path: PathBuf },
    /// A link was made.
    Linked { path: PathBuf },
    /// An empty folder was removed, which was like this.
    Removed { path: PathBuf, stat: Stat },
    /// The rights or the owner of a folder were changed, which was like this.
    Marked { path: PathBuf, stat: Stat },
}

impl Done {
    fn path(&self) -> &Path {
        match self {
            Self::Aside { path, .. }
            | Self::Placed { path, .. }
            | Self::Exchanged { path, .. }
            | Self::Made { path }
            | Self::Linked { path }
            | Self::Removed { path, .. }
            | Self::Marked { path, .. } => path,
        }
    }
}

/// The workspace, our own folder in it, and what was done.
pub(super) struct Work {
    pub(super) host: OwnedFd,
    pub(super) own: OwnedFd,
    name: String,
    done: Vec<Done>,
}

/// Who owns something, where that is to be set.
pub(super) type Owner = (u32, u32);

impl Work {
    /// Makes our own folder. There must be none of that name.
    pub(super) fn new(host: OwnedFd, name: String) -> io::Result<Self> {
        mkdirat(&host, &name, Mode::RWXU)?;
        let own = open_below(&host, Path::new(&name), OFlags::DIRECTORY)?;
        Ok(Self { host, own, name, done: Vec::new() })
    }

    /// Moves something into our folder.
    pub(super) fn put_aside(&mut self, number: usize, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.host, path)?;
        renameat_with(&folder, name, &self.own, old_name(number), RenameFlags::NOREPLACE)?;
        self.done.push(Done::Aside { number, path: path.to_owned() });
        Ok(())
    }

    /// Moves what is staged to where nothing is.
    pub(super) fn place(&mut self, number: usize, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.host, path)?;
        renameat_with(&self.own, new_name(number), &folder, name, RenameFlags::NOREPLACE)?;
        self.done.push(Done::Placed { number, path: path.to_owned() });
        Ok(())
    }

    /// Moves what is staged to where something is, and that to where it was staged, in one step.
    pub(super) fn exchange(&mut self, number: usize, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.host, path)?;
        renameat_with(&self.own, new_name(number), &folder, name, RenameFlags::EXCHANGE)?;
        self.done.push(Done::Exchanged { number, path: path.to_owned() });
        Ok(())
    }

    /// Makes a folder where nothing is.
    pub(super) fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.host, path)?;
        mkdirat(&folder, name, Mode::from_raw_mode(0o777))?;
        self.done.push(Done::Made { path: path.to_owned() });
        Ok(())
    }

    /// Makes a link where nothing is.
    pub(super) fn link(&mut self, target: &Path, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.host, path)?;
        symlinkat(target, &folder, name)?;
        self.done.push(Done::Linked { path: path.to_owned() });
        Ok(())
    }

    /// Removes an empty folder; an error if something is in it.
    pub(super) fn remove_folder(&mut self, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.host, path)?;
        let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        unlinkat(&folder, name, AtFlags::REMOVEDIR)?;
        self.done.push(Done::Removed { path: path.to_owned(), stat });
        Ok(())
    }

    /// Gives a folder other rights, and another owner where that is possible.
    pub(super) fn mark(&mut self, path: &Path, mode: u32, owner: Option<Owner>) -> io::Result<()> {
        let folder = open_below(&self.host, path, OFlags::DIRECTORY)?;
        let stat = fstat(&folder)?;
        let is_owner = owner.is_none_or(|owner| owner == (stat.st_uid, stat.st_gid));
        if stat.st_mode & 0o777 == mode && is_owner {
            return Ok(());
        }
        self.done.push(Done::Marked { path: path.to_owned(), stat });
        mark(&folder, &stat, mode, owner)
    }

    /// Returns true if nothing is in what places were changed with, or it is no folder.
    pub(super) fn is_bare(&self, number: usize) -> io::Result<bool> {
        let name = new_name(number);
        let stat = statat(&self.own, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !is_folder(&stat) {
            return Ok(true);
        }
        Ok(names(&open_below(&self.own, Path::new(&name), OFlags::DIRECTORY)?)?.is_empty())
    }

    /// Takes every step back, the last one first. Returns what could not be; then our folder stays, with what was there.
    pub(super) fn take_back(mut self) -> Result<(), (Vec<PathBuf>, PathBuf)> {
        let mut left = Vec::new();
        while let Some(done) = self.done.pop() {
            if self.take_back_one(&done).is_err() {
                left.push(done.path().to_owned());
            }
        }
        if !left.is_empty() {
            return Err((left, PathBuf::from(&self.name)));
        }
        self.clear("new-");
        let _ = unlinkat(&self.host, &self.name, AtFlags::REMOVEDIR);
        Ok(())
    }

    fn take_back_one(&self, done: &Done) -> io::Result<()> {
        let (folder, name) = folder_of(&self.host, done.path())?;
        let from_own = |own: String, flags: RenameFlags| {
            Ok(renameat_with(&self.own, own, &folder, name, flags)?)
        };
        match done {
            Done::Aside { number, .. } => from_own(old_name(*number), RenameFlags::NOREPLACE),
            Done::Exchanged { number, .. } => from_own(new_name(*number), RenameFlags::EXCHANGE),
            Done::Placed { number, .. } => {
                let own = new_name(*number);
                Ok(renameat_with(&folder, name, &self.own, own, RenameFlags::NOREPLACE)?)
            }
            Done::Made { .. } => Ok(unlinkat(&folder, name, AtFlags::REMOVEDIR)?),
            Done::Linked { .. } => Ok(unlinkat(&folder, name, AtFlags::empty())?),
            Done::Removed { path, stat } => {
                mkdirat(&folder, name, Mode::RWXU)?;
                let made = open_below(&self.host, path, OFlags::DIRECTORY)?;
                mark(&made, stat, stat.st_mode & 0o777, Some((stat.st_uid, stat.st_gid)))
            }
            Done::Marked { path, stat } => {
                let folder = open_below(&self.host, path, OFlags::DIRECTORY)?;
                mark(&folder, stat, stat.st_mode & 0o777, Some((stat.st_uid, stat.st_gid)))
            }
        }
    }

    /// Returns the number and the path of everything that was moved into our folder.
    pub(super) fn aside(&self) -> Vec<(usize, PathBuf)> {
        let aside = self.done.iter().filter_map(|done| match done {
            Done::Aside { number, path } => Some((*number, path.clone())),
            Done::Placed { .. }
            | Done::Exchanged { .. }
            | Done::Made { .. }
            | Done::Linked { .. }
            | Done::Removed { .. }
            | Done::Marked { .. } => None,
        });
        aside.collect()
    }

    /// Removes something in our folder.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = folder_of(&self.own, path)?;
        remove_at(&folder, name)
    }

    /// Removes our folder, with what was staged and was changed places with. What nobody knew of stays: then its path is returned.
    pub(super) fn finish(self) -> Result<(), PathBuf> {
        self.clear("new-");
        unlinkat(&self.host, &self.name, AtFlags::REMOVEDIR).map_err(|_| PathBuf::from(&self.name))
    }

    /// Removes what is in our folder under names that begin so. A folder goes only if nothing is in it.
    pub(super) fn clear(&self, prefix: &str) {
        clear(&self.own, prefix);
    }
}

/// Removes the folder of an undo that was killed, as far as what is in it is ours.
pub(super) fn clear_leftover(host: &OwnedFd, name: &str) -> io::Result<()> {
    let own = match open_below(host, Path::new(name), OFlags::DIRECTORY) {
        Ok(own) => own,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    clear(&own, "new-");
    clear(&own, "old-");
    Ok(unlinkat(host, name, AtFlags::REMOVEDIR)?)
}

fn clear(own: &OwnedFd, prefix: &str) {
    let Ok(all) = names(own) else { return };
    for name in all.iter().filter(|name| name.to_string_lossy().starts_with(prefix)) {
        let _ = remove_at(own, name);
    }
}

fn remove_at(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let flags = if is_folder(&stat) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    Ok(unlinkat(folder, name, flags)?)
}

/// Sets rights, and the owner where that is possible. Bits that no run may set stay as they are.
fn mark(open: &OwnedFd, now: &Stat, mode: u32, owner: Option<Owner>) -> io::Result<()> {
    if let Some(owner) = owner.filter(|owner| *owner != (now.st_uid, now.st_gid)) {
        give(open, owner);
    }
    Ok(fchmod(open, Mode::from_raw_mode((now.st_mode & 0o7000) | mode))?)
}

/// Gives a file or folder to its owner and group, or to its group alone. Who may do neither keeps it.
pub(super) fn give(open: &OwnedFd, (user, group): Owner) {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    if fchown(open, Some(user), Some(group)).is_err() {
        let _ = fchown(open, None, Some(group));
    }
}

/// The same for a link.
pub(super) fn give_link(folder: &OwnedFd, name: &str, (user, group): Owner) {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    let _ = chownat(folder, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW);
}

pub(super) fn new_name(number: usize) -> String {
    format!("new-{number}")
}

pub(super) fn old_name(number: usize) -> String {
    format!("old-{number}")
}
