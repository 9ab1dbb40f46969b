//! Replacement in one step: who reads meanwhile sees the old or the new, never nothing.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io::{self, Write};

use skill::{RelPath, SKILL_FILE};

use crate::staged::Staged;
use crate::{AbsPath, Entry, FsError, Kind, Root, WalkLimits, sys, walk};

/// What writing a file did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It had these bytes already; nothing was written.
    Unchanged,
    /// There was none before.
    Created,
    /// It had other bytes before.
    Replaced,
}

/// What replacing a folder did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// There was none before; the staged folder was moved.
    Created,
    /// The two folders changed places: the staged path now holds the old one.
    Exchanged,
    /// The file system cannot exchange folders, so the files were moved one by one, SKILL.md last.
    /// What is left at the staged path is empty folders.
    FileByFile,
}

/// How a folder is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// In one step.
    Exchange,
    /// Each file in one step, for file systems that cannot do better.
    FileByFile,
}

/// Writes `bytes` to `path` through a file beside it, unless they are there already.
///
/// A file that is replaced keeps its permissions. A link or anything else but a file is refused.
pub fn write_file(path: &AbsPath, bytes: &[u8]) -> Result<Written, FsError> {
    write_parts(path, &[bytes])
}

/// As [`write_file`], of bytes that are in several places.
pub fn write_parts(path: &AbsPath, parts: &[&[u8]]) -> Result<Written, FsError> {
    let failed = |source| FsError::io(path.as_str(), source);
    let old = match fs::symlink_metadata(path.as_path()) {
        Ok(metadata) if metadata.is_file() => Some(metadata),
        Ok(metadata) => {
            let kind =
                if metadata.is_dir() { "a folder" } else { "a link, FIFO, socket or device" };
            return Err(FsError::NotRegular { path: path.to_string(), kind });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
    if old.as_ref().is_some_and(|old| old.len() == length) {
        let found = fs::read(path.as_path()).map_err(failed)?;
        let mut rest = found.as_slice();
        let mut is_next = |part: &&[u8]| match rest.strip_prefix(*part) {
            Some(after) => {
                rest = after;
                true
            }
            None => false,
        };
        if parts.iter().all(&mut is_next) {
            return Ok(Written::Unchanged);
        }
    }
    let mut staged = Staged::beside(path.as_path()).map_err(failed)?;
    for part in parts {
        staged.file.write_all(part).map_err(failed)?;
    }
    if let Some(old) = &old {
        staged.file.set_permissions(old.permissions()).map_err(failed)?;
    }
    staged.persist(path.as_path()).map_err(failed)?;
    Ok(if old.is_some() { Written::Replaced } else { Written::Created })
}

/// Puts the folder `staged` where `target` is. Both must be on one file system.
///
/// A concurrent reader of `target` finds every file it looks for, old or new. Whatever is at `staged`
/// afterwards is not needed any more; the caller deletes it when it is done.
pub fn replace_folder(staged: &AbsPath, target: &AbsPath) -> Result<Replaced, FsError> {
    replace_folder_by(Method::Exchange, staged, target)
}

/// Exchanges two entries of one file system in one step, whatever kinds they are; false where the file system cannot.
pub fn exchange(one: &AbsPath, other: &AbsPath) -> Result<bool, FsError> {
    match sys::exchange(one.as_path(), other.as_path()) {
        Ok(()) => Ok(true),
        Err(error) if cannot_exchange(&error) => Ok(false),
        Err(error) => Err(FsError::io(other.as_str(), error)),
    }
}

/// As [`replace_folder`], by a method of the caller's choice.
pub fn replace_folder_by(
    method: Method,
    staged: &AbsPath,
    target: &AbsPath,
) -> Result<Replaced, FsError> {
    let failed = |source| FsError::io(target.as_str(), source);
    if !is_folder(staged)? {
        return Err(FsError::NotFound { path: staged.to_string() });
    }
    if !is_folder(target)? {
        // Refuses to replace anything that is no folder; an empty place is the only one to move into.
        return match sys::rename_new(staged.as_path(), target.as_path()) {
            Ok(()) => Ok(Replaced::Created),
            Err(error) if cannot_exchange(&error) && !exists(target)? => {
                fs::rename(staged.as_path(), target.as_path())
                    .map(|()| Replaced::Created)
                    .map_err(failed)
            }
            Err(error) => Err(failed(error)),
        };
    }
    // Found out before anything is touched: half of a move across file systems cannot be taken back.
    if !sys::is_same_device(staged.as_path(), target.as_path()).map_err(failed)? {
        return Err(failed(io::ErrorKind::CrossesDevices.into()));
    }
    if method == Method::FileByFile {
        return file_by_file(staged, target);
    }
    match sys::exchange(staged.as_path(), target.as_path()) {
        Ok(()) => Ok(Replaced::Exchanged),
        Err(error) if cannot_exchange(&error) => file_by_file(staged, target),
        Err(error) => Err(failed(error)),
    }
}

/// Returns true for the answers of file systems that cannot exchange: a container's lower layer says
/// `EXDEV`, others that they do not know the flag.
fn cannot_exchange(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::CrossesDevices | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

fn file_by_file(staged: &AbsPath, target: &AbsPath) -> Result<Replaced, FsError> {
    let new = walk(&Root::open(staged)?, &WalkLimits::SKILL)?;
    let old = walk(&Root::open(target)?, &WalkLimits::SKILL)?;
    let kind_of = |entries: &[Entry], path: &RelPath| {
        entries
            .binary_search_by(|entry| entry.path.cmp(path))
            .ok()
            .map(|at| entries[at].kind == Kind::Folder)
    };
    let place = |path: &RelPath| target.join(path.as_str());
    for folder in new.iter().filter(|entry| entry.kind == Kind::Folder) {
        if kind_of(&old, &folder.path) == Some(false) {
            remove_file(&place(&folder.path))?;
        }
        let at = place(&folder.path);
        fs::create_dir_all(at.as_path()).map_err(|source| FsError::io(at.as_str(), source))?;
    }
    let (last, files): (Vec<&Entry>, Vec<&Entry>) = new
        .iter()
        .filter(|entry| entry.kind != Kind::Folder)
        .partition(|entry| entry.path.as_str() == SKILL_FILE);
    for file in files.into_iter().chain(last) {
        let at = place(&file.path);
        if kind_of(&old, &file.path) == Some(true) {
            remove_tree(&at)?;
        }
        let from = staged.join(file.path.as_str());
        fs::rename(from.as_path(), at.as_path())
            .map_err(|source| FsError::io(at.as_str(), source))?;
    }
    // Deepest first, so that a folder is empty when its turn comes.
    for gone in old.iter().rev().filter(|entry| kind_of(&new, &entry.path).is_none()) {
        let at = place(&gone.path);
        match gone.kind {
            Kind::Folder => remove_tree(&at)?,
            Kind::File { .. } | Kind::Link(_) | Kind::Other(_) => remove_file(&at)?,
        }
    }
    Ok(Replaced::FileByFile)
}

fn is_folder(path: &AbsPath) -> Result<bool, FsError> {
    match fs::symlink_metadata(path.as_path()) {
        Ok(metadata) => Ok(metadata.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FsError::io(path.as_str(), error)),
    }
}

fn exists(path: &AbsPath) -> Result<bool, FsError> {
    fs::exists(path.as_path()).map_err(|source| FsError::io(path.as_str(), source))
}

fn remove_file(path: &AbsPath) -> Result<(), FsError> {
    ignore_missing(fs::remove_file(path.as_path()), path)
}

fn remove_tree(path: &AbsPath) -> Result<(), FsError> {
    ignore_missing(fs::remove_dir_all(path.as_path()), path)
}

fn ignore_missing(result: io::Result<()>, path: &AbsPath) -> Result<(), FsError> {
    match result.map_err(|source| FsError::io(path.as_str(), source)) {
        // Its folder went before it, or became a file.
        Ok(()) | Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
