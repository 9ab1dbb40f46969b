//! One writer at a time, across processes.
//!
//! The lock is the kernel's lock on the file, so it ends with the process and is never stale. The
//! file's body says who holds it, for the message and for other implementations: a body without our
//! `kind` is theirs and counts as held while its process lives or it is young.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{AbsPath, FsError, sys};

/// How long another implementation's lock counts as held when its process is gone.
const FOREIGN_AGE: Duration = Duration::from_secs(600);
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

#[derive(Debug, Default, Serialize, Deserialize)]
struct BodyOf<Time> {
    created_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    pid: Option<u32>,
}

/// Other implementations write fractions of a second.
type Body = BodyOf<f64>;

impl Lock {
    /// Takes the lock at `path`, waiting up to `timeout` for it.
    pub fn acquire(path: &AbsPath, timeout: Duration) -> Result<Self, LockError> {
        let start = Instant::now();
        loop {
            match attempt(path)? {
                Attempt::Taken(lock) => return Ok(lock),
                Attempt::Replaced => {}
                Attempt::Held(body) if start.elapsed() >= timeout => {
                    let created_at = body.created_at.map(|seconds| seconds as u64);
                    return Err(LockError::Held {
                        path: path.to_string(),
                        pid: body.pid,
                        created_at,
                    });
                }
                Attempt::Held(_) => std::thread::sleep(PAUSE),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file goes while it is still locked, so nobody can hold a lock that has lost its name.
        // If it cannot be removed, the kernel still lets go of it and the body says that it is ours.
        let _ = fs::remove_file(self.path.as_path());
        let _ = self.file.unlock();
    }
}

enum Attempt {
    Taken(Lock),
    Held(Body),
    /// The file was removed between opening and locking; another try takes the new one.
    Replaced,
}

fn attempt(path: &AbsPath) -> Result<Attempt, FsError> {
    let failed = |source| FsError::io(path.as_str(), source);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path.as_path())
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Ok(Attempt::Held(read_body(&mut file).unwrap_or_default()));
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    if !sys::is_same_file(&file, path.as_path()).map_err(failed)? {
        return Ok(Attempt::Replaced);
    }
    let size = file.metadata().map_err(failed)?.len();
    // An empty body is a fresh file, or one of ours whose process ended before it wrote.
    if size > 0 {
        let body = read_body(&mut file);
        if is_foreign_and_held(body.as_ref(), &file).map_err(failed)? {
            return Ok(Attempt::Held(body.unwrap_or_default()));
        }
    }
    write_body(&mut file).map_err(failed)?;
    Ok(Attempt::Taken(Lock { path: path.clone(), file }))
}

fn read_body(file: &mut File) -> Option<Body> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MAX_BODY).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn is_foreign_and_held(body: Option<&Body>, file: &File) -> io::Result<bool> {
    if body.is_some_and(|body| body.kind.as_deref() == Some(KIND)) {
        return Ok(false);
    }
    let lives = body.and_then(|body| body.pid).is_some_and(sys::is_process_alive);
    // A clock that went backwards makes a file from the future: that is young, too.
    let age =
        SystemTime::now().duration_since(file.metadata()?.modified()?).unwrap_or(Duration::ZERO);
    Ok(lives || age < FOREIGN_AGE)
}

fn write_body(file: &mut File) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let body = BodyOf {
        created_at: Some(now),
        kind: Some(KIND.to_owned()),
        pid: Some(std::process::id()),
    };
    let text = serde_json::to_string(&body)? + "\n";
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}
