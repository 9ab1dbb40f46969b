//! Collects the problems of one file while it is read.

use std::ops::Range;

use crate::{Code, Diagnostic, Severity, Source, Strictness};

/// The problems found so far in one file, at one strictness.
#[derive(Debug)]
pub struct Report<'a> {
    /// How the file is read.
    pub strictness: Strictness,
    file: &'a str,
    source: &'a Source<'a>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Report<'a> {
    /// Starts an empty report on `file`.
    pub fn new(file: &'a str, source: &'a Source<'a>, strictness: Strictness) -> Self {
        Self { strictness, file, source, diagnostics: Vec::new() }
    }

    /// Adds a problem at `range`, unless this strictness does not report it.
    pub fn add(&mut self, code: Code, range: Range<usize>, message: impl Into<String>) {
        self.push(code, range, message.into(), None);
    }

    /// Adds a problem at `range` with what to do about it.
    pub fn add_with_hint(
        &mut self,
        code: Code,
        range: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(code, range, message.into(), Some(hint.into()));
    }

    /// Returns true once the skill is refused.
    pub fn has_error(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns true if the frontmatter holds characters that YAML does not allow.
    pub(crate) fn has_characters_error(&self) -> bool {
        let codes = [Code::NulCharacter, Code::ControlCharacter];
        self.diagnostics.iter().any(|diagnostic| codes.contains(&diagnostic.code))
    }

    /// Returns everything found, in the order of the file.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start.offset));
        self.diagnostics
    }

    fn push(&mut self, code: Code, range: Range<usize>, message: String, hint: Option<String>) {
        let Some(severity) = code.severity(self.strictness) else { return };
        let span = Some(self.source.span(range));
        self.diagnostics.push(Diagnostic {
            code,
            severity,
            file: self.file.to_owned(),
            span,
            message,
            hint,
        });
    }
}
