//! Hides the git repository of a skill: `.git` at the top of a skill's folder is not part of the skill.
//!
//! What no digest covers must not be readable either. So the [`Root`] of a skill skips the repository in every listing
//! and walk, and opens nothing in it: not by its name, not by another name that the file system maps to it, not through
//! a symlink. A symlink into the repository counts as leading out of the skill. Entries with similar names, and `.git`
//! folders further down, are part of the skill.

use std::fs::File;
use std::io::{self, Read};

use skill::RelPath;

use crate::sys::{self, Stat, Type};
use crate::{FsError, Root};

/// The name of a repository in its work tree; in a linked worktree this is a file.
pub const REPOSITORY: &str = ".git";

/// The maximum number of symlinks on the way to a file, the same as the kernel's limit.
const MAX_LINKS: usize = 40;

impl Root {
    /// Treats the folder as that of a skill: hides the repository at its top, if there is one. A `.git` that is not a
    /// repository is part of the skill.
    #[must_use]
    pub fn as_skill(self) -> Self {
        let is_skill = self.may_have_repository();
        Self { is_skill, ..self }
    }

    /// Returns false if there is a `.git` that is certainly not a repository.
    fn may_have_repository(&self) -> bool {
        let kind = |name: &str| self.folder.stat(name).map(|stat| stat.kind).ok();
        match kind(REPOSITORY) {
            Some(Type::Folder) => {
                kind(".git/HEAD") == Some(Type::File)
                    && kind(".git/objects") == Some(Type::Folder)
                    && kind(".git/refs") == Some(Type::Folder)
            }
            // In a linked worktree, `.git` is a file with the path of the repository.
            Some(Type::File) => {
                let path = RelPath::new(REPOSITORY).expect("it is a plain name");
                let mut head = [0; 7];
                let read = sys::open_plain(&self.folder, &path)
                    .and_then(|mut file| file.read_exact(&mut head));
                read.is_ok() && head == *b"gitdir:"
            }
            Some(Type::Link | Type::Other(_)) | None => true,
        }
    }

    /// Returns true if a path in a skill is inside its repository, under whatever name.
    pub fn is_repository(&self, path: &RelPath) -> bool {
        self.is_skill && path.parts().next().is_some_and(|name| self.names_repository(name))
    }

    /// Returns true if listings skip this entry at the top of the folder.
    pub(crate) fn skips(&self, name: &[u8]) -> bool {
        self.is_skill && name == REPOSITORY.as_bytes()
    }

    /// File systems map various names to `.git`: `.GIT`, names with invisible characters, `git~1`. The mapping is not
    /// guessed: the inodes are compared.
    fn names_repository(&self, name: &str) -> bool {
        let may_be_folded = name.starts_with('.') || name.contains('~') || !name.is_ascii();
        if name == REPOSITORY || !may_be_folded {
            return name == REPOSITORY;
        }
        let is_missing = |found: &io::Result<Stat>| {
            found.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let (named, repository) = (self.folder.stat(name), self.folder.stat(REPOSITORY));
        if is_missing(&named) || is_missing(&repository) {
            return false;
        }
        // If the two cannot be distinguished, the name counts as the repository.
        let identity = |stat: Stat| stat.inode.map(|inode| (inode.device, inode.number));
        match (named.ok().and_then(identity), repository.ok().and_then(identity)) {
            (Some(named), Some(repository)) => named == repository,
            _ => true,
        }
    }

    /// Opens a file below the folder. Symlinks are followed as long as they stay in its visible part.
    pub(crate) fn open_file(&self, path: &RelPath) -> Result<File, FsError> {
        if !self.is_skill {
            return self.with_path(path, sys::open_beneath(&self.folder, path));
        }
        self.not_in_repository(path, path)?;
        match sys::open_plain(&self.folder, path) {
            Err(error) if sys::is_refused_link(&error) => {
                // First, the system decides whether the symlink stays below the folder.
                self.with_path(path, sys::open_beneath(&self.folder, path))?;
                let real = self.resolved(path)?;
                self.not_in_repository(path, &real)?;
                // This path contains no symlink, so the file that is opened is the one that was checked.
                self.with_path(path, sys::open_plain(&self.folder, &real))
            }
            opened => self.with_path(path, opened),
        }
    }

    /// Opens a file below the folder; no symlink is followed.
    pub(crate) fn open_plain_file(&self, path: &RelPath) -> Result<File, FsError> {
        self.not_in_repository(path, path)?;
        self.with_path(path, sys::open_plain(&self.folder, path))
    }

    fn with_path(&self, path: &RelPath, opened: io::Result<File>) -> Result<File, FsError> {
        opened.map_err(|source| FsError::confined(self.shown(path), source))
    }

    fn not_in_repository(&self, path: &RelPath, real: &RelPath) -> Result<(), FsError> {
        if self.is_repository(real) { Err(self.escapes(path)) } else { Ok(()) }
    }

    fn escapes(&self, path: &RelPath) -> FsError {
        FsError::Escapes { path: self.shown(path) }
    }

    fn shown(&self, path: &RelPath) -> String {
        self.path().join(path.as_str()).to_string()
    }

    /// Returns the path with every symlink resolved.
    fn resolved(&self, path: &RelPath) -> Result<RelPath, FsError> {
        let failed = |source| FsError::confined(self.shown(path), source);
        let mut remaining: Vec<String> = path.parts().rev().map(str::to_owned).collect();
        let mut real: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(part) = remaining.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    real.pop().ok_or_else(|| self.escapes(path))?;
                    continue;
                }
                _ => real.push(part),
            }
            let current = real.join("/");
            if self.folder.stat(&current).map_err(failed)?.kind != Type::Link {
                continue;
            }
            links += 1;
            let target = String::from_utf8(self.folder.read_link(&current).map_err(failed)?)
                .ok()
                .filter(|target| links <= MAX_LINKS && !target.starts_with('/'));
            let target = target.ok_or_else(|| self.escapes(path))?;
            real.pop();
            remaining.extend(target.split('/').rev().map(str::to_owned));
        }
        if real.is_empty() {
            return Err(FsError::NotRegular { path: self.shown(path), kind: "a folder" });
        }
        RelPath::new(real.join("/")).map_err(|_| self.escapes(path))
    }
}
