//! Reads below one folder, and never anything else.

use std::fs::{File, Metadata};
use std::io::{self, Read};

use skill::{RelPath, SKILL_FILE, SKILL_FILE_FALLBACK};

use crate::sys::{self, Folder, Stat, Type};
use crate::{AbsPath, FsError, Stamp};

/// How much of a file is read at first when only its beginning is wanted.
const BEGINNING: usize = 1 << 10;

/// A folder whose files can be read by relative path. Links that lead out are refused by the kernel;
/// FIFOs, devices and sockets are never waited for.
#[derive(Debug)]
pub struct Root {
    pub(crate) path: AbsPath,
    pub(crate) folder: Folder,
    /// Whether it is the folder of a skill, of which the repository is no part.
    pub(crate) is_skill: bool,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryType {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Other,
}

impl From<Type> for EntryType {
    fn from(kind: Type) -> Self {
        match kind {
            Type::File => Self::File,
            Type::Folder => Self::Folder,
            Type::Link => Self::Link,
            Type::Other(_) => Self::Other,
        }
    }
}

/// What is in a folder.
#[derive(Debug)]
pub struct Entries {
    /// Every entry with a name that is text.
    pub named: Vec<(String, EntryType)>,
    /// How many others there are.
    pub unnamed: usize,
}

/// The first bytes of a file.
#[derive(Debug)]
pub struct Beginning {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The stamp of the very file that was read, where the system keeps one.
    pub stamp: Option<Stamp>,
}

/// Returns the real path of a folder: every link on the way resolved.
#[expect(clippy::disallowed_methods, reason = "the edge to the file system")]
pub fn real_path(path: &AbsPath) -> Result<AbsPath, FsError> {
    let real = std::fs::canonicalize(path.as_path())
        .map_err(|source| FsError::confined(path.as_str(), source))?;
    AbsPath::new(real)
        .map_err(|error| FsError::io(path.as_str(), io::Error::other(error.to_string())))
}

/// Which file of a folder is its SKILL.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillFile {
    /// `SKILL.md`.
    Standard,
    /// `skill.md`, which is accepted as well.
    Fallback,
    /// Only nearly so: `Skill.md`, `SKILL.MD` and the like.
    Nearly(RelPath),
    /// None.
    Missing,
}

impl SkillFile {
    /// Returns the path of the file in its folder.
    pub fn path(&self) -> Option<RelPath> {
        match self {
            Self::Standard => Some(RelPath::new(SKILL_FILE).expect("it is a plain name")),
            Self::Fallback => Some(RelPath::new(SKILL_FILE_FALLBACK).expect("it is a plain name")),
            Self::Nearly(path) => Some(path.clone()),
            Self::Missing => None,
        }
    }

    /// Returns what a file of that name is to its folder.
    pub fn named(name: &str) -> Self {
        Self::pick([name])
    }

    /// Picks the file out of the names in a folder.
    pub fn pick<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> =
            names.into_iter().filter(|name| name.eq_ignore_ascii_case(SKILL_FILE)).collect();
        names.sort_unstable();
        match names.first() {
            None => Self::Missing,
            Some(_) if names.contains(&SKILL_FILE) => Self::Standard,
            Some(_) if names.contains(&SKILL_FILE_FALLBACK) => Self::Fallback,
            Some(first) => RelPath::new(*first).map_or(Self::Missing, Self::Nearly),
        }
    }
}

impl Root {
    /// Opens a folder that the caller was told to use.
    pub fn open(path: &AbsPath) -> Result<Self, FsError> {
        let folder =
            Folder::open(path.as_path()).map_err(|source| FsError::io(path.as_str(), source))?;
        Ok(Self { path: path.clone(), folder, is_skill: false })
    }

    /// Opens a folder inside this one, which must not be a link.
    pub fn child(&self, name: &str) -> Result<Self, FsError> {
        let path = self.path.join(name);
        if self.passes_over(name.as_bytes()) {
            return Err(FsError::Escapes { path: path.to_string() });
        }
        let folder =
            self.folder.folder(name).map_err(|source| FsError::confined(path.as_str(), source))?;
        Ok(Self { path, folder, is_skill: false })
    }

