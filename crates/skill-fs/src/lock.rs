//! One writer at a time, across processes.
//!
//! The lock is the kernel's lock on the file, so it ends with the process and is never stale. The body of the file
//! names the holder, for the error message and for other implementations. A body without our `kind` was written by
//! another implementation; the lock then counts as held while its process is alive or the file is recent.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::{AbsPath, FsError, sys};

/// How long another implementation's lock counts as held after its process has ended.
const MAX_FOREIGN_AGE: Duration = Duration::from_secs(600);
/// How long an empty file counts as held: another implementation may be about to write its body. One of our
/// processes, killed before it wrote the body, also leaves an empty file, so this must be short.
const MAX_EMPTY_AGE: Duration = Duration::from_secs(1);
/// How long to wait before reporting the wait: most locks are held only for a moment.
const NOTIFY_AFTER: Duration = Duration::from_millis(500);
/// Called when a process waits for a lock.
static ON_WAIT: OnceLock<fn(&AbsPath, Option<u32>)> = OnceLock::new();

/// How long to wait between attempts to take a held lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum number of bytes read from a body.
const MAX_BODY: u64 = 4096;
/// The `kind` in bodies written by this implementation.
const KIND: &str = "flock";

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct Lock {
    path: AbsPath,
    file: File,
}

/// The reason why a lock was not acquired.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error(
        "another csk process holds lock at {path}; pid={} created_at={}; \
         remove it only after verifying the process is stale",
        or_unknown(pid.as_ref()), or_unknown(created_at.as_ref())
    )]
    Held {
        /// The path of the lock file.
        path: String,
        /// The process that holds it, if known.
        pid: Option<u32>,
        /// When it was acquired, in Unix seconds, if known.
        created_at: Option<u64>,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    File(#[from] FsError),
}

fn or_unknown<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), T::to_string)
}

/// The holder of a lock. Each field is parsed separately, so a malformed one does not hide the others.
#[derive(Debug, Default)]
struct Holder {
    pid: Option<u32>,
    created_at: Option<u64>,
    is_ours: bool,
}

impl Lock {
    /// How long a command waits for the lock by default.
    pub const TIMEOUT: Duration = Duration::from_secs(30);

    /// Registers a function that is called once for each wait, with the path of the lock and the process that holds
    /// it. Programs call this once, when they start.
    pub fn on_wait(notify: fn(&AbsPath, Option<u32>)) {
        // The first function that was registered stays.
        let _ = ON_WAIT.set(notify);
    }

    /// Acquires the lock at `path`, waiting up to `timeout` for it.
    pub fn acquire(path: &AbsPath, timeout: Duration) -> Result<Self, LockError> {
        let start = Instant::now();
        let mut notified = false;
        loop {
            let holder = match attempt(path)? {
                Attempt::Taken(lock) => return Ok(lock),
                Attempt::Held(holder) => holder,
            };
            if start.elapsed() >= timeout {
                let Holder { pid, created_at, .. } = holder;
                return Err(LockError::Held { path: path.to_string(), pid, created_at });
            }
            if !notified && start.elapsed() >= NOTIFY_AFTER {
                notified = true;
                if let Some(notify) = ON_WAIT.get() {
                    notify(path, holder.pid);
                }
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If a user removed our file, another process may now hold a new one at the same path.
        if sys::is_same_file(&self.file, self.path.as_path()).unwrap_or(false) {
            sys::remove_lock(self.path.as_path());
        }
    }
}

enum Attempt {
    Taken(Lock),
    Held(Holder),
}

fn attempt(path: &AbsPath) -> Result<Attempt, FsError> {
    let failed = |source| FsError::io(path.as_str(), source);
    let (mut file, is_new) = open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Attempt::Held(read_holder(&mut file))),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    // The file may have been removed between opening and locking it; the next attempt opens the new one.
    if !sys::is_same_file(&file, path.as_path()).map_err(failed)? {
        return Ok(Attempt::Held(Holder::default()));
    }
    let holder = read_holder(&mut file);
    if !is_new && is_held_by_others(&holder, &file).map_err(failed)? {
        return Ok(Attempt::Held(holder));
    }
    write_body(&mut file).map_err(failed)?;
    Ok(Attempt::Taken(Lock { path: path.clone(), file }))
}

/// Opens the file; the flag is true if it was created.
fn open(path: &AbsPath) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.clone().create_new(true).open(path.as_path()) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok((options.create(true).truncate(false).open(path.as_path())?, false))
        }
        Err(error) => Err(error),
    }
}

fn read_holder(file: &mut File) -> Holder {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_BODY).read_to_string(&mut text));
    let body: Value =
        read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
    Holder {
        pid: body["pid"].as_u64().and_then(|pid| pid.try_into().ok()),
        // Other implementations write fractions of a second.
        created_at: body["created_at"].as_f64().map(|seconds| seconds as u64),
        is_ours: body["kind"] == KIND,
    }
}

/// Returns true if the file, although the kernel granted us the lock, is another implementation's and still in use.
fn is_held_by_others(holder: &Holder, file: &File) -> io::Result<bool> {
    if holder.is_ours {
        return Ok(false);
    }
    let metadata = file.metadata()?;
    // If the clock was set back, the file has an mtime in the future: count it as new.
    let age = SystemTime::now().duration_since(metadata.modified()?).unwrap_or(Duration::ZERO);
    let max_age = if metadata.len() == 0 { MAX_EMPTY_AGE } else { MAX_FOREIGN_AGE };
    Ok(holder.pid.is_some_and(sys::is_process_alive) || age < max_age)
}

fn write_body(file: &mut File) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let text =
        json!({ "created_at": now, "kind": KIND, "pid": std::process::id() }).to_string() + "\n";
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}
