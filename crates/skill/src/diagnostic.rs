//! One problem in one file, as data for the terminal, JSON and SARIF.

use crate::Code;

/// The purpose for which a skill is read: publishing it, or using an existing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Everything that the standard requires is an error.
    Strict,
    /// Only problems that prevent loading are errors.
    Lenient,
}

/// How serious a problem is. Only an [`Severity::Error`] rejects the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The skill is rejected.
    Error,
    /// The skill is accepted, but something is probably not what its author intended.
    Warning,
    /// Worth knowing; nothing to fix.
    Note,
}

impl Severity {
    /// Returns the name shown to people and written to JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A position in a file. Lines and columns count from 1, columns in characters, offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte offset, from 0.
    pub offset: usize,
}

/// A half-open range in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first character.
    pub start: Position,
    /// The position after the last character.
    pub end: Position,
}

/// One problem: what, where, how serious, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that was broken.
    pub code: Code,
    /// The severity at the strictness of this run.
    pub severity: Severity,
    /// The file, as named by the caller.
    pub file: String,
    /// Position in the file; `None` if the problem concerns the whole file.
    pub span: Option<Span>,
    /// What was found and what was expected. Lower case, no final period.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Returns a problem with a whole file, or `None` if `strictness` does not report it.
    pub fn of_file(
        code: Code,
        strictness: Strictness,
        file: &str,
        message: String,
    ) -> Option<Self> {
        let severity = code.severity(strictness)?;
        Some(Self { code, severity, file: file.to_owned(), span: None, message, hint: None })
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
