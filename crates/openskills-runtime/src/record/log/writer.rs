//! Appends events. Under the lock it first accounts for what other processes wrote and what killed ones left behind.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use skill_fs::{AbsPath, make_private_folder};

use super::archive::{archive_with_id, last_archive, set_aside};
use super::chain::{Chain, Hex, text};
use super::checkpoint::{Checkpoint, CheckpointOptions, write_to};
use super::head::{Head, VERSION, open_regular, private};
use super::line::{LineStart, follows, is_own, linked, write};
use super::open_runs::{Marker, OpenRun, abandoned};
use super::read::{file_name, log_files};
use super::run_start::RunStart;
use super::runs::Runs;
use super::{Key, LogError, redact_all};
use crate::record::event::{CheckpointFailure, LogRecovered, LogStarted};
use crate::{Event, rfc3339};
use skill::ByteSize;

/// The lock file. It is never removed.
const LOCK: &str = ".lock";
/// How long to wait for the lock.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much of an incomplete line is kept in the event about it.
const TORN: usize = 1024;
/// Maximum size of an event, well below what readers accept.
const MAX_EVENT: usize = 8 << 20;
/// Maximum size of what a killed process may have left after the recorded end.
const MAX_LEFT: u64 = 256 << 20;

/// When written events are flushed to disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sync {
    /// When the system decides to. A killed process loses nothing; a power failure may lose the last seconds.
    #[default]
    Never,
    /// Before an append returns.
    Always,
}

/// How a log is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// A file that would exceed this size is followed by a new one. The chain continues.
    pub max_bytes: u64,
    /// When events are flushed to disk.
    pub sync: Sync,
    /// Key of the chain.
    pub key: Option<Key>,
    /// Where checkpoints go.
    pub checkpoints: CheckpointOptions,
}

impl Default for LogOptions {
    fn default() -> Self {
        let checkpoints = CheckpointOptions::default();
        Self { max_bytes: 64 << 20, sync: Sync::Never, key: None, checkpoints }
    }
}

/// A log to append to. No file is opened before the first event.
#[derive(Debug)]
pub struct Log {
    folder: AbsPath,
    chain: Chain,
    max_bytes: u64,
    sync: Sync,
    checkpoints: CheckpointOptions,
    /// Whether this process has looked for executions of killed processes. Once is enough.
    has_swept: AtomicBool,
    /// Whether the log already says that checkpoints cannot be written.
    has_noted_failure: AtomicBool,
}

impl Log {
    /// Returns the log in `folder`.
    pub fn new(folder: AbsPath, options: LogOptions) -> Self {
        let LogOptions { max_bytes, sync, key, checkpoints } = options;
        let (has_swept, has_noted_failure) = (AtomicBool::new(false), AtomicBool::new(false));
        let chain = Chain::new(key);
        Self { folder, chain, max_bytes, sync, checkpoints, has_swept, has_noted_failure }
    }

    /// Returns the folder of the log.
    pub fn folder(&self) -> &AbsPath {
        &self.folder
    }

    /// Returns true if the log has a key or checkpoints. Then a missing log means that it was removed.
    pub fn is_guarded(&self) -> bool {
        self.key().is_some() || !self.checkpoints.destinations.is_empty()
    }

    /// Returns the key of the chain.
    pub fn key(&self) -> Option<&Key> {
        match &self.chain {
            Chain::Plain => None,
            Chain::Keyed(key) => Some(key),
        }
    }

    /// Appends all events or none. Returns the number of the last one.
    pub fn append(&self, events: &[Event], now: Timestamp) -> Result<u64, LogError> {
        let checkpoint = {
            let _held = lock(&self.folder)?;
            self.append_locked(events, now)?
        };
        self.deliver(&checkpoint, now)
    }

    /// Appends the start of an execution, and marks it as open until another event ends it.
    pub(crate) fn begin_run(&self, start: &RunStart, now: Timestamp) -> Result<OpenRun, LogError> {
        let (run, checkpoint) = {
            let _held = lock(&self.folder)?;
            // The marker comes first. A kill in between then leaves a stray marker rather than an execution that never
            // ends.
            let run = OpenRun::begin(&self.folder, start.execution_id(), self.sync)?;
            match self.append_locked(&[start.event()], now) {
                Ok(checkpoint) => (run, checkpoint),
                Err(error) => {
                    run.close();
                    return Err(error);
                }
            }
        };
        if let Err(error) = self.deliver(&checkpoint, now) {
            // The start is in the log, so an end must follow. Nothing was started.
            let _held = lock(&self.folder)?;
            self.append_locked(&[start.failed(&error)], now)?;
            run.close();
            return Err(error);
        }
        Ok(run)
    }

