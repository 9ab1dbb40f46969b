//! Puts a log aside and starts a new one.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use jiff::Timestamp;
use skill_fs::AbsPath;

use super::read::log_files;
use super::writer::{Log, lock};
use super::{LogError, head};
use crate::event::{LogBefore, LogStarted};

/// Moves the files of a log, whole or broken, into a folder beside them, and starts a new log that names it. Returns that
/// folder; `None` if there was no log.
pub fn archive(log: &Log, now: Timestamp) -> Result<Option<AbsPath>, LogError> {
    let folder = log.folder();
    let _held = lock(folder)?;
    let files = log_files(folder)?;
    let head_file = folder.join(head::FILE);
    let head = fs::read_to_string(head_file.as_path()).ok().map(|text| text.trim_end().to_owned());
    if files.is_empty() && head.is_none() {
        return Ok(None);
    }
    let name = format!("archive-{}", now.strftime("%Y%m%dT%H%M%S%3fZ"));
    let aside = folder.join(&name);
    let failed = |path: &AbsPath, source| LogError::Io { path: path.to_string(), source };
    fs::create_dir(aside.as_path()).map_err(|source| failed(&aside, source))?;
    let paths = files.into_iter().map(|file| file.path).chain(head.is_some().then_some(head_file));
    for path in paths {
        let to = aside.join(path.file_name().unwrap_or_default());
        fs::rename(path.as_path(), to.as_path()).map_err(|source| failed(&path, source))?;
    }
    let before = LogBefore { folder: name, head };
    log.start(LogStarted { before: Some(before) }, now)?;
    Ok(Some(aside))
}
