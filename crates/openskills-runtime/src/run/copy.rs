//! A copy of a skill that nobody else writes to: what runs is what was permitted, whatever happens to the folder meanwhile.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;
use std::path::Path;

use skill::{Digest, MARKER_FILE};
use skill_fs::{AbsPath, FsError, Kind, Root, WalkLimits, digests, walk};

use skill_state::compare_runtime;

use super::RunFolder;
use crate::RuntimeError;

/// What a copy must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// A skill's folder with this bundle digest.
    Bundle(Digest),
    /// A folder of the runtime store whose list has this digest.
    Runtime(Digest),
}

/// The copy; it goes when it is dropped.
#[derive(Debug)]
pub(crate) struct PrivateCopy {
    _folder: RunFolder,
    pub(crate) root: AbsPath,
}

impl PrivateCopy {
    /// Copies a folder below `base`, with `above` more folders around it, and makes sure that the copy is what was permitted.
    pub(crate) fn new(
        skill: &Root,
        base: &AbsPath,
        expected: Expected,
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
            Expected::Bundle(expected) => {
                let is_it =
                    digests(&copied, &walk(&copied, &WalkLimits::SKILL)?)?.bundle == expected;
                (!is_it).then(|| "a file of it was written after it was looked at".to_owned())
            }
            Expected::Runtime(expected) => match compare_runtime(&copied)? {
                Ok(list) if list == expected => None,
                Ok(_) => Some("its runtime is not that of its commit".to_owned()),
                Err(difference) => Some(format!("its runtime was tampered with: {difference}")),
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
        // What trust does not bind to is not there while it runs. The repository of a skill is not walked at all.
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
    Err(io::Error::other("links are not made here"))
}