    /// Opens a folder at its real path: a link anywhere on the way is refused.
    pub fn open_real(path: &AbsPath) -> Result<Self, FsError> {
        let folder = sys::open_real(path.as_path())
            .map_err(|source| FsError::confined(path.as_str(), source))?;
        Ok(Self { path: path.clone(), folder, is_skill: false })
    }

    /// Returns what tells this folder from every other on the machine, where the system keeps such a thing.
    pub fn identity(&self) -> Result<Option<(u64, u64)>, FsError> {
        self.folder.identity().map_err(|source| FsError::io(self.path.as_str(), source))
    }

    /// Returns the stamp of the regular file at `path`, links followed; `None` where there is none, or nothing is
    /// known of it. This is for asking whether something known is still the same: what a link leads to is not read.
    pub fn stamp(&self, path: &str) -> Option<Stamp> {
        Self::stamp_of(self.folder.stat_following(path).ok()?)
    }

    /// As [`Self::stamp`]; a link at the end of the path is none.
    pub fn plain_stamp(&self, path: &str) -> Option<Stamp> {
        Self::stamp_of(self.folder.stat(path).ok()?)
    }

    fn stamp_of(stat: Stat) -> Option<Stamp> {
        let trace = stat.trace.filter(|_| stat.kind == Type::File)?;
        Some(Stamp::new(stat.size, &trace))
    }

    /// Returns the entries of the folder, in no order.
    pub fn entries(&self) -> Result<Entries, FsError> {
        let mut all = Entries { named: Vec::new(), unnamed: 0 };
        let listed = sys::each_entry(&self.folder, |name, kind| {
            match std::str::from_utf8(name) {
                Err(_) => all.unnamed += 1,
                Ok(name) if self.passes_over(name.as_bytes()) => {}
                Ok(name) => {
                    // Some file systems do not say what an entry is.
                    let kind =
                        kind.map_or_else(|| self.folder.stat(name).map(|stat| stat.kind), Ok)?;
                    all.named.push((name.to_owned(), EntryType::from(kind)));
                }
            }
            Ok::<(), io::Error>(())
        });
        listed.map_err(|source| FsError::io(self.path.as_str(), source))?;
        Ok(all)
    }

