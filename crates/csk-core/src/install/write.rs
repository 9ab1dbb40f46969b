//! Writes whole folders: the files of a skill, or copies of them.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::time::SystemTime;

use skill::{MARKER_FILE, Marker};
use skill_fs::{
    AbsPath, BACKDATED_BY, Digests, Entry, FsError, Kind, Root, WalkLimits, digests, fingerprint,
    walk,
};

use super::fingerprint_cache::FolderRecord;
use super::{Prepared, SkillError};
use crate::sys::{Executable, make_executable, make_file_read_only, make_link, make_read_only};
use crate::{File, FileKind, SourceError};

/// Writes a context and its marker into a new folder; returns the record to remember.
pub(super) fn write_context(
    folder: &AbsPath,
    prepared: &Prepared,
    marker: &Marker,
) -> Result<Option<FolderRecord>, SkillError> {
    write_files(folder, &prepared.files, FileMode::Default)?;
    write_text(&folder.join(MARKER_FILE), &marker.to_json(), FileMode::Default)?;
    let print = fingerprint(&open(folder)?).map_err(|error| write_error(&error))?;
    Ok(print.map(|print| FolderRecord {
        fingerprint: print.digest,
        content: Digests { content: prepared.content, bundle: prepared.context },
        warning: prepared.name_warning.clone(),
    }))
}

/// Writes sorted files into a new folder.
pub(super) fn write_files(
    folder: &AbsPath,
    files: &[File],
    mode: FileMode,
) -> Result<(), SkillError> {
    create(folder)?;
    let folders: BTreeSet<&str> =
        files.iter().flat_map(|file| parents(file.path.as_str())).collect();
    for inner in folders {
        let path = folder.join(inner);
        fs::create_dir(path.as_path()).map_err(|error| io_error(&path, &error))?;
    }
    for file in files {
        let path = folder.join(file.path.as_str());
        if file.kind == FileKind::Link {
            make_link(&file.text().unwrap_or_default(), &path)
                .map_err(|error| io_error(&path, &error))?;
            continue;
        }
        write_new(&path, file.kind, mode, |out| {
            file.content.feed(|bytes| out.write_all(bytes)).map_err(|error| match error {
                SourceError::Copy(error) => {
                    SkillError::Write(format!("cannot write `{path}`: {error}"))
                }
                other => SkillError::from(other),
            })
        })?;
    }
    Ok(())
}

/// Copies an installed skill into a new folder; returns the record to remember.
pub(super) fn copy_context(
    from: &AbsPath,
    to: &AbsPath,
) -> Result<Option<FolderRecord>, SkillError> {
    copy(from, to, |entry, source, place| {
        let Kind::File { executable, .. } = entry.kind else { return Ok(()) };
        let kind = if executable { FileKind::Executable } else { FileKind::Plain };
        write_new(place, kind, FileMode::Default, |out| copy_file(source, out, place))
    })?;
    let root = open(to)?;
    let print = fingerprint(&root).map_err(|error| write_error(&error))?;
    let content = walk(&root, &WalkLimits::SKILL).and_then(|entries| digests(&root, &entries));
    let content = content.map_err(|error| write_error(&error))?;
    Ok(print.map(|print| FolderRecord { fingerprint: print.digest, content, warning: None }))
}

/// Copies file to file, so that the kernel does the work and shares blocks if the file system can.
fn copy_file(from: &AbsPath, out: &mut fs::File, place: &AbsPath) -> Result<(), SkillError> {
    fs::File::open(from.as_path())
        .and_then(|mut from| io::copy(&mut from, out))
        .map(|_| ())
        .map_err(|error| io_error(place, &error))
}

/// Copies a skill that the user edited, including permissions.
pub(super) fn keep_copy(from: &AbsPath, to: &AbsPath) -> Result<(), SkillError> {
    copy(from, to, |_, source, place| {
        fs::copy(source.as_path(), place.as_path())
            .map(|_| ())
            .map_err(|error| io_error(place, &error))
    })
}

