//! One problem of one file, as data: what a terminal, a JSON reader and SARIF all show.

use crate::Code;

/// How a skill is read: for publishing it, or for using one that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Everything the standard asks is an error when it is missing.
    Strict,
    /// Only what leaves nothing to load is an error.
    Lenient,
}

/// How bad a problem is. Only an [`Severity::Error`] refuses the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The skill is refused.
    Error,
    /// The skill is taken; something about it is probably not what its author meant.
    Warning,
    /// Worth knowing, nothing to mend.
    Note,
}

impl Severity {
    /// Returns the word shown to people and written to JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A place in a file. Lines and columns count from 1, columns in characters, offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte offset, from 0.
    pub offset: usize,
}

/// A half-open stretch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first character.
    pub start: Position,
    /// The place just after the last character.
    pub end: Position,
}

/// One problem: what, where, how bad and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that found it.
    pub code: Code,
    /// How bad it is at the strictness of this run.
    pub severity: Severity,
    /// The file, as the caller named it.
    pub file: String,
    /// Where in the file; absent when the problem is the file itself.
    pub span: Option<Span>,
    /// What was found and what was expected. Lower case, no final period.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Returns a problem of a whole file, or `None` where `strictness` does not report it.
    pub fn of_file(
        code: Code,
        strictness: Strictness,
        file: &str,
        message: String,
    ) -> Option<Self> {
        let severity = code.severity(strictness)?;
        Some(Self { code, severity, file: file.to_owned(), span: None, message, hint: None })
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
