//! What can go wrong with a stranger's files, by what a caller can say about it.

use std::io;

use crate::sys;

/// A file or folder that cannot be used, always with its path.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// Nothing there.
    #[error("{path} does not exist")]
    NotFound {
        /// Which.
        path: String,
    },
    /// Something else stands where a folder was expected.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// Which.
        path: String,
    },
    /// Something else stands where a regular file was expected.
    #[error("{path} is {kind}, not a regular file")]
    NotRegular {
        /// Which.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// A link leads out, or in a circle.
    #[error("{path} is, or goes through, a link that leads out of the folder or in a circle")]
    Escapes {
        /// Which.
        path: String,
    },
    /// Larger than the caller reads.
    #[error("{path} has {size} bytes; at most {limit} are read")]
    TooLarge {
        /// Which.
        path: String,
        /// How large it is.
        size: u64,
        /// How much is read.
        limit: u64,
    },
    /// A name that no skill may use.
    #[error("a file below {folder} has a name that is not allowed: {name:?}")]
    BadName {
        /// The folder it is in.
        folder: String,
        /// The name, shown with replacement characters.
        name: String,
    },
    /// More entries, or deeper ones, than the caller walks.
    #[error("{path} holds more than {limit} {what}")]
    Limit {
        /// Where the walk stopped.
        path: String,
        /// What there are too many of.
        what: &'static str,
        /// How many are allowed.
        limit: usize,
    },
    /// It changed while it was read.
    #[error("{path} changed while it was read")]
    Changed {
        /// Which.
        path: String,
    },
    /// Anything else.
    #[error("cannot access {path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl FsError {
    /// Returns the path that cannot be used.
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

    /// Names the path of an IO error, and the class it belongs to.
    pub(crate) fn io(path: impl Into<String>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::NotADirectory => Self::NotAFolder { path },
            _ => Self::Io { path, source },
        }
    }

    /// Names the path of an error that came without one, as those of a listing do.
    pub(crate) fn named(self, at: &str) -> Self {
        match self {
            Self::Io { path, source } if path.is_empty() => Self::io(at, source),
            other => other,
        }
    }

    /// As [`Self::io`], for a file opened below a folder: links that were refused are told apart.
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

/// For listings, whose errors get their path afterwards.
impl From<io::Error> for FsError {
    fn from(source: io::Error) -> Self {
        Self::Io { path: String::new(), source }
    }
}
