//! Archives a log and starts a new one.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;

use jiff::Timestamp;
use skill_fs::AbsPath;

use super::head::Head;
use super::read::log_files;
use super::writer::{Log, lock};
use super::{LogError, head};
use crate::record::event::PreviousLog;

const START: &str = "archive-";

/// Moves the files of a log, intact or not, into a subfolder and starts a new log that refers to it. Returns the
/// subfolder, or `None` if there was no log.
pub fn archive(log: &Log, now: Timestamp) -> Result<Option<AbsPath>, LogError> {
    let aside = {
        let _held = lock(log.folder())?;
        set_aside(log.folder(), now)?
    };
    if aside.is_some() {
        log.append(&[], now)?;
    }
    Ok(aside)
}

/// Moves the files of a log. The caller must hold the log's lock.
pub(super) fn set_aside(folder: &AbsPath, now: Timestamp) -> Result<Option<AbsPath>, LogError> {
    let head = folder.join(head::FILE);
    // A symbolic link, a folder or garbage in its place must be moved out of the way as well.
    let has_head = fs::symlink_metadata(head.as_path()).is_ok();
    let files = log_files(folder)?.into_iter().map(|file| file.path);
    let paths: Vec<AbsPath> = files.chain(has_head.then_some(head)).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let aside = new_folder(folder, now)?;
    for path in paths {
        let to = aside.join(path.file_name().unwrap_or_default());
        fs::rename(path.as_path(), to.as_path())
            .map_err(|source| LogError::Io { path: path.to_string(), source })?;
    }
    Ok(Some(aside))
}

fn new_folder(folder: &AbsPath, now: Timestamp) -> Result<AbsPath, LogError> {
    let mut number = 0;
    loop {
        let more = if number == 0 { String::new() } else { format!("-{number}") };
        let aside = folder.join(format!("{START}{}{more}", now.strftime("%Y%m%dT%H%M%S%3fZ")));
        match fs::create_dir(aside.as_path()) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {
                number += 1;
            }
            Err(source) => return Err(LogError::Io { path: aside.to_string(), source }),
        }
    }
}

/// Returns the folder of the archived log with this ID.
pub(super) fn archive_with_id(folder: &AbsPath, id: &str) -> Option<AbsPath> {
    let is_it = |archived: &AbsPath| {
        Head::load(archived).is_ok_and(|head| head.is_some_and(|head| head.id == id))
    };
    let mut names = archives(folder).into_iter().map(|name| folder.join(name));
    names.find(|archived| !id.is_empty() && is_it(archived))
}

/// Returns the names of the archive folders, oldest first.
fn archives(folder: &AbsPath) -> Vec<String> {
    let Ok(names) = fs::read_dir(folder.as_path()) else { return Vec::new() };
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(START)).collect();
    names.sort_unstable();
    names
}

/// Returns true if a folder has the name of an archive.
pub(super) fn is_archive(folder: &AbsPath) -> bool {
    folder.file_name().is_some_and(|name| name.starts_with(START))
}

/// Returns the most recently archived log in a folder, for the first event of the next one.
pub(super) fn last_archive(folder: &AbsPath) -> Option<PreviousLog> {
    let last = archives(folder).pop()?;
    let archived = folder.join(&last);
    let id = Head::load(&archived).ok().flatten().map(|head| head.id).filter(|id| !id.is_empty());
    Some(PreviousLog { folder: last, id, head: head_text(&archived) })
}

/// Returns the raw text of the head in a folder.
pub(super) fn head_text(folder: &AbsPath) -> Option<String> {
    let bytes = fs::read(folder.join(head::FILE).as_path()).ok()?;
    Some(String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).trim_end().to_owned())
}
