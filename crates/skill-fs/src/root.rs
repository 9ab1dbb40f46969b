//! Reads below one folder, and never anything else.

use std::fs::{File, Metadata};
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
        Ok(Self { path: path.clone(), folder })
    }

    /// Opens a folder inside this one, which must not be a link.
    pub fn child(&self, name: &str) -> Result<Self, FsError> {
        let path = self.path.join(name);
        let folder =
            self.folder.folder(name).map_err(|source| FsError::confined(path.as_str(), source))?;
        Ok(Self { path, folder })
    }

    /// Returns where the folder is.
    pub fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Opens a regular file below the folder.
    pub fn file(&self, path: &RelPath) -> Result<File, FsError> {
        Ok(self.regular(path, sys::open_beneath(&self.folder, path))?.0)
    }

    /// Opens a regular file below the folder, with no link on the way, and describes it.
    pub(crate) fn plain_file(&self, path: &RelPath) -> Result<(File, Metadata), FsError> {
        self.regular(path, sys::open_plain(&self.folder, path))
    }

    /// Opens what was listed as a regular file, with no link on the way, and does not look again.
    pub(crate) fn unchecked_file(&self, path: &RelPath) -> Result<File, FsError> {
        let shown = || self.path.join(path.as_str()).to_string();
        sys::open_plain(&self.folder, path).map_err(|source| FsError::confined(shown(), source))
    }

    /// Reads a regular file below the folder, at most `limit` bytes.
    pub fn read(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let (mut file, metadata) = self.regular(path, sys::open_beneath(&self.folder, path))?;
        let (shown, size) = (|| self.path.join(path.as_str()).to_string(), metadata.len());
        if size > limit {
            return Err(FsError::TooLarge { path: shown(), size, limit });
        }
        let bytes =
            read_sized(&mut file, size, limit).map_err(|source| FsError::io(shown(), source))?;
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
        match sys::open_beneath(&self.folder, path) {
            Ok(_) => Ok(true),
            Err(error) => match FsError::confined(self.path.join(path.as_str()).as_str(), error) {
                FsError::NotFound { .. } | FsError::NotAFolder { .. } => Ok(false),
                other => Err(other),
            },
        }
    }

    fn regular(
        &self,
        path: &RelPath,
        opened: io::Result<File>,
    ) -> Result<(File, Metadata), FsError> {
        let shown = || self.path.join(path.as_str()).to_string();
        let file = opened.map_err(|source| FsError::confined(shown(), source))?;
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
