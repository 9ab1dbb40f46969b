//! Errors that commands create themselves. Each program maps the errors of libraries to reports.

use std::error::Error;
use std::fmt;

use skill::Diagnostic;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// A usage or configuration error.
    Usage,
    /// A file is malformed.
    Malformed,
    /// A file cannot be read or written.
    Files,
    /// A stream cannot be read or written.
    Io,
    /// Another process holds the process lock.
    Locked,
}

impl FailureKind {
    /// Returns the stable name used in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Malformed => "malformed",
            Self::Files => "files",
            Self::Io => "io",
            Self::Locked => "locked",
        }
    }
}

/// An error that ends a command.
#[derive(Debug)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// What failed and why. For a malformed file: the message of its first diagnostic.
    pub message: String,
    /// How to fix it, as an imperative.
    pub hint: Option<String>,
    /// The problems of the malformed file.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the malformed file.
    pub text: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// Returns a usage or configuration error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// Returns an error about a file that cannot be read or written. The message says what failed, `source` says why.
    pub fn files(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { source: Some(source.into()), ..Self::new(FailureKind::Files, message) }
    }

    /// Returns an error about a malformed file.
    pub fn malformed(text: String, diagnostics: Vec<Diagnostic>) -> Self {
        let message = diagnostics.first().map_or_else(String::new, |first| first.message.clone());
        Self { diagnostics, text: Some(text), ..Self::new(FailureKind::Malformed, message) }
    }

    /// Returns the failure with a hint.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message, hint: None, diagnostics: Vec::new(), text: None, source: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
