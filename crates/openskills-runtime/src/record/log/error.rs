//! Errors of the log.

use std::io;

/// A failure of the log. The operation that was to be logged does not happen.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A file of the log cannot be used.
    #[error("cannot use the log: `{path}`: {source}")]
    Io {
        /// The file.
        path: String,
        /// The underlying error.
        source: io::Error,
    },
    /// Another process has held the lock for too long.
    #[error("timed out waiting for another process to release the log lock `{path}`")]
    Busy {
        /// The lock file.
        path: String,
    },
    /// The log is damaged or has been altered.
    #[error("the log is damaged or has been altered: {what}")]
    Broken {
        /// What is wrong with it.
        what: String,
    },
    /// The key cannot be used.
    #[error("cannot use the log key `{path}`: {what}")]
    Key {
        /// The key file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// A checkpoint could not be written, and the configuration requires it.
    #[error("cannot write a log checkpoint to `{destination}`: {reason}")]
    Checkpoint {
        /// The file, socket or URL.
        destination: String,
        /// The underlying error.
        reason: String,
    },
    /// The log uses a key but none is configured, or the other way round.
    #[error("the log is chained with {found}, but {expected} is configured")]
    ChainMismatch {
        /// The algorithm that the log uses.
        found: String,
        /// The algorithm that the configuration asks for.
        expected: String,
    },
}

impl LogError {
    /// Returns how to resolve the error.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "pass a log folder or one of its files, or omit the path to use your own log"
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "check the permissions; a log must be readable and writable by its owner only"
            }
            Self::Io { .. } => return None,
            Self::Key { .. } => {
                "pass the key file with --key-file, or set `log.key_file` in config.json"
            }
            Self::Checkpoint { .. } => {
                "fix the destination, or set `log.checkpoints.required` to false in config.json"
            }
            Self::Busy { .. } => "try again; if a stopped process holds the lock, end that process",
            Self::Broken { .. } => {
                "run `openskills log verify` for details, or `openskills log archive` to archive this log and start a new one"
            }
            Self::ChainMismatch { .. } => {
                "undo the change to `log.key_file` in config.json, or run `openskills log archive` to start a new log"
            }
        };
        Some(hint.to_owned())
    }
}