/// Copies folders and links; `file` copies the files.
fn copy(
    from: &AbsPath,
    to: &AbsPath,
    file: impl Fn(&Entry, &AbsPath, &AbsPath) -> Result<(), SkillError>,
) -> Result<(), SkillError> {
    create(to)?;
    for entry in walk(&open(from)?, &WalkLimits::SKILL).map_err(|error| write_error(&error))? {
        let (source, place) = (from.join(entry.path.as_str()), to.join(entry.path.as_str()));
        match &entry.kind {
            Kind::Folder => create(&place)?,
            Kind::File { .. } => {
                create_parent(&place)?;
                file(&entry, &source, &place)?;
            }
            Kind::Link(text) => {
                create_parent(&place)?;
                make_link(text, &place).map_err(|error| io_error(&place, &error))?;
            }
            Kind::Other(kind) => {
                let message =
                    format!("cannot back up `{source}`, which is {kind}; move it elsewhere");
                return Err(SkillError::Write(message));
            }
        }
    }
    Ok(())
}

/// Returns the parent folders of a path, outermost first.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// Creates a file with this text.
pub(super) fn write_text(path: &AbsPath, text: &str, mode: FileMode) -> Result<(), SkillError> {
    write_new(path, FileKind::Plain, mode, |out| {
        out.write_all(text.as_bytes()).map_err(|error| io_error(path, &error))
    })
}

/// Creates a file and calls `fill` to write it. Its modification time is set back slightly, so that any later write
/// changes it.
fn write_new(
    path: &AbsPath,
    kind: FileKind,
    mode: FileMode,
    fill: impl FnOnce(&mut fs::File) -> Result<(), SkillError>,
) -> Result<(), SkillError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    match (mode, kind == FileKind::Executable) {
        (FileMode::Default, true) => make_executable(&mut options),
        (FileMode::Default, false) => {}
        (FileMode::ReadOnly, true) => make_file_read_only(&mut options, Executable::Yes),
        (FileMode::ReadOnly, false) => make_file_read_only(&mut options, Executable::No),
    }
    let mut out = options.open(path.as_path()).map_err(|error| io_error(path, &error))?;
    fill(&mut out)?;
    out.set_modified(now() - BACKDATED_BY).map_err(|error| io_error(path, &error))
}

/// The permissions of written files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileMode {
    /// Whatever the user's umask allows.
    Default,
    /// Read-only.
    ReadOnly,
}

/// Makes a folder and all folders in it read-only.
pub(super) fn seal(folder: &AbsPath) -> Result<(), FsError> {
    let failed = |path: &AbsPath, source| FsError::Io { path: path.to_string(), source };
    let root = Root::open(folder)?;
    let entries = walk(&root, &WalkLimits::SKILL)?;
    let inner = entries.iter().filter(|entry| entry.kind == Kind::Folder);
    for path in inner.map(|entry| folder.join(entry.path.as_str())).chain([folder.clone()]) {
        make_read_only(path.as_path()).map_err(|source| failed(&path, source))?;
    }
    Ok(())
}

/// Returns the current time.
pub(super) fn now() -> SystemTime {
    SystemTime::now()
}

fn open(folder: &AbsPath) -> Result<Root, SkillError> {
    Root::open(folder).map_err(|error| write_error(&error))
}

pub(super) fn create_parent(path: &AbsPath) -> Result<(), SkillError> {
    path.parent().map_or(Ok(()), |parent| create(&parent))
}

fn create(folder: &AbsPath) -> Result<(), SkillError> {
    fs::create_dir_all(folder.as_path()).map_err(|error| io_error(folder, &error))
}

pub(super) fn io_error(path: &AbsPath, error: &io::Error) -> SkillError {
    SkillError::Write(format!("cannot write `{path}`: {error}"))
}

pub(super) fn write_error(error: &FsError) -> SkillError {
    SkillError::Write(error.to_string())
}
