//! The repository that a skill is written in: `.git` at the top of a skill's folder is no part of the skill.
//!
//! What is not covered by a digest must not be seen either. So a [`Root`] of a skill passes it over in every listing and
//! walk, and nothing in it is opened: not by its name, not by another name that the file system takes for it, not
//! through a link. A link that leads into it leads out of the skill. Whatever is called nearly so, or lies deeper, is a
//! part of the skill like any other.

use std::fs::File;
use std::io::{self, Read};

use skill::RelPath;

use crate::sys::{self, Stat, Type};
use crate::{FsError, Root};

/// The name of a repository in the folder that it is of; a worktree has a file of that name.
pub const REPOSITORY: &str = ".git";

/// How many links may be on the way to a file, as the kernel counts them.
const MOST_LINKS: usize = 40;

impl Root {
    /// Takes the folder for that of a skill: the repository at its top, if there is one, is not seen through this. What is
    /// called so and is no repository is a part of the skill.
    #[must_use]
    pub fn as_skill(self) -> Self {
        let is_skill = self.may_have_repository();
        Self { is_skill, ..self }
    }

    /// Returns false if something at the place of the repository is none.
    fn may_have_repository(&self) -> bool {
        let kind = |name: &str| self.folder.stat(name).map(|stat| stat.kind).ok();
        match kind(REPOSITORY) {
            Some(Type::Folder) => {
                kind(".git/HEAD") == Some(Type::File)
                    && kind(".git/objects") == Some(Type::Folder)
                    && kind(".git/refs") == Some(Type::Folder)
            }
            // A worktree has a file that leads to its repository.
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

    /// Returns true if a path of a skill leads to its repository, by whatever name.
    pub fn is_repository(&self, path: &RelPath) -> bool {
        self.is_skill && path.parts().next().is_some_and(|name| self.names_repository(name))
    }

    /// Returns true if an entry at the top of the folder is passed over.
    pub(crate) fn passes_over(&self, name: &[u8]) -> bool {
        self.is_skill && name == REPOSITORY.as_bytes()
    }

    /// File systems fold names in ways of their own: `.GIT`, invisible characters, `git~1`. They are asked, not guessed.
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
        // What cannot be told from it counts as it.
        let identity = |stat: Stat| stat.trace.map(|trace| (trace.device, trace.inode));
        match (named.ok().and_then(identity), repository.ok().and_then(identity)) {
            (Some(named), Some(repository)) => named == repository,
            _ => true,
        }
    }

    /// Opens a file below the folder. Links are followed as long as they stay in what is seen of it.
    pub(crate) fn open_file(&self, path: &RelPath) -> Result<File, FsError> {
        if !self.is_skill {
            return self.named(path, sys::open_beneath(&self.folder, path));
        }
        self.not_in_repository(path, path)?;
        match sys::open_plain(&self.folder, path) {
            Err(error) if sys::is_refused_link(&error) => {
                // The system decides first whether the link stays below the folder.
                self.named(path, sys::open_beneath(&self.folder, path))?;
                let real = self.resolved(path)?;
                self.not_in_repository(path, &real)?;
                // No link is left in that path, so what is opened is what was judged.
                self.named(path, sys::open_plain(&self.folder, &real))
            }
            opened => self.named(path, opened),
        }
    }

    /// Opens a file below the folder with no link on the way.
    pub(crate) fn open_plain_file(&self, path: &RelPath) -> Result<File, FsError> {
        self.not_in_repository(path, path)?;
        self.named(path, sys::open_plain(&self.folder, path))
    }

    fn named(&self, path: &RelPath, opened: io::Result<File>) -> Result<File, FsError> {
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

    /// Returns the path without any link in it.
    fn resolved(&self, path: &RelPath) -> Result<RelPath, FsError> {
        let failed = |source| FsError::confined(self.shown(path), source);
        let mut ahead: Vec<String> = path.parts().rev().map(str::to_owned).collect();
        let mut real: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    real.pop().ok_or_else(|| self.escapes(path))?;
                    continue;
                }
                _ => real.push(part),
            }
            let at = real.join("/");
            if self.folder.stat(&at).map_err(failed)?.kind != Type::Link {
                continue;
            }
            links += 1;
            let target = String::from_utf8(self.folder.read_link(&at).map_err(failed)?)
                .ok()
                .filter(|target| links <= MOST_LINKS && !target.starts_with('/'));
            let target = target.ok_or_else(|| self.escapes(path))?;
            real.pop();
            ahead.extend(target.split('/').rev().map(str::to_owned));
        }
        if real.is_empty() {
            return Err(FsError::NotRegular { path: self.shown(path), kind: "a folder" });
        }
        RelPath::new(real.join("/")).map_err(|_| self.escapes(path))
    }
}
