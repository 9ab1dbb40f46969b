//! Atomic replacement: a concurrent reader sees the old version or the new one, and never finds it missing.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io::{self, Write};

use skill::{RelPath, SKILL_FILE};

use crate::staged::Staged;
use crate::{AbsPath, Entry, FsError, Kind, Root, WalkLimits, sys, walk};

/// The result of writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The file already had these bytes; nothing was written.
    Unchanged,
    /// The file did not exist before.
    Created,
    /// The file had other bytes before.
    Replaced,
}

/// The result of replacing a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// The target did not exist before; the staged folder was moved.
    Created,
    /// The two folders were exchanged: the old one is now at the staged path.
    Exchanged,
    /// The file system cannot exchange folders, so the files were moved one by one, SKILL.md last.
    /// Only empty folders are left at the staged path.
    FileByFile,
}

/// How to replace a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceMethod {
    /// Atomically as a whole.
    Exchange,
    /// Atomically file by file, for file systems that cannot exchange folders.
    FileByFile,
}

/// Writes `bytes` to a temporary file next to `path` and renames it, unless `path` already has these bytes.
///
/// A file that is replaced keeps its permissions. Fails if `path` is a symlink or anything else but a regular file.
pub fn write_file(path: &AbsPath, bytes: &[u8]) -> Result<Written, FsError> {
    write_parts(path, &[bytes])
}

/// Like [`write_file`], for bytes in several slices.
pub fn write_parts(path: &AbsPath, parts: &[&[u8]]) -> Result<Written, FsError> {
    let failed = |source| FsError::io(path.as_str(), source);
    let old = match fs::symlink_metadata(path.as_path()) {
        Ok(metadata) if metadata.is_file() => Some(metadata),
        Ok(metadata) => {
            let kind =
                if metadata.is_dir() { "a folder" } else { "a symlink, FIFO, socket or device" };
            return Err(FsError::NotRegular { path: path.to_string(), kind });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
    if old.as_ref().is_some_and(|old| old.len() == length) {
        let found = fs::read(path.as_path()).map_err(failed)?;
        let mut rest = found.as_slice();
        let mut starts_rest = |part: &&[u8]| match rest.strip_prefix(*part) {
            Some(after) => {
                rest = after;
                true
            }
            None => false,
        };
        if parts.iter().all(&mut starts_rest) {
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

/// Replaces the folder `target` with the folder `staged`. Both must be on the same file system.
///
/// A concurrent reader of `target` finds every file it looks for, old or new. Whatever is left at `staged`
/// afterwards is no longer needed; the caller must delete it.
pub fn replace_folder(staged: &AbsPath, target: &AbsPath) -> Result<Replaced, FsError> {
    replace_folder_by(ReplaceMethod::Exchange, staged, target)
}

/// Atomically exchanges two entries of any type on the same file system. Returns false if the file system cannot.
pub fn exchange(one: &AbsPath, other: &AbsPath) -> Result<bool, FsError> {
    match sys::exchange(one.as_path(), other.as_path()) {
        Ok(()) => Ok(true),
        Err(error) if cannot_exchange(&error) => Ok(false),
        Err(error) => Err(FsError::io(other.as_str(), error)),
    }
}

/// Like [`replace_folder`], with an explicit method.
pub fn replace_folder_by(
    method: ReplaceMethod,
    staged: &AbsPath,
    target: &AbsPath,
) -> Result<Replaced, FsError> {
    let failed = |source| FsError::io(target.as_str(), source);
    if !is_folder(staged)? {
        return Err(FsError::NotFound { path: staged.to_string() });
    }
    if !is_folder(target)? {
        // Never replaces anything but a folder: `rename_new` fails if something exists at `target`.
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
    // Checked before anything changes, because half of a move across file systems cannot be undone.
    if !sys::is_same_device(staged.as_path(), target.as_path()).map_err(failed)? {
        return Err(failed(io::ErrorKind::CrossesDevices.into()));
    }
    if method == ReplaceMethod::FileByFile {
        return file_by_file(staged, target);
    }
    match sys::exchange(staged.as_path(), target.as_path()) {
        Ok(()) => Ok(Replaced::Exchanged),
        Err(error) if cannot_exchange(&error) => file_by_file(staged, target),
        Err(error) => Err(failed(error)),
    }
}

/// Returns true for the errors of file systems that cannot exchange: the lower layer of a container's overlayfs
/// returns `EXDEV`, others reject the flag.
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
            .map(|index| entries[index].kind == Kind::Folder)
    };
    let in_target = |path: &RelPath| target.join(path.as_str());
    for folder in new.iter().filter(|entry| entry.kind == Kind::Folder) {
        if kind_of(&old, &folder.path) == Some(false) {
            remove_file(&in_target(&folder.path))?;
        }
        let path = in_target(&folder.path);
        fs::create_dir_all(path.as_path()).map_err(|source| FsError::io(path.as_str(), source))?;
    }
    let (last, files): (Vec<&Entry>, Vec<&Entry>) = new
        .iter()
        .filter(|entry| entry.kind != Kind::Folder)
        .partition(|entry| entry.path.as_str() == SKILL_FILE);
    for file in files.into_iter().chain(last) {
        let to = in_target(&file.path);
        if kind_of(&old, &file.path) == Some(true) {
            remove_tree(&to)?;
        }
        let from = staged.join(file.path.as_str());
        sys::replace(from.as_path(), to.as_path())
            .map_err(|source| FsError::io(to.as_str(), source))?;
    }
    // Deepest first, so that the contents of a folder are removed before the folder.
    for removed in old.iter().rev().filter(|entry| kind_of(&new, &entry.path).is_none()) {
        let path = in_target(&removed.path);
        match removed.kind {
            Kind::Folder => remove_tree(&path)?,
            Kind::File { .. } | Kind::Link(_) | Kind::Other(_) => remove_file(&path)?,
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
    ignore_missing(sys::remove_file(path.as_path()), path)
}

fn remove_tree(path: &AbsPath) -> Result<(), FsError> {
    ignore_missing(sys::remove_dir_all(path.as_path()), path)
}

fn ignore_missing(result: io::Result<()>, path: &AbsPath) -> Result<(), FsError> {
    match result.map_err(|source| FsError::io(path.as_str(), source)) {
        // The folder around it was removed first or replaced by a file.
        Ok(()) | Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
