//! Finds the changes that a run made in its workspace. Only this process, outside of the sandbox, applies them after
//! the run has ended.
//!
//! Everything in the layer was written by the run and is untrusted. It is read below the layer's own folder without
//! following symlinks; the workspace is only written below its own folder, without following symlinks.

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

use super::git_data::{self, has_checked_content, refused_content};
use crate::layer::{Applied, ApplyError, Change, ChangeKind};
use crate::{GitData, is_protected};

/// The maximum number of changes.
const MAX_CHANGES: usize = 100_000;
/// The maximum total length of all changed paths.
const MAX_PATH_BYTES: usize = 16 << 20;
/// The maximum number of entries in protected folders that are searched for links.
const MAX_PROTECTED: usize = 200_000;
/// The maximum folder depth.
const MAX_DEPTH: usize = 64;
/// The maximum size of a file whose content is checked. The index of a large project has 100 MB.
const MAX_CHECKED: u64 = 512 << 20;
/// The maximum number of links in a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The layer with the writes to a workspace.
#[derive(Debug)]
pub(crate) struct Layer {
    /// The upper layer of the overlay, or the copy of the workspace.
    pub(crate) upper: OwnedFd,
    /// The original state of the workspace if the run used a copy; `None` if it used an overlay.
    pub(crate) base: Option<OwnedFd>,
    pub(crate) workspace: PathBuf,
    pub(crate) started: SystemTime,
    pub(crate) git: GitData,
    /// What was applied before.
    pub(crate) applied: Option<Applied>,
    /// How many bytes may be applied.
    pub(crate) max_bytes: u64,
}

impl Layer {
    /// Returns every change, sorted by path.
    pub(super) fn all_changes(&self) -> Result<Vec<Change>, ApplyError> {
        let root = open_folder(&self.workspace).map_err(failed(&self.workspace))?;
        let before = self.base.as_ref().unwrap_or(&root);
        let workspace = std::fs::canonicalize(&self.workspace).map_err(failed(&self.workspace))?;
        let mut walk = LayerWalk {
            workspace: &workspace,
            upper: &self.upper,
            before,
            is_copy: self.base.is_some(),
            is_git_writable: self.git == GitData::Writable && has_repository(&self.upper, before),
            hash: hash_length(before),
            changes: Vec::new(),
            path_bytes: 0,
        };
        walk.folder(Path::new(""), Lower::Visible)?;
        if walk.is_copy {
            walk.add_deleted_in(Path::new(""))?;
        }
        walk.refuse_repositories();
        walk.refuse_linked_names()?;
        walk.changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(walk.changes)
    }

    /// Reads the new content of a changed file, at most `max` bytes.
    pub(crate) fn read(&self, path: &Path, max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_file(&self.upper, path)?.take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Collects the changes in a layer.
struct LayerWalk<'a> {
    /// The real path of the workspace.
    workspace: &'a Path,
    upper: &'a OwnedFd,
    /// The original state of the workspace.
    before: &'a OwnedFd,
    /// Whether `upper` is a copy: then entries that it lacks were deleted. In an overlay they are unchanged.
    is_copy: bool,
    /// Whether changes to the data of the workspace's repository may be applied.
    is_git_writable: bool,
    /// The length of an object's name in it.
    hash: usize,
    changes: Vec<Change>,
    /// The total length of the changed paths.
    path_bytes: usize,
}

/// Whether the lower layer of an overlay is visible in a folder of the upper layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lower {
    Visible,
    /// The folder was created by the run, and so was everything in it.
    Hidden,
}

