//! Reads a log: a folder as the runtime writes it, or a single file of one.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::vec::IntoIter;

use skill_fs::AbsPath;

use super::head::{Head, open_regular};
use super::line::linked;
use super::writer::lock;
use super::{Entry, LogError};

const START: &str = "audit-";
const END: &str = ".jsonl";

/// Returns the name of the file whose first event is `first`.
pub(super) fn file_name(first: u64) -> String {
    format!("{START}{first:020}{END}")
}

/// A file of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogFile {
    /// Number of its first event, taken from its name; 0 if the name does not contain it.
    pub(super) first: u64,
    pub(super) path: AbsPath,
    /// How many bytes of it to read.
    pub(super) size: u64,
}

/// Returns the files of the log in `folder`, in order.
pub(super) fn log_files(folder: &AbsPath) -> Result<Vec<LogFile>, LogError> {
    let failed = |source| LogError::Io { path: folder.to_string(), source };
    let entries = match fs::read_dir(folder.as_path()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(START)?.strip_suffix(END));
        let first = number.and_then(|number| number.parse().ok());
        // Ignore files whose name only resembles one of the log, such as an unpadded number.
        if let Some(first) = first.filter(|first| name.to_str() == Some(&file_name(*first))) {
            let size = entry.metadata().map_err(failed)?.len();
            files.push(LogFile { first, path: folder.join(file_name(first)), size });
        }
    }
    files.sort_by_key(|file| file.first);
    Ok(files)
}

/// A log to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The log that this program writes: a folder with a head.
    Folder(AbsPath),
    /// Any other log folder. It may be untrusted, and nothing in it is changed.
    Copy(AbsPath),
    /// A single file of a log.
    File(AbsPath),
}

/// A log at one moment, while other processes may keep writing.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) files: Vec<LogFile>,
    /// `None` for a single file, and for a log that has not been started.
    pub(super) head: Option<Head>,
}

impl Source {
    /// Returns the source at a path.
    pub fn at(path: &AbsPath) -> Result<Self, LogError> {
        let metadata = fs::metadata(path.as_path())
            .map_err(|source| LogError::Io { path: path.to_string(), source })?;
        Ok(if metadata.is_dir() { Self::Copy(path.clone()) } else { Self::File(path.clone()) })
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot, LogError> {
        let folder = match self {
            Self::Folder(folder) | Self::Copy(folder) => folder,
            Self::File(path) => {
                let size = fs::metadata(path.as_path())
                    .map_err(|source| LogError::Io { path: path.to_string(), source })?
                    .len();
                let files = vec![LogFile { first: 0, path: path.clone(), size }];
                return Ok(Snapshot { files, head: None });
            }
        };
        let is_own =
            matches!(self, Self::Folder(_)) && folder.join(super::head::FILE).as_path().exists();
        let _held = if is_own { lock_if_writable(folder)? } else { None };
        // Read the head first: lines after the end it records are fine, but missing ones are not.
        let head = Head::load(folder)?;
        Ok(Snapshot { files: log_files(folder)?, head })
    }

    /// Returns the events from number `from` on, in order.
    pub fn entries(&self, from: u64) -> Result<Entries, LogError> {
        let mut entries = Entries {
            source: self.clone(),
            from,
            files: Vec::new().into_iter(),
            open: None,
            offset: 0,
            line: Vec::new(),
            number: 0,
            seen: 0,
            log: None,
        };
        entries.more()?;
        Ok(entries)
    }

    /// Returns the last `count` events in order, followed by those written in the meantime.
    pub fn last_entries(&self, count: u64) -> Result<Entries, LogError> {
        let last = match self.snapshot()?.head {
            Some(head) => head.events,
            None => self.entries(1)?.try_fold(0, |_, entry| entry.map(|entry| entry.seq))?,
        };
        self.entries(last.saturating_sub(count).saturating_add(1))
    }
}

/// Locks a log for reading. If the folder is not writable, the log is read without the lock, since no one can write
/// through this path.
fn lock_if_writable(folder: &AbsPath) -> Result<Option<File>, LogError> {
    match lock(folder) {
        Ok(file) => Ok(Some(file)),
        Err(LogError::Io { source, .. })
            if matches!(
                source.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The events of a log, in order.
#[derive(Debug)]
pub struct Entries {
    source: Source,
    /// Number of the next event to return.
    from: u64,
    files: IntoIter<LogFile>,
    open: Option<(LogFile, BufReader<Take<File>>)>,
    /// Offset in the open file.
    offset: u64,
    line: Vec<u8>,
    /// Line number in that file, counted from where this reader started.
    number: u64,
    /// Number of the last event returned.
    seen: u64,
    /// ID of the log.
    log: Option<String>,
}

impl Entries {
    /// Checks for events written since the last one was returned.
    pub fn more(&mut self) -> Result<(), LogError> {
        let snapshot = self.source.snapshot()?;
        // The log was archived: start again with the new one.
        if let Some(head) = &snapshot.head {
            let is_shorter = head.id.is_empty() && head.events < self.seen;
            if is_shorter || self.log.as_ref().is_some_and(|known| *known != head.id) {
                (self.from, self.seen, self.offset, self.open) = (1, 0, 0, None);
            }
            self.log = Some(head.id.clone());
        }
        // Whole lines after the recorded end count as well, so that restoring an older head hides nothing.
        let mut files = snapshot.files;
        let last = self.open.take().map(|(file, _)| file.first);
        let wanted =
            |file: &LogFile| last.map_or(file.first <= self.from, |last| file.first == last);
        let start = files.iter().rposition(wanted).unwrap_or(0);
        files.drain(..start);
        if last.is_none() {
            self.offset = 0;
        }
        self.files = files.into_iter();
        self.advance()
    }

    /// Opens the next file, at the offset reached so far.
    fn advance(&mut self) -> Result<(), LogError> {
        let Some(file) = self.files.next() else { return Ok(()) };
        let failed = |source| LogError::Io { path: file.path.to_string(), source };
        let Some(mut opened) = open_regular(&file.path)? else { return Ok(()) };
        opened.seek(SeekFrom::Start(self.offset)).map_err(failed)?;
        let reader = BufReader::new(opened.take(file.size.saturating_sub(self.offset)));
        self.open = Some((file, reader));
        Ok(())
    }

    fn next_entry(&mut self) -> Result<Option<Entry>, LogError> {
        while let Some((file, reader)) = &mut self.open {
            self.line.clear();
            let read = reader
                .read_until(b'\n', &mut self.line)
                .map_err(|source| LogError::Io { path: file.path.to_string(), source })?;
            // An incomplete line was left by a killed process, or is being written right now.
            let read = if self.line.ends_with(b"\n") { read } else { 0 };
            self.offset += read as u64;
            self.number += 1;
            if read == 0 {
                if self.files.len() == 0 {
                    return Ok(None);
                }
                (self.offset, self.number) = (0, 0);
                self.advance()?;
                continue;
            }
            // Lines before the requested ones need not be valid JSON.
            let is_early = linked(&self.line).is_some_and(|line| line.seq < self.from);
            if !is_early {
                let entry = Entry::parse(&self.line).map_err(|error| match error {
                    LogError::Broken { what } => {
                        LogError::Broken { what: format!("{}:{}: {what}", file.path, self.number) }
                    }
                    other => other,
                })?;
                self.seen = entry.seq;
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

impl Iterator for Entries {
    type Item = Result<Entry, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().transpose()
    }
}
