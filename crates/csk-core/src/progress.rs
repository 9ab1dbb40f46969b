//! Progress reporting for long-running work.

use skill::Identifier;

/// Something that may take a while.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// Cloning a repository.
    Clone {
        /// The repository.
        source: &'a Identifier,
        /// The URL, without a password.
        url: &'a str,
    },
    /// Listing the references of a repository's origin.
    ListRefs {
        /// The repository.
        source: &'a str,
    },
    /// Fetching a repository.
    Fetch {
        /// The repository.
        source: &'a str,
    },
    /// Writing a project.
    Project {
        /// Its name in messages.
        alias: &'a str,
    },
}

/// Receives progress reports.
pub trait Progress: Sync {
    /// Starts reporting `work`, which ends when the result is dropped.
    fn begin(&self, work: Work<'_>) -> Box<dyn ProgressHandle>;
}

/// Work in progress.
pub trait ProgressHandle: Send + Sync {
    /// Reports how far the work is.
    fn note(&self, message: &str);
}

/// Discards all progress reports.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: Work<'_>) -> Box<dyn ProgressHandle> {
        Box::new(Self)
    }
}

impl ProgressHandle for Silent {
    fn note(&self, _: &str) {}
}