    fn append_locked(&self, events: &[Event], now: Timestamp) -> Result<Checkpoint, LogError> {
        let mut tail = self.tail()?;
        if tail.version != VERSION {
            // Nothing is lost: the new log refers to the old one.
            set_aside(&self.folder, now)?;
            tail = self.begin()?;
        }
        let mut batch = Batch { now: rfc3339(now), bytes: Vec::new(), tail, last: 0 };
        if batch.tail.events == 0 && batch.tail.size == 0 {
            let (id, previous) = (batch.tail.id.clone(), last_archive(&self.folder));
            batch.add(&self.chain, &Event::LogStarted(LogStarted { id, previous }))?;
        }
        if let Some(torn) = batch.tail.torn.take() {
            batch.add(&self.chain, &Event::LogRecovered(torn))?;
        }
        let is_first = !self.has_swept.load(Ordering::Relaxed);
        let (stale, ends) =
            if is_first { self.interrupted(&batch.tail)? } else { Default::default() };
        for end in &ends {
            batch.add(&self.chain, end)?;
        }
        for event in events {
            batch.add(&self.chain, event)?;
        }
        let checkpoint = self.write(batch)?;
        self.has_swept.store(true, Ordering::Relaxed);
        stale.into_iter().for_each(Marker::remove);
        Ok(checkpoint)
    }

    /// Returns the abandoned markers and the events that end those executions that are unfinished according to the log.
    /// Only the log counts: a marker that someone created or restored is not an execution.
    fn interrupted(&self, tail: &Tail) -> Result<(Vec<Marker>, Vec<Event>), LogError> {
        let markers = abandoned(&self.folder);
        if markers.is_empty() {
            return Ok(Default::default());
        }
        let mut runs = Runs::default();
        // The execution may have started in the log before, if that was archived in the meantime.
        if let Some(archived) = archive_with_id(&self.folder, &tail.previous) {
            runs.read(&archived, &self.chain)?;
        }
        runs.read(&self.folder, &self.chain)?;
        let mut ends = Vec::new();
        let mut stale = Vec::new();
        for marker in markers {
            match runs.unfinished(&marker.id).map(super::runs::UnfinishedRun::interrupted) {
                Some(Some(end)) => ends.push(end),
                // Its process is still running, whatever happened to the lock, or its events cannot be read.
                Some(None) => continue,
                None => {}
            }
            stale.push(marker);
        }
        Ok((stale, ends))
    }

    /// Writes a checkpoint to its destinations. The log has been written by then.
    fn deliver(&self, checkpoint: &Checkpoint, now: Timestamp) -> Result<u64, LogError> {
        let events = checkpoint.events;
        let Err((destination, reason)) = write_to(&self.checkpoints, checkpoint) else {
            return Ok(events);
        };
        if !self.has_noted_failure.swap(true, Ordering::Relaxed) {
            self.note_failure(&destination, &reason, now)?;
        }
        if self.checkpoints.required {
            return Err(LogError::Checkpoint { destination, reason });
        }
        Ok(events)
    }

    /// Records in the log that a checkpoint could not be written.
    pub fn note_failure(
        &self,
        destination: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), LogError> {
        let failure =
            CheckpointFailure { destination: destination.to_owned(), reason: reason.to_owned() };
        let _held = lock(&self.folder)?;
        self.append_locked(&[Event::CheckpointFailed(failure)], now)?;
        Ok(())
    }

    fn write(&self, batch: Batch) -> Result<Checkpoint, LogError> {
        let Batch { now, bytes, tail, last } = batch;
        if bytes.is_empty() {
            let head =
                tail.head(&self.chain, LastLine { first: tail.first, end: tail.size, length: 0 });
            return Ok(Checkpoint::new(&self.chain, &head, &tail.link, &now));
        }
        let is_full = tail.size > 0 && tail.size + bytes.len() as u64 > self.max_bytes;
        let (first, start) = if is_full { (tail.before + 1, 0) } else { (tail.first, tail.size) };
        let path = self.folder.join(file_name(first));
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        private(&mut options);
        let mut file = options.open(path.as_path()).map_err(failed)?;
        if let Err(error) = file.write_all(&bytes) {
            // On a full disk, part of it may have been written: restore the previous end.
            let _ = file.set_len(start);
            return Err(failed(error));
        }
        if self.sync == Sync::Always {
            file.sync_data().map_err(failed)?;
        }
        let size = start + bytes.len() as u64;
        let line = &bytes[bytes.len() - last..];
        let end = LastLine { first, end: size, length: last as u64 };
        let head = tail.head(&self.chain, end).sealed(&self.chain, line);
        let head_file = match head.save(&self.folder) {
            Ok(file) => file,
            Err(error) => {
                let _ = file.set_len(start);
                return Err(error);
            }
        };
        if self.sync == Sync::Always {
            head_file.sync_data().map_err(failed)?;
        }
        Ok(Checkpoint::new(&self.chain, &head, &tail.link, &now))
    }

