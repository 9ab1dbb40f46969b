//! What can be wrong with a log.

use std::io;

/// A failure of the log. Whatever was about to happen does not.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A file cannot be used.
    #[error("the log cannot be used: {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Another process holds the lock for too long.
    #[error("another process holds the log for too long: {path}")]
    Busy {
        /// The lock's file.
        path: String,
    },
    /// The log is not what was written.
    #[error("the log is broken: {what}")]
    Broken {
        /// What is wrong.
        what: String,
    },
    /// The key cannot be used.
    #[error("the key of the log cannot be used: {path}: {what}")]
    Key {
        /// The file.
        path: String,
        /// Why.
        what: String,
    },
    /// A checkpoint could not be written, and the configuration requires it.
    #[error("cannot write a checkpoint of the log to {place}: {reason}")]
    Checkpoint {
        /// The file, socket or address.
        place: String,
        /// Why.
        reason: String,
    },
    /// The log was made with a key and there is none, or the other way round.
    #[error("the log is chained by {found}, and is to go on by {expected}")]
    OtherChain {
        /// How it was made.
        found: String,
        /// How it should go on.
        expected: String,
    },
}

impl LogError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "name the folder of a log, or one file of it; without a name it is your own"
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "see who may read and write it; a log is its user's alone"
            }
            Self::Io { .. } => return None,
            Self::Key { .. } => {
                "name the file of the key by --key-file, or by `log.key_file` in config.json"
            }
            Self::Checkpoint { .. } => {
                "fix the place, or set `log.checkpoints.required` to false in config.json"
            }
            Self::Busy { .. } => "try again; if a stopped process holds it, end that one",
            Self::Broken { .. } => {
                "`openskills log verify` says more; `openskills log archive` puts it aside and starts a new one"
            }
            Self::OtherChain { .. } => {
                "set `log.key_file` in config.json as it was, or start a new log: openskills log archive"
            }
        };
        Some(hint.to_owned())
    }
}
