//! Reads confined to one folder.

use std::fs::{File, Metadata};
use std::io::{self, Read};

use skill::{RelPath, SKILL_FILE, SKILL_FILE_FALLBACK};

use crate::sys::{self, Folder, Stat, Type};
use crate::{AbsPath, FsError, Stamp};

/// How many bytes to read at a time when only the beginning of a file is needed.
const CHUNK: usize = 1 << 10;

/// A folder whose files can be read by relative path. The kernel refuses symlinks that lead out of it, and opening a
/// FIFO, device or socket never blocks.
#[derive(Debug)]
pub struct Root {
    pub(crate) path: AbsPath,
    pub(crate) folder: Folder,
    /// Whether it is the folder of a skill, whose repository is hidden.
    pub(crate) is_skill: bool,
}

/// The type of an entry in a folder.
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

/// The entries of a folder.
#[derive(Debug)]
pub struct Entries {
    /// Every entry whose name is valid UTF-8.
    pub named: Vec<(String, EntryType)>,
    /// The number of other entries.
    pub unnamed: usize,
}

/// The first bytes of a file.
#[derive(Debug)]
pub struct Beginning {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The stamp of the open file, so it belongs to these bytes; `None` if the system records none.
    pub stamp: Option<Stamp>,
}

/// Returns the real path of a folder, with every symlink resolved.
#[expect(clippy::disallowed_methods, reason = "the edge to the file system")]
pub fn real_path(path: &AbsPath) -> Result<AbsPath, FsError> {
    let real = std::fs::canonicalize(path.as_path())
        .map_err(|source| FsError::confined(path.as_str(), source))?;
    AbsPath::new(real)
        .map_err(|error| FsError::io(path.as_str(), io::Error::other(error.to_string())))
}

/// The SKILL.md of a folder, by how its name is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillFile {
    /// `SKILL.md`.
    Standard,
    /// `skill.md`, which is accepted as well.
    Fallback,
    /// The name has the wrong case: `Skill.md`, `SKILL.MD` and the like.
    WrongCase(RelPath),
    /// The folder has no such file.
    Missing,
}

impl SkillFile {
    /// Returns the path of the file in its folder.
    pub fn path(&self) -> Option<RelPath> {
        match self {
            Self::Standard => Some(RelPath::new(SKILL_FILE).expect("it is a plain name")),
            Self::Fallback => Some(RelPath::new(SKILL_FILE_FALLBACK).expect("it is a plain name")),
            Self::WrongCase(path) => Some(path.clone()),
            Self::Missing => None,
        }
    }

    /// Classifies a single file name.
    pub fn named(name: &str) -> Self {
        Self::pick([name])
    }

    /// Picks the SKILL.md from the names in a folder.
    pub fn pick<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> =
            names.into_iter().filter(|name| name.eq_ignore_ascii_case(SKILL_FILE)).collect();
        names.sort_unstable();
        match names.first() {
            None => Self::Missing,
            Some(_) if names.contains(&SKILL_FILE) => Self::Standard,
            Some(_) if names.contains(&SKILL_FILE_FALLBACK) => Self::Fallback,
            Some(first) => RelPath::new(*first).map_or(Self::Missing, Self::WrongCase),
        }
    }
}

impl Root {
    /// Opens a folder that the caller trusts; symlinks in its path are followed.
    pub fn open(path: &AbsPath) -> Result<Self, FsError> {
        let folder =
            Folder::open(path.as_path()).map_err(|source| FsError::io(path.as_str(), source))?;
        Ok(Self { path: path.clone(), folder, is_skill: false })
    }

    /// Opens a folder in this one; fails if it is a symlink.
    pub fn child(&self, name: &str) -> Result<Self, FsError> {
        let path = self.path.join(name);
        if self.skips(name.as_bytes()) {
            return Err(FsError::Escapes { path: path.to_string() });
        }
        let folder =
            self.folder.folder(name).map_err(|source| FsError::confined(path.as_str(), source))?;
        Ok(Self { path, folder, is_skill: false })
    }

    /// Opens a folder at its real path; fails if any component of the path is a symlink.
    pub fn open_real(path: &AbsPath) -> Result<Self, FsError> {
        let folder = sys::open_real(path.as_path())
            .map_err(|source| FsError::confined(path.as_str(), source))?;
        Ok(Self { path: path.clone(), folder, is_skill: false })
    }

    /// Returns device and inode, which identify the folder on this machine; `None` if the system has no such numbers.
    pub fn identity(&self) -> Result<Option<(u64, u64)>, FsError> {
        self.folder.identity().map_err(|source| FsError::io(self.path.as_str(), source))
    }

    /// Returns the stamp of the regular file at `path`, following symlinks; `None` if there is no such file or the
    /// system records no stamp. Use it to check whether a known file is unchanged; the file itself is not read.
    pub fn stamp(&self, path: &str) -> Option<Stamp> {
        Self::stamp_of(self.folder.stat_following(path).ok()?)
    }

