//! The failures that a command finds by itself. Those of libraries stay what they are; a program says what kind each is.

use std::error::Error;
use std::fmt;

use skill::Diagnostic;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The call or the configuration is wrong.
    Usage,
    /// A file is malformed.
    Malformed,
    /// A file cannot be read or written.
    Files,
    /// A stream cannot be read or written.
    Io,
    /// Another process holds the lock.
    Locked,
}

impl FailureKind {
    /// Returns its name in JSON, which stays.
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

/// Why a command ends before its work is done.
#[derive(Debug)]
pub struct Failure {
    /// What kind it is.
    pub kind: FailureKind,
    /// What failed and why; empty where the diagnostics say it.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The problems of the file that is malformed.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of that file.
    pub text: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// Returns the failure of a call that is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// Returns the failure of a file that cannot be read or written. The message says what was tried, the error why it failed.
    pub fn files(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { source: Some(source.into()), ..Self::new(FailureKind::Files, message) }
    }

    /// Returns the failure of a file that is malformed.
    pub fn malformed(text: String, diagnostics: Vec<Diagnostic>) -> Self {
        let message = diagnostics.first().map_or_else(String::new, |first| first.message.clone());
        Self { diagnostics, text: Some(text), ..Self::new(FailureKind::Malformed, message) }
    }

    /// Returns the same with advice.
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