    /// Reads a regular file below the folder until `enough` says how much of what was read is enough, to its end, or to
    /// `limit` bytes.
    pub fn read_beginning(
        &self,
        path: &RelPath,
        limit: u64,
        enough: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Beginning, FsError> {
        self.beginning(path, self.open_file(path), limit, enough)
    }

    /// As [`Self::read_beginning`], with no link on the way.
    pub fn read_plain_beginning(
        &self,
        path: &RelPath,
        limit: u64,
        enough: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Beginning, FsError> {
        self.beginning(path, self.open_plain_file(path), limit, enough)
    }

    fn beginning(
        &self,
        path: &RelPath,
        opened: Result<File, FsError>,
        limit: u64,
        enough: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Beginning, FsError> {
        let (mut file, metadata) = self.regular(path, opened)?;
        let shown = || self.path.join(path.as_str()).to_string();
        if metadata.len() > limit {
            return Err(FsError::TooLarge { path: shown(), size: metadata.len(), limit });
        }
        let mut bytes = Vec::new();
        let mut piece = [0; BEGINNING];
        loop {
            let read = match file.read(&mut piece) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(FsError::io(shown(), source)),
            };
            bytes.extend_from_slice(&piece[..read]);
            if bytes.len() as u64 > limit {
                let size = bytes.len() as u64;
                return Err(FsError::TooLarge { path: shown(), size, limit });
            }
            // Looking again at all that was read is worth it only when there is twice as much.
            let is_time = bytes.len() <= BEGINNING || (bytes.len() / BEGINNING).is_power_of_two();
            let end = if is_time || read == 0 { enough(&bytes) } else { None };
            if end.is_some() || read == 0 {
                bytes.truncate(end.unwrap_or(bytes.len()));
                return Ok(Beginning { bytes, stamp: sys::stamp_of(&metadata) });
            }
        }
    }

    /// Returns true if there is anything at `path`; a link counts as such.
    pub fn has_entry(&self, path: &str) -> Result<bool, FsError> {
        match self.folder.stat(path) {
            Ok(_) => Ok(true),
            Err(error) => match FsError::io(self.path.join(path).as_str(), error) {
                FsError::NotFound { .. } | FsError::NotAFolder { .. } => Ok(false),
                other => Err(other),
            },
        }
    }

    /// As [`Self::read`], with the stamp of the file that was read.
    pub fn read_stamped(
        &self,
        path: &RelPath,
        limit: u64,
    ) -> Result<(Vec<u8>, Option<Stamp>), FsError> {
        let (mut file, metadata) = self.regular(path, self.open_file(path))?;
        let bytes = self.all_of(path, &mut file, metadata.len(), limit)?;
        Ok((bytes, sys::stamp_of(&metadata)))
    }

    /// Returns where the folder is.
    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Opens a regular file below the folder.
    pub fn file(&self, path: &RelPath) -> Result<File, FsError> {
        Ok(self.regular(path, self.open_file(path))?.0)
    }

    /// Opens a regular file below the folder, with no link on the way, and describes it.
    pub(crate) fn plain_file(&self, path: &RelPath) -> Result<(File, Metadata), FsError> {
        self.regular(path, self.open_plain_file(path))
    }

    /// Opens what was listed as a regular file, with no link on the way, and does not look again.
    pub(crate) fn unchecked_file(&self, path: &RelPath) -> Result<File, FsError> {
        self.open_plain_file(path)
    }

    /// Reads a regular file below the folder, at most `limit` bytes.
    pub fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let (mut file, metadata) = self.regular(path, self.open_file(path))?;
        self.all_of(path, &mut file, metadata.len(), limit)
    }

    /// Reads an open file of `size` bytes to its end.
    fn all_of(
        &self,
        path: &RelPath,
        file: &mut File,
        size: u64,
        limit: u64,
    ) -> Result<Vec<u8>, FsError> {
        let shown = || self.path.join(path.as_str()).to_string();
        if size > limit {
            return Err(FsError::TooLarge { path: shown(), size, limit });
        }
        let bytes = read_sized(file, size, limit).map_err(|source| FsError::io(shown(), source))?;
        match bytes.len() as u64 {
            read if read > limit => Err(FsError::TooLarge { path: shown(), size: read, limit }),
            // Files that the kernel makes up say that they are empty.
            read if read != size && size != 0 => Err(FsError::Changed { path: shown() }),
            _ => Ok(bytes),
        }
    }

    /// Returns which file here is the SKILL.md.
    pub fn skill_file(&self) -> Result<SkillFile, FsError> {
        let mut names = Vec::new();
        let listed = sys::each_entry(&self.folder, |name, _| {
            // Nothing but the few names that matter is kept of a folder of any size.
            let name =
                std::str::from_utf8(name).ok().filter(|name| name.eq_ignore_ascii_case(SKILL_FILE));
            names.extend(name.map(str::to_owned));
            Ok::<(), io::Error>(())
        });
        listed.map_err(|source| FsError::io(self.path.as_str(), source))?;
        Ok(SkillFile::pick(names.iter().map(String::as_str)))
    }

    /// Returns true if there is something at `path`, be it a file or a folder, without following links
    /// out of the folder.
    pub fn has(&self, path: &RelPath) -> Result<bool, FsError> {
        match self.open_file(path) {
            Ok(_) => Ok(true),
            Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    fn regular(
        &self,
        path: &RelPath,
        opened: Result<File, FsError>,
    ) -> Result<(File, Metadata), FsError> {
        let shown = || self.path.join(path.as_str()).to_string();
        let file = opened?;
        let metadata = file.metadata().map_err(|source| FsError::io(shown(), source))?;
        if metadata.is_file() {
            return Ok((file, metadata));
        }
        let kind = if metadata.is_dir() { "a folder" } else { "a FIFO, socket or device" };
        Err(FsError::NotRegular { path: shown(), kind })
    }
}

/// Reads to the end, and one byte further than was measured: a file that grew is told apart.
fn read_sized(file: &mut File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let most = if size == 0 { limit } else { size };
    let mut bytes = Vec::with_capacity(usize::try_from(size.saturating_add(1)).unwrap_or(0));
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
