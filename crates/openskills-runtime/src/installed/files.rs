//! Writes packages to a skill folder and removes them again, atomically.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use skill::Digest;
use skill_fs::{AbsPath, FsError, Root, WalkLimits, digests, real_path, replace_folder, walk};
use skill_pack::Package;

use super::scratch::{Scratch, sweep};
use crate::discover::roots::is_discovered;
use crate::state::decisions::no_state_folder;
use crate::{Places, RuntimeError, rfc3339};

/// The folder for backups of edited skills.
const BACKUPS: &str = "backups";

fn failed(path: &Path, source: io::Error) -> RuntimeError {
    FsError::Io { path: path.display().to_string(), source }.into()
}

/// Creates the skill folder. A symlink in its place is not followed.
fn make(skills: &AbsPath) -> Result<(), RuntimeError> {
    fs::create_dir_all(skills.as_path()).map_err(|source| failed(skills.as_path(), source))?;
    let is_folder = fs::symlink_metadata(skills.as_path()).is_ok_and(|found| found.is_dir());
    if is_folder {
        return Ok(());
    }
    Err(FsError::NotAFolder { path: skills.to_string() }.into())
}

/// Returns possible staging folders for a skill folder, best first: the nearest parent that discovery does not search,
/// then the folder itself, where discovery skips the names of scratch folders. All folders in the cache share one.
fn staging(skills: &AbsPath, places: &Places) -> Vec<AbsPath> {
    let cache = places.cache.as_ref().map(|cache| real_path(cache).unwrap_or(cache.clone()));
    if let Some(cache) = cache.filter(|cache| skills.as_path().starts_with(cache.as_path())) {
        return vec![cache];
    }
    let around = std::iter::successors(skills.parent(), AbsPath::parent);
    let outside = around.into_iter().find(|folder| !is_discovered(folder, places));
    let outside = outside.filter(|folder| is_same_device(folder, skills));
    outside.into_iter().chain([skills.clone()]).collect()
}

fn scratch(skills: &AbsPath, places: &Places) -> Result<Scratch, RuntimeError> {
    clean_up(skills, places);
    let mut made = Err(io::Error::other("no folder for temporary files"));
    for folder in staging(skills, places) {
        made = Scratch::below(&folder);
        if made.is_ok() {
            break;
        }
    }
    made.map_err(|source| failed(skills.as_path(), source))
}

/// Removes leftovers of killed processes from a skill folder's staging and backup folders.
pub fn clean_up(skills: &AbsPath, places: &Places) {
    // Staging used the real path.
    let skills = &real_path(skills).unwrap_or_else(|_| skills.clone());
    let backups = backups(skills, places).ok();
    // Earlier versions always staged next to the folder.
    let folders = staging(skills, places).into_iter().chain(skills.parent()).chain(backups);
    let folders = folders.chain(own_backups(places).ok());
    folders.for_each(|folder| sweep(&folder));
}

/// Writes a package to a skill folder and replaces an existing version. Concurrent readers see either the old or the
/// new version.
pub fn put(package: &Package, skills: &AbsPath, places: &Places) -> Result<AbsPath, RuntimeError> {
    make(skills)?;
    let scratch = scratch(&real_path(skills)?, places)?;
    let staged = scratch.path().join(&package.name);
    package.unpack(&staged)?;
    let staged = AbsPath::new(&staged)
        .map_err(|error| failed(&staged, io::Error::other(error.to_string())))?;
    let target = skills.join(&package.name);
    replace_folder(&staged, &target)?;
    Ok(target)
}

/// Removes a skill.
pub(crate) fn remove_skill(
    skills: &AbsPath,
    name: &str,
    places: &Places,
) -> Result<(), RuntimeError> {
    // Opening it fails if it is a symlink.
    let target = skills.join(name);
    Root::open_real(&target)?;
    let scratch = scratch(&real_path(skills)?, places)?;
    fs::rename(target.as_path(), scratch.path().join(name))
        .map_err(|source| failed(target.as_path(), source))
}

/// Returns the backup folder of a skill folder: next to it, or in the data folder if discovery would search it there.
fn backups(skills: &AbsPath, places: &Places) -> Result<AbsPath, RuntimeError> {
    match skills.parent().filter(|around| !is_discovered(around, places)) {
        Some(around) => Ok(around.join(BACKUPS)),
        None => own_backups(places),
    }
}

