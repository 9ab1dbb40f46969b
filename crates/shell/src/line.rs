//! A parsed command line.

use crate::Word;

/// The plain commands of a line, in order. It does not record whether they run in sequence, in parallel or at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The commands; never empty.
    pub commands: Vec<Command>,
}

/// One program that would be started, or a shell builtin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Variables that are set for it.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments; empty for bare assignments and redirections.
    pub words: Vec<Word>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// The command as written, without variables and redirections.
    pub text: String,
}

/// A variable assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Word,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Whether the target is only read.
    pub is_read: bool,
    /// The file, or an open file descriptor for `&1` and the like.
    pub target: Word,
    /// Whether the target is an open file descriptor.
    pub is_copy: bool,
}

/// Why a line cannot be analyzed with certainty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, for people.
    pub reason: String,
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}
