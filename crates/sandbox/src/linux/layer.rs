//! What a run changed in its workspace: looked at after its end, and committed by this side alone.
//!
//! Everything in the layer was written by the run. It is read below the layer's own folder, no link is followed, and nothing is written to
//! the workspace but below its folder, through no link.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fgetxattr, openat2, readlinkat,
    statat,
};

use crate::is_protected;
use crate::layer::{Change, ChangeKind, CommitError};

/// The most entries that a layer may have.
const MOST: usize = 100_000;
/// The most bytes that all paths of changes may have.
const MOST_BYTES: usize = 16 << 20;
/// The most entries of protected folders that are looked at for links.
const MOST_PROTECTED: usize = 200_000;
/// How many folders may be inside each other.
const DEEPEST: usize = 64;

/// The layer that writes to a workspace went to.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) upper: OwnedFd,
    /// What the run began with, where it was given a copy. Without one, what it wrote lies above the workspace.
    pub(crate) base: Option<OwnedFd>,
    pub(crate) workspace: PathBuf,
    pub(crate) started: SystemTime,
    /// How many bytes may be committed.
    pub(crate) most: u64,
}

impl Layer {
    /// Returns every change, sorted by path.
    pub(crate) fn changes(&self) -> Result<Vec<Change>, CommitError> {
        let host = open_folder(&self.workspace).map_err(failed(&self.workspace))?;
        let before = self.base.as_ref().unwrap_or(&host);
        let workspace = std::fs::canonicalize(&self.workspace).map_err(failed(&self.workspace))?;
        let mut walk = Walk {
            workspace: &workspace,
            upper: &self.upper,
            before,
            is_copy: self.base.is_some(),
            changes: Vec::new(),
            bytes: 0,
        };
        walk.folder(Path::new(""), Below::Old)?;
        if walk.is_copy {
            walk.gone_in(Path::new(""))?;
        }
        walk.refuse_repositories();
        walk.refuse_linked_names()?;
        walk.changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(walk.changes)
    }

    /// Reads what a changed file holds now, at most so many bytes.
    pub(crate) fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_file(&self.upper, path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

struct Walk<'a> {
    /// The workspace by its real path.
    workspace: &'a Path,
    upper: &'a OwnedFd,
    /// What the run began with.
    before: &'a OwnedFd,
    /// Whether what is not in `upper` is gone; else it is as it was.
    is_copy: bool,
    changes: Vec<Change>,
    /// How many bytes their paths have.
    bytes: usize,
}

/// What a folder in the layer stands above.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    /// What was there before.
    Old,
    /// Nothing: it was made anew, and so was everything in it.
    Nothing,
}

