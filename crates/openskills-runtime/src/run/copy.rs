//! Makes a private copy of a skill, so that exactly the permitted files run even if the skill's folder changes
//! meanwhile.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::Path;

use skill::{Digest, MARKER_FILE};
use skill_fs::{AbsPath, FsError, Kind, Root, WalkLimits, digests, walk};

use skill_state::compare_command_files;

use super::RunFolder;
use crate::RuntimeError;

/// The digest that a copy must have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExpectedDigest {
    /// The bundle digest of a skill's folder.
    Bundle(Digest),
    /// The digest of the file list in csk's command store.
    CommandFiles(Digest),
}

/// A private copy, removed on drop.
#[derive(Debug)]
pub(crate) struct PrivateCopy {
    _folder: RunFolder,
    pub(crate) root: AbsPath,
}

impl PrivateCopy {
    /// Copies a folder to `base`, nested in `above` more folders, and verifies that the copy is what was permitted.
    pub(crate) fn new(
        skill: &Root,
        base: &AbsPath,
        expected: ExpectedDigest,
        above: usize,
    ) -> Result<Self, RuntimeError> {
        let failed = |path: &Path, source| FsError::Io { path: path.display().to_string(), source };
        let folder = RunFolder::new(base)?;
        let name = skill.path().file_name().unwrap_or("skill").to_owned();
        let around = (0..above).fold(folder.path().to_owned(), |path, _| path.join("in"));
        fs::create_dir_all(&around).map_err(|source| failed(&around, source))?;
        let place = around.join(&name);
        copy(skill, &place)?;
        let real = fs::canonicalize(&place).map_err(|source| failed(&place, source))?;
        let root = AbsPath::new(real)
            .map_err(|error| failed(&place, io::Error::other(error.to_string())))?;
        let copied = Root::open(&root)?;
        let what = match expected {
            ExpectedDigest::Bundle(expected) => {
                let is_it =
                    digests(&copied, &walk(&copied, &WalkLimits::SKILL)?)?.bundle == expected;
                (!is_it).then(|| "a file changed after it was checked".to_owned())
            }
            ExpectedDigest::CommandFiles(expected) => match compare_command_files(&copied)? {
                Ok(list) if list == expected => None,
                Ok(_) => Some("its command files do not match its commit".to_owned()),
                Err(difference) => Some(format!("its command files were modified: {difference}")),
            },
        };
        if let Some(what) = what {
            return Err(RuntimeError::SkillChanged { skill: name, what });
        }
        Ok(Self { _folder: folder, root })
    }
}

fn copy(skill: &Root, place: &Path) -> Result<(), RuntimeError> {
    let failed = |path: &Path, source| FsError::Io { path: path.display().to_string(), source };
    fs::create_dir(place).map_err(|source| failed(place, source))?;
    for entry in walk(skill, &WalkLimits::SKILL)? {
        // The digest does not cover the marker, so it is not copied. A skill's `.git` is not walked at all.
        if entry.path.as_str() == MARKER_FILE {
            continue;
        }
        let to = place.join(entry.path.as_str());
        let made = match &entry.kind {
            Kind::Folder => fs::create_dir(&to),
            Kind::File { executable, .. } => {
                let mut from = skill.file(&entry.path)?;
                fs::File::create_new(&to)
                    .and_then(|mut file| io::copy(&mut from, &mut file))
                    .and_then(|_| set_mode(&to, if *executable { 0o555 } else { 0o444 }))
            }
            Kind::Link(target) => link(target, &to),
            Kind::Other(kind) => {
                let path = entry.path.to_string();
                return Err(FsError::NotRegular { path, kind }.into());
            }
        };
        made.map_err(|source| failed(&to, source))?;
    }
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(unix)]
fn link(target: &str, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, to)
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::Error::other("symbolic links are not supported on this platform"))
}