    /// Like [`Self::stamp`], but returns `None` if the last component of the path is a symlink.
    pub fn plain_stamp(&self, path: &str) -> Option<Stamp> {
        Self::stamp_of(self.folder.stat(path).ok()?)
    }

    fn stamp_of(stat: Stat) -> Option<Stamp> {
        let inode = stat.inode.filter(|_| stat.kind == Type::File)?;
        Some(Stamp::new(stat.size, &inode))
    }

    /// Returns the entries of the folder, in no particular order.
    pub fn entries(&self) -> Result<Entries, FsError> {
        let mut all = Entries { named: Vec::new(), unnamed: 0 };
        let listed = sys::each_entry(&self.folder, |name, kind| {
            match std::str::from_utf8(name) {
                Err(_) => all.unnamed += 1,
                Ok(name) if self.skips(name.as_bytes()) => {}
                Ok(name) => {
                    // Some file systems do not report the type of an entry in listings.
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

    /// Reads a regular file below the folder until `enough` returns how many of the bytes read so far to keep, or to
    /// its end. Fails if the file has more than `limit` bytes.
    pub fn read_beginning(
        &self,
        path: &RelPath,
        limit: u64,
        enough: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Beginning, FsError> {
        self.beginning(path, self.open_file(path), limit, enough)
    }

    /// Like [`Self::read_beginning`], but follows no symlink.
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
        let mut piece = [0; CHUNK];
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
            // `enough` examines all bytes again, so it is called only each time their number has doubled.
            let is_due = bytes.len() <= CHUNK || (bytes.len() / CHUNK).is_power_of_two();
            let end = if is_due || read == 0 { enough(&bytes) } else { None };
            if end.is_some() || read == 0 {
                bytes.truncate(end.unwrap_or(bytes.len()));
                return Ok(Beginning { bytes, stamp: sys::stamp_of(&metadata) });
            }
        }
    }

    /// Returns true if there is an entry at `path`, even a dangling symlink.
    pub fn has_entry(&self, path: &str) -> Result<bool, FsError> {
        match self.folder.stat(path) {
            Ok(_) => Ok(true),
            Err(error) => match FsError::io(self.path.join(path).as_str(), error) {
                FsError::NotFound { .. } | FsError::NotAFolder { .. } => Ok(false),
                other => Err(other),
            },
        }
    }

    /// Like [`Self::read`], and also returns the stamp of the open file.
    pub fn read_stamped(
        &self,
        path: &RelPath,
        limit: u64,
    ) -> Result<(Vec<u8>, Option<Stamp>), FsError> {
        let (mut file, metadata) = self.regular(path, self.open_file(path))?;
        let bytes = self.all_of(path, &mut file, metadata.len(), limit)?;
        Ok((bytes, sys::stamp_of(&metadata)))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Opens a regular file below the folder.
    pub fn file(&self, path: &RelPath) -> Result<File, FsError> {
        Ok(self.regular(path, self.open_file(path))?.0)
    }

    /// Opens a regular file below the folder, following no symlink, and returns its metadata.
    pub(crate) fn plain_file(&self, path: &RelPath) -> Result<(File, Metadata), FsError> {
        self.regular(path, self.open_plain_file(path))
    }

    /// Opens an entry that was listed as a regular file, following no symlink and without checking its type again.
    pub(crate) fn unchecked_file(&self, path: &RelPath) -> Result<File, FsError> {
        self.open_plain_file(path)
    }

    /// Reads a regular file below the folder; fails if it has more than `limit` bytes.
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
            // Files generated by the kernel, such as those in /proc, report a size of 0.
            read if read != size && size != 0 => Err(FsError::Changed { path: shown() }),
            _ => Ok(bytes),
        }
    }

    /// Finds the SKILL.md of the folder.
    pub fn skill_file(&self) -> Result<SkillFile, FsError> {
        let mut names = Vec::new();
        let listed = sys::each_entry(&self.folder, |name, _| {
            // Keep only the few names that matter, so that memory use does not grow with the folder.
            let name =
                std::str::from_utf8(name).ok().filter(|name| name.eq_ignore_ascii_case(SKILL_FILE));
            names.extend(name.map(str::to_owned));
            Ok::<(), io::Error>(())
        });
        listed.map_err(|source| FsError::io(self.path.as_str(), source))?;
        Ok(SkillFile::pick(names.iter().map(String::as_str)))
    }

    /// Returns true if `path` leads to a file or folder; fails if a symlink leads out of this folder.
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

/// Reads to the end, or up to one byte more than the expected size, so that growth of the file is detected.
fn read_sized(file: &mut File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let max = if size == 0 { limit } else { size };
    let mut bytes = Vec::with_capacity(usize::try_from(size.saturating_add(1)).unwrap_or(0));
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