impl Walk<'_> {
    fn folder(&mut self, path: &Path, below: Below) -> Result<(), CommitError> {
        if path.components().count() > DEEPEST {
            return Err(CommitError::TooDeep { most: DEEPEST });
        }
        let open = open_below(self.upper, path, OFlags::DIRECTORY).map_err(failed(path))?;
        for name in names(&open).map_err(failed(path))? {
            if self.changes.len() >= MOST || self.bytes > MOST_BYTES {
                return Err(CommitError::TooMany { most: MOST });
            }
            let stat = statat(&open, &name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|error| failed(path)(error.into()))?;
            self.entry(&path.join(name), &stat, below)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, stat: &Stat, below: Below) -> Result<(), CommitError> {
        let before = stat_below(self.before, path).ok();
        let was_folder = before.as_ref().is_some_and(is_folder);
        match FileType::from_raw_mode(stat.st_mode) {
            // This is how a layer says that something below it is gone.
            FileType::CharacterDevice if stat.st_rdev == 0 && !self.is_copy => self.gone(path)?,
            FileType::Directory => {
                let is_new = below == Below::Nothing || is_opaque(self.upper, path);
                let below = if is_new && !self.is_copy { Below::Nothing } else { Below::Old };
                if was_folder && (self.is_copy || below == Below::Nothing) {
                    self.gone_in(path)?;
                } else if before.is_some() && !was_folder {
                    self.add(path, ChangeKind::Deleted);
                }
                match before.as_ref().filter(|_| was_folder).map(|before| before.st_mode & 0o777) {
                    None => self.add(path, ChangeKind::Folder),
                    Some(from) if from == stat.st_mode & 0o777 => {}
                    Some(from) => {
                        self.add(path, ChangeKind::Mode { from, to: stat.st_mode & 0o777 });
                    }
                }
                self.folder(path, below)?;
            }
            FileType::RegularFile => {
                let is_file = before.as_ref().is_some_and(|before| {
                    FileType::from_raw_mode(before.st_mode) == FileType::RegularFile
                });
                // A folder, a link or anything else that a file came in place of.
                if before.is_some() && !is_file {
                    self.gone(path)?;
                }
                let is_same = before
                    .as_ref()
                    .is_some_and(|before| is_same(self.upper, self.before, path, stat, before));
                if !is_file || !is_same {
                    self.add(path, if is_file { ChangeKind::Modified } else { ChangeKind::Added });
                }
                if stat.st_mode & 0o6000 != 0 {
                    self.refuse("it would run as its owner");
                }
            }
            FileType::Symlink => {
                let target = link_below(self.upper, path).map_err(failed(path))?;
                if link_below(self.before, path).is_ok_and(|before| before == target) {
                    return Ok(());
                }
                let leads_out = leads_out(path, &target) || self.is_led_out(path, &target);
                if before.is_some() {
                    self.gone(path)?;
                }
                self.add(path, ChangeKind::Link(target));
                if leads_out {
                    self.refuse("it is a link out of the workspace");
                }
            }
            _ => {
                self.add(path, ChangeKind::Added);
                self.refuse("it is neither a file, a folder nor a link");
            }
        }
        Ok(())
    }

    /// Refuses changes of what protected names lead to: `AGENTS.md -> docs/AI.md` is read by the first name, `cmds` as `.claude/commands -> ../cmds`.
    /// Names in the folders on the way to a change are looked at, with everything in them.
    fn refuse_linked_names(&mut self) -> Result<(), CommitError> {
        let folders: BTreeSet<PathBuf> = self
            .changes
            .iter()
            .flat_map(|change| change.path.ancestors().skip(1).map(Path::to_owned))
            .collect();
        let mut targets = BTreeSet::new();
        let mut left = MOST_PROTECTED;
        for folder in folders {
            for name in names_below(self.before, &folder).map_err(failed(&folder))? {
                if !is_protected(&name.to_string_lossy()) {
                    continue;
                }
                self.links_in(&folder.join(name), &mut left, &mut targets)?;
            }
        }
        for change in self.changes.iter_mut().filter(|change| change.refused.is_none()) {
            let is_it = change.path.ancestors().any(|path| targets.contains(path));
            // What stands above it decides where it is.
            let is_moved = matches!(change.kind, ChangeKind::Link(_) | ChangeKind::Deleted)
                && targets.iter().any(|target| target.starts_with(&change.path));
            if is_it || is_moved {
                let reason = "a link with a protected name leads to it";
                change.refused = Some(reason.to_owned());
            }
        }
        Ok(())
    }

    /// Adds what a protected name leads to, or the links in a protected folder. Objects of git are no links.
    fn links_in(
        &self,
        path: &Path,
        left: &mut usize,
        targets: &mut BTreeSet<PathBuf>,
    ) -> Result<(), CommitError> {
        *left = left.checked_sub(1).ok_or(CommitError::TooMany { most: MOST_PROTECTED })?;
        if let Ok(target) = link_below(self.before, path) {
            targets.extend(self.on_the_way(path, &target));
            return Ok(());
        }
        let is_objects = path.ends_with(".git/objects");
        if is_objects || !stat_below(self.before, path).is_ok_and(|stat| is_folder(&stat)) {
            return Ok(());
        }
        for name in names_below(self.before, path).map_err(failed(path))? {
            self.links_in(&path.join(name), left, targets)?;
        }
        Ok(())
    }

    /// Returns what a link of the workspace leads to as it was before the run, whether that is there or not, and every other link on the way. One that
    /// leaves the workspace may come back into it.
    fn on_the_way(&self, path: &Path, target: &Path) -> BTreeSet<PathBuf> {
        /// As many as the kernel follows.
        const MOST_LINKS: usize = 40;
        let mut found = BTreeSet::new();
        let mut place = self.workspace.join(path.parent().unwrap_or(Path::new("")));
        let mut left: Vec<OsString> = parts(target);
        let mut links = 0;
        while let Some(part) = left.pop() {
            match part.as_bytes() {
                b"/" => {
                    place = PathBuf::from("/");
                    continue;
                }
                b".." => {
                    place.pop();
                    continue;
                }
                _ => place.push(part),
            }
            let inside = place.strip_prefix(self.workspace).ok().map(Path::to_owned);
            let link = match &inside {
                Some(inside) => link_below(self.before, inside).ok(),
                None => std::fs::read_link(&place).ok(),
            };
            if let Some(target) = link.filter(|_| links < MOST_LINKS) {
                links += 1;
                found.extend(inside);
                place.pop();
                left.extend(parts(&target));
            }
        }
        found.extend(place.strip_prefix(self.workspace).ok().map(Path::to_owned));
        found.remove(Path::new(""));
        found
    }

    /// Returns true if a link leads out of the workspace by way of other links, as it will be after the commit. What cannot be looked at may
    /// lead anywhere.
    fn is_led_out(&self, path: &Path, target: &Path) -> bool {
        /// As many as the kernel follows.
        const MOST_LINKS: usize = 40;
        let mut place: PathBuf = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut left: Vec<OsString> = parts(target);
        let mut links = 0;
        while let Some(part) = left.pop() {
            match part.as_bytes() {
                b"/" => return true,
                b".." if !place.pop() => return true,
                b".." => continue,
                _ => place.push(part),
            }
            match self.link_after(&place) {
                Ok(None) => {}
                Ok(Some(target)) if links < MOST_LINKS => {
                    links += 1;
                    place.pop();
                    left.extend(parts(&target));
                }
                Ok(Some(_)) | Err(_) => return true,
            }
        }
        false
    }

    /// Returns where the link at a path leads that is there after the commit; nothing if there is none. No link is on the way.
    fn link_after(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let is_none = |error: &io::Error| {
            let none = [libc::ENOENT, libc::ENOTDIR, libc::ELOOP, libc::EINVAL];
            error.raw_os_error().is_some_and(|code| none.contains(&code))
        };
        match stat_below(self.upper, path) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                return link_below(self.upper, path).map(Some);
            }
            Ok(_) => return Ok(None),
            Err(error) if is_none(&error) && self.is_copy => return Ok(None),
            Err(error) if is_none(&error) => {}
            Err(error) => return Err(error),
        }
        match link_below(self.before, path) {
            Ok(target) => Ok(Some(target)),
            Err(error) if is_none(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses what would make a folder a repository: git runs what the configuration in one says, whatever the folder is called.
    fn refuse_repositories(&mut self) {
        let is_gone = |path: &Path| {
            stat_below(self.upper, path).is_ok_and(|stat| {
                FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
            })
        };
        let is_repository = |folder: &Path| {
            // What lies below an opaque folder counts as well: that refuses more, never less.
            let below =
                if self.is_copy { Ok(Vec::new()) } else { names_below(self.before, folder) };
            // What cannot be listed may be anything.
            let (Ok(above), Ok(below)) = (names_below(self.upper, folder), below) else {
                return true;
            };
            let all: Vec<OsString> = above.into_iter().chain(below).collect();
            let is_one = |names: &mut dyn Iterator<Item = &OsString>| {
                let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
                skill::is_bare_repository(names.iter().map(AsRef::as_ref))
            };
            is_one(&mut all.iter())
                && is_one(&mut all.iter().filter(|name| !is_gone(&folder.join(name))))
        };
        // Whatever is in a repository is its own: hooks and configuration run, objects and refs say what is checked out.
        let mut known: HashMap<PathBuf, bool> = HashMap::new();
        let mut refused = Vec::new();
        for (at, change) in self.changes.iter().enumerate() {
            let is_inside = change.path.ancestors().skip(1).any(|folder| {
                *known.entry(folder.to_owned()).or_insert_with(|| is_repository(folder))
            });
            if is_inside {
                refused.push(at);
            }
        }
        for at in refused {
            self.changes[at].refused = Some(
                "it is in a git repository without a working tree, whose hooks and configuration run programs"
                    .to_owned(),
            );
        }
    }

    /// Everything below a folder of the workspace is gone, and so is it.
    fn gone(&mut self, path: &Path) -> Result<(), CommitError> {
        self.add(path, ChangeKind::Deleted);
        if stat_below(self.before, path).is_ok_and(|stat| is_folder(&stat)) {
            self.gone_in(path)?;
        }
        Ok(())
    }

    fn gone_in(&mut self, path: &Path) -> Result<(), CommitError> {
        let open = open_below(self.before, path, OFlags::DIRECTORY).map_err(failed(path))?;
        for name in names(&open).map_err(failed(path))? {
            if self.changes.len() >= MOST || self.bytes > MOST_BYTES {
                return Err(CommitError::TooMany { most: MOST });
            }
            let path = path.join(name);
            // What the layer has again is not gone.
            if stat_below(self.upper, &path).is_err() {
                self.gone(&path)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, kind: ChangeKind) {
        let is_protected = path.components().any(
            |part| matches!(part, Component::Normal(name) if is_protected(&name.to_string_lossy())),
        );
        let refused = is_protected
            .then(|| "it is protected: it could run or steer something later".to_owned());
        self.bytes += path.as_os_str().len();
        self.changes.push(Change { path: path.to_owned(), kind, refused });
    }

    fn refuse(&mut self, reason: &str) {
        if let Some(last) = self.changes.last_mut() {
            last.refused = Some(reason.to_owned());
        }
    }
}

/// Returns true if two files are the same but for their times.
pub(super) fn is_same(
    one: &OwnedFd,
    other: &OwnedFd,
    path: &Path,
    here: &Stat,
    there: &Stat,
) -> bool {
    let is_like = here.st_size == there.st_size && here.st_mode & 0o777 == there.st_mode & 0o777;
    is_like && same_bytes(one, other, path).unwrap_or(false)
}

/// Returns where a link leads; an error if there is none.
pub(super) fn link_below(root: &OwnedFd, path: &Path) -> io::Result<PathBuf> {
    let (folder, name) = folder_of(root, path)?;
    let target = readlinkat(&folder, name, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(target.to_bytes())))
}

/// Returns what is in a folder; nothing where there is none.
fn names_below(root: &OwnedFd, folder: &Path) -> io::Result<Vec<OsString>> {
    let listed = open_below(root, folder, OFlags::DIRECTORY).and_then(|open| names(&open));
    match listed {
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)) =>
        {
            Ok(Vec::new())
        }
        listed => listed,
    }
}

