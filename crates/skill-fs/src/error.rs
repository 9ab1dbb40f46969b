//! Errors of reading untrusted files, one variant for each case that callers report differently.

use std::io;

use skill::ByteSize;

use crate::sys;

/// A file or folder that cannot be used, always with its path.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The path does not exist.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The path.
        path: String,
    },
    /// Expected a folder, found something else.
    #[error("`{path}` is not a folder")]
    NotAFolder {
        /// The path.
        path: String,
    },
    /// Expected a regular file, found something else.
    #[error("`{path}` is {kind}, not a regular file")]
    NotRegular {
        /// The path.
        path: String,
        /// What was found.
        kind: &'static str,
    },
    /// A symlink leads out of the folder or forms a loop.
    #[error("`{path}` leads through a symlink that points outside the folder or forms a loop")]
    Escapes {
        /// The path.
        path: String,
    },
    /// The file is larger than the caller's limit.
    #[error("`{path}` is too large: {} (limit: {})", ByteSize(*size), ByteSize(*limit))]
    TooLarge {
        /// The path.
        path: String,
        /// The size in bytes.
        size: u64,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The name is not allowed in a skill.
    #[error("`{folder}` contains a file name that is not allowed in a skill: {name:?}")]
    BadName {
        /// The folder that contains the file.
        folder: String,
        /// The name, with replacement characters.
        name: String,
    },
    /// The folder contains more entries or bytes, or is nested more deeply, than the caller's limit.
    #[error("`{path}` contains more than {}", amount(*limit, what))]
    Limit {
        /// Where the walk stopped.
        path: String,
        /// What there is too much of.
        what: &'static str,
        /// The maximum number.
        limit: usize,
    },
    /// The file changed while it was being read.
    #[error("`{path}` changed while it was being read")]
    Changed {
        /// The path.
        path: String,
    },
    /// Any other IO error.
    #[error("cannot access `{path}`: {source}")]
    Io {
        /// The path.
        path: String,
        /// The cause.
        source: io::Error,
    },
}

impl FsError {
    /// Returns the path that caused the error.
    pub fn path(&self) -> &str {
        match self {
            Self::NotFound { path }
            | Self::NotAFolder { path }
            | Self::NotRegular { path, .. }
            | Self::Escapes { path }
            | Self::TooLarge { path, .. }
            | Self::BadName { folder: path, .. }
            | Self::Limit { path, .. }
            | Self::Changed { path }
            | Self::Io { path, .. } => path,
        }
    }

    /// Classifies an IO error at `path`.
    pub(crate) fn io(path: impl Into<String>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::NotADirectory => Self::NotAFolder { path },
            _ => Self::Io { path, source },
        }
    }

    /// Adds the path to an error without one, as those of a listing are.
    pub(crate) fn or_at(self, path_of_listing: &str) -> Self {
        match self {
            Self::Io { path, source } if path.is_empty() => Self::io(path_of_listing, source),
            other => other,
        }
    }

    /// Like [`Self::io`], for a file opened below a folder: a symlink that was refused gets its own variant.
    pub(crate) fn confined(path: impl Into<String>, source: io::Error) -> Self {
        match Self::io(path, source) {
            Self::Io { path, source } if sys::is_refused_link(&source) => Self::Escapes { path },
            Self::Io { path, source } if sys::is_not_openable(&source) => {
                Self::NotRegular { path, kind: "a socket or a device" }
            }
            other => other,
        }
    }
}

/// Returns a limit with its unit: `100 entries`, `64 MiB`.
fn amount(limit: usize, what: &str) -> String {
    match what.strip_prefix("bytes") {
        Some(rest) => format!("{}{rest}", ByteSize(limit as u64)),
        None => format!("{limit} {what}"),
    }
}

/// For listings; `FsError::or_at` adds the path.
impl From<io::Error> for FsError {
    fn from(source: io::Error) -> Self {
        Self::Io { path: String::new(), source }
    }
}