impl LayerWalk<'_> {
    fn folder(&mut self, path: &Path, lower: Lower) -> Result<(), ApplyError> {
        if path.components().count() > MAX_DEPTH {
            return Err(ApplyError::TooDeep { max: MAX_DEPTH });
        }
        let open = open_below(self.upper, path, OFlags::DIRECTORY).map_err(failed(path))?;
        for name in names(&open).map_err(failed(path))? {
            self.check_limits()?;
            let stat = statat(&open, &name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|error| failed(path)(error.into()))?;
            self.entry(&path.join(name), &stat, lower)?;
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), ApplyError> {
        if self.changes.len() >= MAX_CHANGES || self.path_bytes > MAX_PATH_BYTES {
            return Err(ApplyError::TooMany { max: MAX_CHANGES });
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, stat: &Stat, lower: Lower) -> Result<(), ApplyError> {
        let before = stat_below(self.before, path).ok();
        let was_folder = before.as_ref().is_some_and(is_folder);
        match FileType::from_raw_mode(stat.st_mode) {
            // A whiteout: how an overlay marks a deleted entry.
            FileType::CharacterDevice if stat.st_rdev == 0 && !self.is_copy => {
                // If something else deleted it as well, nothing is left to do.
                if before.is_some() {
                    self.add_deleted(path)?;
                }
            }
            FileType::Directory => {
                let is_new = lower == Lower::Hidden || is_opaque(self.upper, path);
                let lower = if is_new && !self.is_copy { Lower::Hidden } else { Lower::Visible };
                if was_folder && (self.is_copy || lower == Lower::Hidden) {
                    self.add_deleted_in(path)?;
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
                self.folder(path, lower)?;
            }
            FileType::RegularFile => {
                let is_file = before.as_ref().is_some_and(|before| {
                    FileType::from_raw_mode(before.st_mode) == FileType::RegularFile
                });
                // The file replaces a folder, a link or something else.
                if before.is_some() && !is_file {
                    self.add_deleted(path)?;
                }
                let is_same = before
                    .as_ref()
                    .is_some_and(|before| is_same(self.upper, self.before, path, stat, before));
                if !is_file || !is_same {
                    self.add(path, if is_file { ChangeKind::Modified } else { ChangeKind::Added });
                    self.refuse_content(path)?;
                }
                if stat.st_mode & 0o6000 != 0 && (!is_file || !is_same) {
                    self.refuse(
                        "it has the setuid or setgid bit and would run as its owner or group",
                    );
                }
            }
            FileType::Symlink => {
                let target = link_below(self.upper, path).map_err(failed(path))?;
                if link_below(self.before, path).is_ok_and(|before| before == target) {
                    return Ok(());
                }
                let leads_out = leads_out(path, &target) || self.leads_out_via_links(path, &target);
                if before.is_some() {
                    self.add_deleted(path)?;
                }
                self.add(path, ChangeKind::Link(target));
                if leads_out {
                    self.refuse("it is a symlink that points outside the workspace");
                }
            }
            _ => {
                self.add(path, ChangeKind::Added);
                self.refuse("it is not a file, folder or symlink");
            }
        }
        Ok(())
    }

    /// Refuses changes to the targets of protected links: with `AGENTS.md -> docs/AI.md`, agents read `docs/AI.md`, and
    /// with `.claude/commands -> ../cmds`, they run `cmds`. Searches the protected names, including everything inside
    /// them, in all parent folders of a change.
    fn refuse_linked_names(&mut self) -> Result<(), ApplyError> {
        let folders: BTreeSet<PathBuf> = self
            .changes
            .iter()
            .flat_map(|change| change.path.ancestors().skip(1).map(Path::to_owned))
            .collect();
        let mut targets = BTreeSet::new();
        let mut left = MAX_PROTECTED;
        for folder in folders {
            for name in names_below(self.before, &folder).map_err(failed(&folder))? {
                if !is_protected(&name.to_string_lossy()) {
                    continue;
                }
                self.links_in(&folder.join(name), &mut left, &mut targets)?;
            }
        }
        for change in self.changes.iter_mut().filter(|change| change.refused.is_none()) {
            let is_target = change.path.ancestors().any(|path| targets.contains(path));
            // Replacing a parent of the target changes what the link leads to.
            let is_redirected = matches!(change.kind, ChangeKind::Link(_) | ChangeKind::Deleted)
                && targets.iter().any(|target| target.starts_with(&change.path));
            if is_target || is_redirected {
                let reason = "a symlink with a protected name points to it";
                change.refused = Some(reason.to_owned());
            }
        }
        Ok(())
    }

    /// Adds the target of a protected link, or the targets of all links in a protected folder. Git objects are skipped,
    /// because they never are links.
    fn links_in(
        &self,
        path: &Path,
        left: &mut usize,
        targets: &mut BTreeSet<PathBuf>,
    ) -> Result<(), ApplyError> {
        *left = left.checked_sub(1).ok_or(ApplyError::TooMany { max: MAX_PROTECTED })?;
        if let Ok(target) = link_below(self.before, path) {
            targets.extend(self.paths_followed(path, &target));
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

    /// Follows a link in the original workspace. Returns its target, whether it exists or not, and all links on the way
    /// to it. A link that leaves the workspace may lead back into it.
    fn paths_followed(&self, path: &Path, target: &Path) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut current = self.workspace.join(path.parent().unwrap_or(Path::new("")));
        let mut left: Vec<OsString> = reversed_parts(target);
        let mut links = 0;
        while let Some(part) = left.pop() {
            match part.as_bytes() {
                b"/" => {
                    current = PathBuf::from("/");
                    continue;
                }
                b".." => {
                    current.pop();
                    continue;
                }
                _ => current.push(part),
            }
            let inside = current.strip_prefix(self.workspace).ok().map(Path::to_owned);
            let link = match &inside {
                Some(inside) => link_below(self.before, inside).ok(),
                None => std::fs::read_link(&current).ok(),
            };
            if let Some(target) = link.filter(|_| links < MAX_LINKS) {
                links += 1;
                found.extend(inside);
                current.pop();
                left.extend(reversed_parts(&target));
            }
        }
        found.extend(current.strip_prefix(self.workspace).ok().map(Path::to_owned));
        found.remove(Path::new(""));
        found
    }

    /// Returns true if a link leads out of the workspace through other links, in the state after the changes are
    /// applied. A path that cannot be inspected may lead anywhere.
    fn leads_out_via_links(&self, path: &Path, target: &Path) -> bool {
        let mut current: PathBuf = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut left: Vec<OsString> = reversed_parts(target);
        let mut links = 0;
        while let Some(part) = left.pop() {
            match part.as_bytes() {
                b"/" => return true,
                b".." if !current.pop() => return true,
                b".." => continue,
                _ => current.push(part),
            }
            match self.link_after(&current) {
                Ok(None) => {}
                Ok(Some(target)) if links < MAX_LINKS => {
                    links += 1;
                    current.pop();
                    left.extend(reversed_parts(&target));
                }
                Ok(Some(_)) | Err(_) => return true,
            }
        }
        false
    }

    /// Returns the target of the link at a path in the state after the changes are applied; `None` if it is not a link.
    /// Does not follow links in parent folders.
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

    /// Refuses changes that would turn a folder into a bare repository: git runs commands from its configuration,
    /// whatever the folder is named.
    fn refuse_repositories(&mut self) {
        let is_deleted = |path: &Path| {
            stat_below(self.upper, path).is_ok_and(|stat| {
                FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
            })
        };
        let is_repository = |folder: &Path| {
            // Entries hidden by an opaque folder count as well. That can only refuse more, never less.
            let below =
                if self.is_copy { Ok(Vec::new()) } else { names_below(self.before, folder) };
            // A folder that cannot be listed may be a repository.
            let (Ok(above), Ok(below)) = (names_below(self.upper, folder), below) else {
                return true;
            };
            let all: Vec<OsString> = above.into_iter().chain(below).collect();
            let is_bare = |names: &mut dyn Iterator<Item = &OsString>| {
                let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
                skill::is_bare_repository(names.iter().map(AsRef::as_ref))
            };
            is_bare(&mut all.iter())
                && is_bare(&mut all.iter().filter(|name| !is_deleted(&folder.join(name))))
        };
        // Refuse all changes in a repository: git runs its hooks and configuration, and checks out its objects and
        // refs.
        let mut known: HashMap<PathBuf, bool> = HashMap::new();
        let mut refused = Vec::new();
        for (at, change) in self.changes.iter().enumerate() {
            if self.in_repository(&change.path).is_some() {
                continue;
            }
            let is_inside = change.path.ancestors().skip(1).any(|folder| {
                *known.entry(folder.to_owned()).or_insert_with(|| is_repository(folder))
            });
            if is_inside {
                refused.push(at);
            }
        }
        for at in refused {
            self.changes[at].refused = Some(
                "it is in a bare git repository, whose hooks and configuration run programs"
                    .to_owned(),
            );
        }
    }

    /// Adds the deletion of an entry, and of everything in it if it was a folder.
    fn add_deleted(&mut self, path: &Path) -> Result<(), ApplyError> {
        self.add(path, ChangeKind::Deleted);
        if stat_below(self.before, path).is_ok_and(|stat| is_folder(&stat)) {
            self.add_deleted_in(path)?;
        }
        Ok(())
    }

    /// Adds the deletion of the entries in an original folder that the layer does not contain.
    fn add_deleted_in(&mut self, path: &Path) -> Result<(), ApplyError> {
        let open = open_below(self.before, path, OFlags::DIRECTORY).map_err(failed(path))?;
        for name in names(&open).map_err(failed(path))? {
            self.check_limits()?;
            let path = path.join(name);
            if stat_below(self.upper, &path).is_err() {
                self.add_deleted(&path)?;
            }
        }
        Ok(())
    }

    /// Returns the path in the workspace's repository, if changes to it may be applied.
    fn in_repository<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(git_data::FOLDER).ok().filter(|_| self.is_git_writable)
    }

    /// Returns why a change is refused because of its name.
    fn refusal(&self, path: &Path, kind: &ChangeKind) -> Option<&'static str> {
        if let Some(inside) = self.in_repository(path) {
            return git_data::refusal(inside, kind);
        }
        let is_protected = path.components().any(
            |part| matches!(part, Component::Normal(name) if is_protected(&name.to_string_lossy())),
        );
        is_protected.then_some("its name is protected: other programs run such files or read their configuration from them")
    }

    /// Refuses the last change if git would run programs or write elsewhere because of the file's content.
    fn refuse_content(&mut self, path: &Path) -> Result<(), ApplyError> {
        let Some(inside) = self.in_repository(path).filter(|inside| has_checked_content(inside))
        else {
            return Ok(());
        };
        let bytes = open_file(self.upper, path)
            .and_then(|file| checked_content(&file))
            .map_err(failed(path))?;
        if let Some(reason) = refused_content(inside, &bytes, self.hash) {
            self.refuse(reason);
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, kind: ChangeKind) {
        let refused = self.refusal(path, &kind).map(str::to_owned);
        self.path_bytes += path.as_os_str().len();
        self.changes.push(Change { path: path.to_owned(), kind, refused });
    }

    fn refuse(&mut self, reason: &str) {
        if let Some(last) = self.changes.last_mut() {
            last.refused = Some(reason.to_owned());
        }
    }
}

/// Reads a file whose content is checked.
pub(super) fn checked_content(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_CHECKED + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_CHECKED {
        return Err(io::Error::other("it is too large to be checked"));
    }
    Ok(bytes)
}

/// Returns the length of an object's name in the workspace's repository.
pub(super) fn hash_length(before: &OwnedFd) -> usize {
    let mut config = String::new();
    let path = Path::new(git_data::FOLDER).join("config");
    let read = open_file(before, &path).map(|file| file.take(1 << 20).read_to_string(&mut config));
    let is_long = read.is_ok() && config.to_ascii_lowercase().contains("sha256");
    if is_long { 32 } else { 20 }
}

/// Returns true if the workspace has a repository of its own, and the run did not replace it as a whole.
fn has_repository(upper: &OwnedFd, before: &OwnedFd) -> bool {
    let path = Path::new(git_data::FOLDER);
    let is_unchanged = match stat_below(upper, path) {
        Ok(stat) => is_folder(&stat) && !is_opaque(upper, path),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    is_unchanged && stat_below(before, path).is_ok_and(|stat| is_folder(&stat))
}

/// Returns true if two files have the same content and permissions.
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

/// Returns the target of a link; an error if there is no link.
pub(super) fn link_below(root: &OwnedFd, path: &Path) -> io::Result<PathBuf> {
    let (folder, name) = parent_of(root, path)?;
    let target = readlinkat(&folder, name, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(target.to_bytes())))
}

/// Returns the names in a folder; none if the folder does not exist.
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

/// Returns the names in a folder.
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

pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> ApplyError + '_ {
    |source| ApplyError::Io { path: path.to_owned(), source }
}

pub(super) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

pub(super) fn changed_at(stat: &Stat) -> SystemTime {
    let seconds = u64::try_from(stat.st_ctime).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, u32::try_from(stat.st_ctime_nsec).unwrap_or(0))
}

/// Returns the components of a path, the last one first.
fn reversed_parts(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| *part != Component::CurDir);
    named.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// Returns true if the text of a link's target leads out of the workspace.
fn leads_out(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count() - 1;
    let mut is_down = false;
    for part in target.components() {
        match part {
            Component::Normal(_) => is_down = true,
            Component::CurDir => {}
            // `name/..` may lead elsewhere if `name` is a link.
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
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Returns the metadata of a path, without following links on the way to it or at its end.
pub(super) fn stat_below(root: &OwnedFd, path: &Path) -> io::Result<Stat> {
    let (folder, name) = parent_of(root, path)?;
    Ok(statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Opens the parent folder of a path; returns it and the last component.
pub(super) fn parent_of<'a>(root: &OwnedFd, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
    let folder = open_below(root, path.parent().unwrap_or(Path::new("")), OFlags::DIRECTORY)?;
    Ok((folder, name))
}

fn is_opaque(root: &OwnedFd, path: &Path) -> bool {
    let Ok(folder) = open_below(root, path, OFlags::DIRECTORY) else { return false };
    let mut value = [0; 4];
    fgetxattr(folder.as_fd(), "user.overlay.opaque", &mut value)
        .is_ok_and(|length| value[..length] == *b"y")
}