    /// Finds the end of the log: where the head says, or after what a killed process wrote beyond that.
    fn tail(&self) -> Result<Tail, LogError> {
        let broken = |what: String| LogError::Broken { what };
        let Some(head) = Head::load(&self.folder)? else {
            if let Some(file) = log_files(&self.folder)?.first() {
                return Err(broken(format!("`{}` exists, but head.json is missing", file.path)));
            }
            return self.begin();
        };
        if head.chain != self.chain.name() {
            let (found, expected) = (head.chain, self.chain.name().to_owned());
            return Err(LogError::ChainMismatch { found, expected });
        }
        let path = self.folder.join(file_name(head.first));
        let (file, size) = open(&path)?;
        if size < head.size {
            return Err(broken(format!(
                "`{path}` was truncated from {} to {size} bytes: events up to {} were removed",
                head.size, head.events
            )));
        }
        let mut tail = Tail::at(&head, &self.chain);
        if let Some(file) = file {
            let read = |from, to| read_range(&file, &path, from, to);
            let last = read(head.size - head.last, head.size)?;
            if text(&self.chain.seal(&head, &last)) != head.seal {
                let seal = "or head.json does not belong to this log and key";
                return Err(broken(format!("event {} was changed, {seal}", head.events)));
            }
            if head.events > 0 {
                tail.link = self.chain.link(without_break(&last));
            }
            if size > head.size {
                let left = read(head.size, size)?;
                self.recover(&mut tail, &left, &path)?;
                if tail.size < size {
                    truncate(&path, tail.size)?;
                }
            }
        }
        self.follow(&mut tail)?;
        Ok(tail)
    }

    /// Writes an empty head, so that a log without a head is known to be damaged.
    fn begin(&self) -> Result<Tail, LogError> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| LogError::Io {
            path: "log ID".to_owned(),
            source: io::Error::other(error.to_string()),
        })?;
        let before = last_archive(&self.folder).and_then(|before| before.id);
        let head = Head {
            schema_version: VERSION,
            chain: self.chain.name().to_owned(),
            id: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            previous: before.unwrap_or_default(),
            events: 0,
            first: 1,
            size: 0,
            last: 0,
            seal: String::new(),
        };
        let head = head.sealed(&self.chain, b"");
        head.save(&self.folder)?;
        Ok(Tail::at(&head, &self.chain))
    }

    /// Continues a file that a killed process started.
    fn follow(&self, tail: &mut Tail) -> Result<(), LogError> {
        let first = tail.events + 1;
        if tail.size == 0 || tail.torn.is_some() {
            return Ok(());
        }
        let path = self.folder.join(file_name(first));
        let (Some(file), size) = open(&path)? else { return Ok(()) };
        let left = read_range(&file, &path, 0, size)?;
        let mut next = Tail { first, size: 0, torn: None, ..tail.clone() };
        self.recover(&mut next, &left, &path)?;
        if next.size < size {
            truncate(&path, next.size)?;
        }
        if next.size == 0 {
            tail.torn = next.torn;
            std::fs::remove_file(path.as_path())
                .map_err(|source| LogError::Io { path: path.to_string(), source })?;
        } else {
            *tail = next;
        }
        Ok(())
    }

    /// Adopts whole lines that continue the chain. A last line without a line break is incomplete.
    fn recover(&self, tail: &mut Tail, left: &[u8], path: &AbsPath) -> Result<(), LogError> {
        for line in left.split_inclusive(|byte| *byte == b'\n') {
            let Some(inner) = line.strip_suffix(b"\n") else {
                let text = String::from_utf8_lossy(&line[..line.len().min(TORN)]).into_owned();
                tail.torn = Some(LogRecovered { bytes: line.len() as u64, text });
                return Ok(());
            };
            let fits = |line: &super::line::Linked<'_>| {
                line.seq == tail.events + 1 && follows(line, &self.chain, &tail.link)
            };
            if !linked(inner).is_some_and(|line| fits(&line)) || !is_own(inner, &self.chain) {
                let what = format!(
                    "the line after event {} in `{path}` does not continue the chain",
                    tail.events
                );
                return Err(LogError::Broken { what });
            }
            tail.events += 1;
            tail.before = tail.events;
            tail.size += line.len() as u64;
            tail.link = self.chain.link(inner);
        }
        Ok(())
    }
}

/// The end of the log.
#[derive(Debug, Clone)]
struct Tail {
    /// Format version of the head.
    version: u32,
    id: String,
    previous: String,
    /// Number of the last event, including those about to be written.
    events: u64,
    /// Number of the last event that has been written.
    before: u64,
    first: u64,
    size: u64,
    link: Hex,
    torn: Option<LogRecovered>,
}

