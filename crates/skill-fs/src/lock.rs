//! One writer at a time, across processes.
//!
//! The lock is the kernel's lock on the file, so it ends with the process and is never stale. The
//! file's body says who holds it, for the message and for other implementations: a body without our
//! `kind` is theirs and counts as held while its process lives or it is young.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::{AbsPath, FsError, sys};

/// How long another implementation's lock counts as held when its process is gone.
const FOREIGN_AGE: Duration = Duration::from_secs(600);
/// How long an empty file counts as held: another implementation may be about to write its body. One of
/// ours that was killed before it wrote leaves the same, so this must be short.
const EMPTY_AGE: Duration = Duration::from_secs(1);
/// So long nobody is told: most locks are held for a moment.
const UNTOLD: Duration = Duration::from_millis(500);
/// Who wants to know of a wait.
static ON_WAIT: OnceLock<fn(&AbsPath, Option<u32>)> = OnceLock::new();

/// How often a held lock is looked at again.
const PAUSE: Duration = Duration::from_millis(20);
/// The most that is read of a body.
const MAX_BODY: u64 = 4096;
/// What our bodies say.
const KIND: &str = "flock";

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub struct Lock {
    path: AbsPath,
    file: File,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error(
        "another csk process holds lock at {path}; pid={} created_at={}; \
         remove it only after verifying the process is stale",
        known(pid.as_ref()), known(created_at.as_ref())
    )]
    Held {
        /// The lock's file.
        path: String,
        /// Who, if known.
        pid: Option<u32>,
        /// Since when, in Unix seconds, if known.
        created_at: Option<u64>,
    },
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FsError),
}

fn known<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), T::to_string)
}

/// Who holds a lock. Each part is read by itself, so an odd one hides no other.
#[derive(Debug, Default)]
struct Holder {
    pid: Option<u32>,
    created_at: Option<u64>,
    is_ours: bool,
}

impl Lock {
    /// How long a command waits for the lock unless the user says otherwise.
    pub const TIMEOUT: Duration = Duration::from_secs(30);

    /// Has `tell` called once whenever a lock is waited for, with its path and the process that holds it. For the program, at its start.
    pub fn on_wait(tell: fn(&AbsPath, Option<u32>)) {
        // Whoever says it first has said it.
        let _ = ON_WAIT.set(tell);
    }

    /// Takes the lock at `path`, waiting up to `timeout` for it.
    pub fn acquire(path: &AbsPath, timeout: Duration) -> Result<Self, LockError> {
        let start = Instant::now();
        let mut is_told = false;
        loop {
            let holder = match attempt(path)? {
                Attempt::Taken(lock) => return Ok(lock),
                Attempt::Held(holder) => holder,
            };
            if start.elapsed() >= timeout {
                let Holder { pid, created_at, .. } = holder;
                return Err(LockError::Held { path: path.to_string(), pid, created_at });
            }
            if !is_told && start.elapsed() >= UNTOLD {
                is_told = true;
                if let Some(tell) = ON_WAIT.get() {
                    tell(path, holder.pid);
                }
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Somebody may have removed our file by hand and another process may hold a new one there.
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
    // The file may have been removed between opening and locking it; the next try takes the new one.
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

/// Opens the file, and tells whether it was made just now.
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

/// Returns true if the file, which the kernel gave us, is another implementation's and still in use.
fn is_held_by_others(holder: &Holder, file: &File) -> io::Result<bool> {
    if holder.is_ours {
        return Ok(false);
    }
    let metadata = file.metadata()?;
    // A clock that went backwards makes a file from the future: that is young, too.
    let age = SystemTime::now().duration_since(metadata.modified()?).unwrap_or(Duration::ZERO);
    let most = if metadata.len() == 0 { EMPTY_AGE } else { FOREIGN_AGE };
    Ok(holder.pid.is_some_and(sys::is_process_alive) || age < most)
}

fn write_body(file: &mut File) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let text =
        json!({ "created_at": now, "kind": KIND, "pid": std::process::id() }).to_string() + "\n";
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}
