//! Puts a package into a folder of skills and takes it away again, in one step each.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use skill_fs::{AbsPath, FsError, Root, replace_folder};
use skill_pack::Package;

use crate::{RuntimeError, rfc3339};

fn failed(path: &Path, source: io::Error) -> RuntimeError {
    FsError::Io { path: path.display().to_string(), source }.into()
}

/// Makes the folder of skills. A link on the way leads to what is somebody else's.
fn make(skills: &AbsPath) -> Result<(), RuntimeError> {
    fs::create_dir_all(skills.as_path()).map_err(|source| failed(skills.as_path(), source))?;
    let is_folder = fs::symlink_metadata(skills.as_path()).is_ok_and(|found| found.is_dir());
    if is_folder {
        return Ok(());
    }
    Err(FsError::NotAFolder { path: skills.to_string() }.into())
}

/// How the folders begin that unfinished skills are in. No discovery looks into one.
pub(crate) const UNFINISHED: &str = ".openskills-";
/// What is older than that was left by a process that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(60 * 60);

/// A folder for what is not finished: beside the folder of skills, so that nothing finds it there, or in it where that cannot be written. It
/// goes with everything in it when it is dropped; what a killed process left goes with the next one.
fn scratch(skills: &AbsPath) -> Result<tempfile::TempDir, RuntimeError> {
    let around = skills.parent();
    let places = around.iter().chain([skills]);
    for folder in places.clone() {
        sweep(folder);
    }
    let mut made = Err(io::Error::other("there is no folder for it"));
    for folder in places {
        made =
            tempfile::Builder::new().prefix(UNFINISHED).suffix(".tmp").tempdir_in(folder.as_path());
        if made.is_ok() {
            break;
        }
    }
    made.map_err(|source| failed(skills.as_path(), source))
}

/// Removes what killed processes left.
fn sweep(folder: &AbsPath) {
    for entry in fs::read_dir(folder.as_path()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(UNFINISHED) && name.ends_with(".tmp"));
        let age = entry.metadata().ok().and_then(|found| found.modified().ok()?.elapsed().ok());
        if is_ours && age.is_some_and(|age| age > LEFT_AFTER) {
            // Another process may be at it.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Puts a package into a folder of skills, in place of what is there. Who reads meanwhile sees the old or the new.
pub fn put(package: &Package, skills: &AbsPath) -> Result<AbsPath, RuntimeError> {
    make(skills)?;
    let scratch = scratch(skills)?;
    let staged = scratch.path().join(&package.name);
    package.unpack(&staged)?;
    let staged = AbsPath::new(&staged)
        .map_err(|error| failed(&staged, io::Error::other(error.to_string())))?;
    let target = skills.join(&package.name);
    replace_folder(&staged, &target)?;
    Ok(target)
}

/// Takes a skill away.
pub(crate) fn take_away(skills: &AbsPath, name: &str) -> Result<(), RuntimeError> {
    // A folder that is opened is one, and no link.
    let target = skills.join(name);
    Root::open_real(&target)?;
    let scratch = scratch(skills)?;
    fs::rename(target.as_path(), scratch.path().join(name))
        .map_err(|source| failed(target.as_path(), source))
}

/// Copies a skill that somebody edited to the backups beside the folder of skills; returns where that is.
pub(crate) fn aside(skills: &AbsPath, name: &str, when: &str) -> Result<AbsPath, RuntimeError> {
    let around = skills.parent().unwrap_or_else(|| skills.clone());
    let backups = around.join("backups");
    fs::create_dir_all(backups.as_path()).map_err(|source| failed(backups.as_path(), source))?;
    if fs::symlink_metadata(backups.as_path()).is_ok_and(|found| found.is_symlink()) {
        return Err(FsError::NotAFolder { path: backups.to_string() }.into());
    }
    let plain: String = when.chars().filter(char::is_ascii_digit).collect();
    let to = (0..1000)
        .map(|number| match number {
            0 => backups.join(format!("{name}-{plain}")),
            number => backups.join(format!("{name}-{plain}-{number}")),
        })
        .find(|to| fs::symlink_metadata(to.as_path()).is_err());
    let to = to.ok_or_else(|| failed(backups.as_path(), io::ErrorKind::AlreadyExists.into()))?;
    if let Err(error) = copy(skills.join(name).as_path(), to.as_path()) {
        // Half of a copy is none.
        let _ = fs::remove_dir_all(to.as_path());
        return Err(error);
    }
    Ok(to)
}

/// Copies a folder of skills' one that somebody edited to the backups beside it, now; returns where that is.
pub fn put_aside(skills: &AbsPath, name: &str) -> Result<AbsPath, RuntimeError> {
    aside(skills, name, &rfc3339(Timestamp::now()))
}

/// Copies a folder with everything in it; links stay links.
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
    Err(io::Error::other("links are not made here"))
}