impl Tail {
    /// Returns the end that a head records, with the link of an empty log. The caller sets the link of the last event.
    fn at(head: &Head, chain: &Chain) -> Self {
        let Head { schema_version, id, previous, events, first, size, .. } = head.clone();
        let (version, before, link) = (schema_version, events, chain.link(b""));
        Self { version, id, previous, events, before, first, size, link, torn: None }
    }

    /// Returns the head of a log that ends here, without its seal.
    fn head(&self, chain: &Chain, last: LastLine) -> Head {
        Head {
            schema_version: VERSION,
            chain: chain.name().to_owned(),
            id: self.id.clone(),
            previous: self.previous.clone(),
            events: self.events,
            first: last.first,
            size: last.end,
            last: last.length,
            seal: String::new(),
        }
    }
}

/// The last line of a log.
#[derive(Debug, Clone, Copy)]
struct LastLine {
    /// Number of the first event in its file.
    first: u64,
    /// Where it ends in that file.
    end: u64,
    /// Length in bytes, line break included.
    length: u64,
}

/// Lines about to be written.
struct Batch {
    now: String,
    bytes: Vec<u8>,
    tail: Tail,
    /// Length of the last line in bytes, line break included.
    last: usize,
}

impl Batch {
    fn add(&mut self, chain: &Chain, event: &Event) -> Result<(), LogError> {
        let at = self.bytes.len();
        let seq = self.tail.events + 1;
        let start = LineStart { seq, prev: &self.tail.link, time: &self.now };
        let written = match event {
            // There may be very many of these, and nothing in them is user input.
            Event::Discovered { .. } | Event::Removed { .. } => {
                write(&mut self.bytes, chain, start, event)
            }
            _ => serde_json::to_value(event).and_then(|mut value| {
                redact_all(&mut value);
                write(&mut self.bytes, chain, start, &value)
            }),
        };
        let failed = |source| LogError::Io { path: format!("event {seq}"), source };
        written.map_err(|error| failed(error.into()))?;
        if self.bytes.len() - at > MAX_EVENT {
            let limit = ByteSize(MAX_EVENT as u64);
            return Err(failed(io::Error::other(format!("it is larger than {limit}"))));
        }
        self.tail.link = chain.link(&self.bytes[at..]);
        self.tail.events += 1;
        self.bytes.push(b'\n');
        self.last = self.bytes.len() - at;
        Ok(())
    }
}

/// Locks the log in `folder`. The kernel releases the lock when the process ends.
pub(super) fn lock(folder: &AbsPath) -> Result<File, LogError> {
    let path = folder.join(LOCK);
    let failed = |source| LogError::Io { path: path.to_string(), source };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    private(&mut options);
    let file = match options.open(path.as_path()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_private_folder(folder).map_err(|error| failed(io::Error::other(error)))?;
            options.open(path.as_path()).map_err(failed)?
        }
        opened => opened.map_err(failed)?,
    };
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        match file.try_lock() {
            // The file may have been removed in the meantime; then another file is the lock.
            Ok(()) if !is_same(&file, &path) => return lock(folder),
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(2));
            }
            Err(TryLockError::WouldBlock) => return Err(LogError::Busy { path: path.to_string() }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// Returns true if an open file is still the one at a path.
fn is_same(file: &File, path: &AbsPath) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let is_it = |ours: std::fs::Metadata, theirs: std::fs::Metadata| {
            (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
        };
        let theirs = std::fs::symlink_metadata(path.as_path());
        file.metadata().and_then(|ours| Ok(is_it(ours, theirs?))).unwrap_or(false)
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

fn open(path: &AbsPath) -> Result<(Option<File>, u64), LogError> {
    let failed = |source| LogError::Io { path: path.to_string(), source };
    let Some(file) = open_regular(path)? else { return Ok((None, 0)) };
    let size = file.metadata().map_err(failed)?.len();
    Ok((Some(file), size))
}

fn read_range(mut file: &File, path: &AbsPath, from: u64, to: u64) -> Result<Vec<u8>, LogError> {
    let failed = |source| LogError::Io { path: path.to_string(), source };
    if to - from > MAX_LEFT {
        let what = format!("`{path}` is {} bytes longer than recorded in head.json", to - from);
        return Err(LogError::Broken { what });
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    file.take(to - from).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn truncate(path: &AbsPath, size: u64) -> Result<(), LogError> {
    let cut =
        OpenOptions::new().write(true).open(path.as_path()).and_then(|file| file.set_len(size));
    cut.map_err(|source| LogError::Io { path: path.to_string(), source })
}

fn without_break(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}
