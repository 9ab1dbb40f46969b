//! Collects the problems of one file while it is read.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Code, Diagnostic, Severity, Source, Strictness};

/// How many problems of one kind are told one by one; the rest is one line. Hostile input must not
/// turn into a flood of words.
const MAX_PER_CODE: usize = 10;

/// The problems found so far in one file, at one strictness.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    strictness: Strictness,
    file: &'a str,
    source: &'a Source<'a>,
    diagnostics: Vec<Diagnostic>,
    seen: BTreeMap<Code, Seen>,
}

/// How often a rule was broken, and where the first break is that is not told by itself.
#[derive(Debug, Default)]
struct Seen {
    count: usize,
    rest: Option<Range<usize>>,
}

impl<'a> Report<'a> {
    /// Starts an empty report on `file`.
    pub(crate) fn new(file: &'a str, source: &'a Source<'a>, strictness: Strictness) -> Self {
        Self { strictness, file, source, diagnostics: Vec::new(), seen: BTreeMap::new() }
    }

    /// Adds a problem at `range`, unless this strictness does not report it.
    pub(crate) fn add(&mut self, code: Code, range: Range<usize>, message: impl Into<String>) {
        self.add_lazily(code, range, || (message.into(), None));
    }

    /// Adds a problem at `range` with what to do about it.
    pub(crate) fn add_with_hint(
        &mut self,
        code: Code,
        range: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add_lazily(code, range, || (message.into(), Some(hint.into())));
    }

    /// Returns true if a problem of this kind is reported at all.
    pub(crate) fn hears(&self, code: Code) -> bool {
        code.severity(self.strictness).is_some()
    }

    /// Adds a problem whose message and hint are made only if they are going to be told.
    pub(crate) fn add_lazily(
        &mut self,
        code: Code,
        range: Range<usize>,
        words: impl FnOnce() -> (String, Option<String>),
    ) {
        let Some(severity) = code.severity(self.strictness) else { return };
        let seen = self.seen.entry(code).or_default();
        seen.count += 1;
        if seen.count > MAX_PER_CODE {
            seen.rest.get_or_insert(range);
            return;
        }
        let (message, hint) = words();
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

    /// Returns true once the skill is refused.
    pub(crate) fn has_error(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns everything found, in the order of the file.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        for (code, seen) in std::mem::take(&mut self.seen) {
            let (Some(range), Some(severity)) = (seen.rest, code.severity(self.strictness)) else {
                continue;
            };
            let message =
                format!("{} more problems of this kind, from here on", seen.count - MAX_PER_CODE);
            let span = Some(self.source.span(range));
            let file = self.file.to_owned();
            self.diagnostics.push(Diagnostic { code, severity, file, span, message, hint: None });
        }
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start.offset));
        self.diagnostics
    }
}
