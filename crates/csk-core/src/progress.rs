//! What runs for long, told while it runs.

use skill::Identifier;

/// Something that may take a while.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// A repository is cloned.
    Clone {
        /// Which.
        source: &'a Identifier,
        /// From where, without a password.
        url: &'a str,
    },
    /// The origin of a repository is asked what it has.
    Ask {
        /// Which.
        source: &'a str,
    },
    /// A repository is fetched.
    Fetch {
        /// Its folder's name.
        source: &'a str,
    },
    /// A project is written.
    Project {
        /// Its name in messages.
        alias: &'a str,
    },
}

/// Who wants to be told.
pub trait Progress: Sync {
    /// Is told that `work` begins; it ends when the result is dropped.
    fn begin(&self, work: Work<'_>) -> Box<dyn Running>;
}

/// Work that goes on.
pub trait Running: Send + Sync {
    /// Is told how far it is.
    fn note(&self, words: &str);
}

/// Nobody wants to know.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: Work<'_>) -> Box<dyn Running> {
        Box::new(Self)
    }
}

impl Running for Silent {
    fn note(&self, _: &str) {}
}