/// Returns what is in a folder, by name.
pub(super) fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

fn same_bytes(one: &OwnedFd, other: &OwnedFd, path: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (open_file(one, path)?, open_file(other, path)?);
    let (mut ours, mut theirs) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let read = one.read(&mut ours)?;
        if read == 0 {
            return Ok(other.read(&mut theirs)? == 0);
        }
        other.read_exact(&mut theirs[..read])?;
        if ours[..read] != theirs[..read] {
            return Ok(false);
        }
    }
}

pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> CommitError + '_ {
    |source| CommitError::Io { path: path.to_owned(), source }
}

pub(super) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

pub(super) fn changed_at(stat: &Stat) -> SystemTime {
    let seconds = u64::try_from(stat.st_ctime).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, u32::try_from(stat.st_ctime_nsec).unwrap_or(0))
}

/// Returns the parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| *part != Component::CurDir);
    named.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// Returns true if a link leads out of the workspace, by its text.
fn leads_out(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count() - 1;
    let mut is_down = false;
    for part in target.components() {
        match part {
            Component::Normal(_) => is_down = true,
            Component::CurDir => {}
            // Back up from a name is not where it came from, if the name is a link.
            Component::ParentDir if depth > 0 && !is_down => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

const STRICT: ResolveFlags = ResolveFlags::from_bits_retain(
    ResolveFlags::BENEATH.bits()
        | ResolveFlags::NO_SYMLINKS.bits()
        | ResolveFlags::NO_MAGICLINKS.bits(),
);

pub(super) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(openat2(rustix::fs::CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?)
}

pub(super) fn open_below(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(openat2(root, path, flags, Mode::empty(), STRICT)?)
}

pub(super) fn open_file(root: &OwnedFd, path: &Path) -> io::Result<File> {
    let file = File::from(open_below(root, path, OFlags::NOFOLLOW)?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Looks at what stands at a path, through no link on the way.
pub(super) fn stat_below(root: &OwnedFd, path: &Path) -> io::Result<Stat> {
    let (folder, name) = folder_of(root, path)?;
    Ok(statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Opens the folder that an entry is in.
pub(super) fn folder_of<'a>(root: &OwnedFd, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
    let folder = open_below(root, path.parent().unwrap_or(Path::new("")), OFlags::DIRECTORY)?;
    Ok((folder, name))
}

fn is_opaque(root: &OwnedFd, path: &Path) -> bool {
    let Ok(folder) = open_below(root, path, OFlags::DIRECTORY) else { return false };
    let mut value = [0; 4];
    fgetxattr(folder.as_fd(), "user.overlay.opaque", &mut value)
        .is_ok_and(|length| value[..length] == *b"y")
}
