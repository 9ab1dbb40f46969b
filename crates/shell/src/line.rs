//! A command line, taken apart.

use crate::Word;

/// Plain commands, in the order of the line. Whether they run one after the other, beside each other or at all is not said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The commands; never none.
    pub commands: Vec<Command>,
}

/// One program that would be started, or something built into the shell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Variables that are set for it.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments; empty where variables are set or files opened for nobody.
    pub words: Vec<Word>,
    /// Files that are opened for it.
    pub redirects: Vec<Redirect>,
    /// The command as it was written, without variables and redirections.
    pub text: String,
}

/// A variable that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Word,
}

/// A file that is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Whether it is only read.
    pub is_read: bool,
    /// The file; `&1` and the like name what is open already.
    pub target: Word,
    /// Whether the target is something that is open already.
    pub is_copy: bool,
}

/// Why nothing can be said for sure about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What stands in the way, in words.
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