fn own_backups(places: &Places) -> Result<AbsPath, RuntimeError> {
    Ok(places.data.as_ref().ok_or_else(no_state_folder)?.join(BACKUPS))
}

/// Copies an edited skill to the backup folder; returns the path of the copy.
pub(crate) fn back_up_skill(
    skills: &AbsPath,
    name: &str,
    places: &Places,
) -> Result<AbsPath, RuntimeError> {
    back_up(&skills.join(name), name, &backups(&real_path(skills)?, places)?)
}

/// Copies an edited bundle to the backups in the data folder; returns the path of the copy. A bundle can be anywhere,
/// so a backup next to it might be discovered as a skill.
pub fn back_up_bundle(
    skills: &AbsPath,
    name: &str,
    places: &Places,
) -> Result<AbsPath, RuntimeError> {
    back_up(&skills.join(name), name, &own_backups(places)?)
}

/// Copies a folder to the backups atomically, unless there is an identical backup; returns the path of the backup.
fn back_up(from: &AbsPath, name: &str, backups: &AbsPath) -> Result<AbsPath, RuntimeError> {
    fs::create_dir_all(backups.as_path()).map_err(|source| failed(backups.as_path(), source))?;
    if fs::symlink_metadata(backups.as_path()).is_ok_and(|found| found.is_symlink()) {
        return Err(FsError::NotAFolder { path: backups.to_string() }.into());
    }
    sweep(backups);
    // A killed process may already have made this copy.
    if let Some(kept) = existing_backup(from, name, backups) {
        return Ok(kept);
    }
    let scratch = Scratch::below(backups).map_err(|source| failed(backups.as_path(), source))?;
    let staged = scratch.path().join(name);
    copy(from.as_path(), &staged)?;
    let when: String = rfc3339(Timestamp::now()).chars().filter(char::is_ascii_digit).collect();
    let to = (0..1000)
        .map(|number| match number {
            0 => backups.join(format!("{name}-{when}")),
            number => backups.join(format!("{name}-{when}-{number}")),
        })
        .find(|to| fs::symlink_metadata(to.as_path()).is_err());
    let to = to.ok_or_else(|| failed(backups.as_path(), io::ErrorKind::AlreadyExists.into()))?;
    fs::rename(&staged, to.as_path()).map_err(|source| failed(to.as_path(), source))?;
    Ok(to)
}

/// Returns an existing backup with the same content.
fn existing_backup(from: &AbsPath, name: &str, backups: &AbsPath) -> Option<AbsPath> {
    let now = digest_at(from).ok().flatten()?;
    let is_backup = |found: &str| {
        let rest = found.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '-'))
    };
    let entries = fs::read_dir(backups.as_path()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut folders = names.filter(|found| is_backup(found)).map(|found| backups.join(found));
    folders.find(|folder| digest_at(folder).ok().flatten() == Some(now))
}

/// Returns the digest of a folder; `None` if it does not exist.
pub(crate) fn digest_at(folder: &AbsPath) -> Result<Option<Digest>, RuntimeError> {
    match Root::open_real(folder) {
        Err(FsError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(root) => Ok(Some(digests(&root, &walk(&root, &WalkLimits::SKILL)?)?.bundle)),
    }
}

#[cfg(unix)]
fn is_same_device(one: &AbsPath, other: &AbsPath) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &AbsPath| fs::metadata(path.as_path()).map(|found| found.dev()).ok();
    device(one).is_some() && device(one) == device(other)
}

#[cfg(not(unix))]
fn is_same_device(_: &AbsPath, _: &AbsPath) -> bool {
    true
}

/// Copies a folder recursively; symlinks are copied as symlinks.
fn copy(from: &Path, to: &Path) -> Result<(), RuntimeError> {
    fs::create_dir(to).map_err(|source| failed(to, source))?;
    let entries = fs::read_dir(from).map_err(|source| failed(from, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| failed(from, source))?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|source| failed(&path, source))?;
        if kind.is_dir() {
            copy(&path, &place)?;
        } else if kind.is_file() {
            fs::copy(&path, &place).map_err(|source| failed(&path, source))?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).map_err(|source| failed(&path, source))?;
            link(&target, &place).map_err(|source| failed(&place, source))?;
        } else {
            let kind = "a FIFO, socket or device";
            return Err(FsError::NotRegular { path: path.display().to_string(), kind }.into());
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(target: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, to)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::other("symbolic links are not supported on this platform"))
}
