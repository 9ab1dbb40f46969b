//! Reads below one folder, and never anything else.

use std::fs::File;
use std::io::{self, Read};

use skill::{RelPath, SKILL_FILE, SKILL_FILE_FALLBACK};

use crate::sys::{self, Folder};
use crate::{AbsPath, FsError};

/// A folder whose files can be read by relative path. Links that lead out are refused by the kernel;
/// FIFOs, devices and sockets are never waited for.
#[derive(Debug)]
pub struct Root {
    path: AbsPath,
    pub(crate) folder: Folder,
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
    pub(crate) fn pick<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut picked = Self::Missing;
        for name in names.into_iter().filter(|name| name.eq_ignore_ascii_case(SKILL_FILE)) {
            match (name, &picked) {
                (SKILL_FILE, _) => return Self::Standard,
                (SKILL_FILE_FALLBACK, _) => picked = Self::Fallback,
                (_, Self::Missing) => {
                    picked = RelPath::new(name).map_or(Self::Missing, Self::Nearly);
                }
                (_, Self::Standard | Self::Fallback | Self::Nearly(_)) => {}
            }
        }
        picked
    }
}

impl Root {
    /// Opens a folder that the caller was told to use.
    pub fn open(path: &AbsPath) -> Result<Self, FsError> {
        let folder =
            Folder::open(path.as_path()).map_err(|source| FsError::io(path.as_str(), source))?;
        Ok(Self { path: path.clone(), folder })
    }

    /// Opens a folder inside this one, which must not be a link.
    pub(crate) fn child(&self, name: &str) -> Result<Self, FsError> {
        let path = self.path.join(name);
        let folder =
            self.folder.folder(name).map_err(|source| FsError::io(path.as_str(), source))?;
        Ok(Self { path, folder })
    }

    /// Returns where the folder is.
    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Opens a regular file below the folder.
    pub fn file(&self, path: &RelPath) -> Result<File, FsError> {
        let (file, _) = self.open_regular(path)?;
        Ok(file)
    }

    /// Reads a regular file below the folder, at most `limit` bytes.
    pub fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let (mut file, size) = self.open_regular(path)?;
        let shown = || self.path.join(path.as_str()).to_string();
        if size > limit {
            return Err(FsError::TooLarge { path: shown(), size, limit });
        }
        let bytes =
            read_sized(&mut file, size, limit).map_err(|source| FsError::io(shown(), source))?;
        match bytes.len() as u64 {
            // It grew after it was measured.
            size if size > limit => Err(FsError::TooLarge { path: shown(), size, limit }),
            _ => Ok(bytes),
        }
    }

    /// Returns which file here is the SKILL.md.
    pub fn skill_file(&self) -> Result<SkillFile, FsError> {
        let names = self.folder.list().map_err(|source| FsError::io(self.path.as_str(), source))?;
        let names = names.iter().filter_map(|(name, _)| std::str::from_utf8(name).ok());
        Ok(SkillFile::pick(names))
    }

    /// Returns true if there is something at `path`, be it a file or a folder, without following links
    /// out of the folder.
    pub fn has(&self, path: &RelPath) -> Result<bool, FsError> {
        match sys::open_beneath(&self.folder, path) {
            Ok(_) => Ok(true),
            Err(error) => match FsError::io(self.path.join(path.as_str()).as_str(), error) {
                FsError::NotFound { .. } | FsError::NotAFolder { .. } => Ok(false),
                other => Err(other),
            },
        }
    }

    fn open_regular(&self, path: &RelPath) -> Result<(File, u64), FsError> {
        let shown = || self.path.join(path.as_str()).to_string();
        let file =
            sys::open_beneath(&self.folder, path).map_err(|source| FsError::io(shown(), source))?;
        let metadata = file.metadata().map_err(|source| FsError::io(shown(), source))?;
        if metadata.is_file() {
            return Ok((file, metadata.len()));
        }
        let kind = if metadata.is_dir() { "a folder" } else { "a FIFO, socket or device" };
        Err(FsError::NotRegular { path: shown(), kind })
    }
}

/// Reads to the end, with one call where the file is as long as it was measured.
fn read_sized(file: &mut File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    if size == 0 {
        // Files that the kernel makes up say that they are empty.
        file.take(limit + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
