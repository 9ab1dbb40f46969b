//! Collects the problems of one file while it is read.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Code, Diagnostic, Severity, Source, Strictness};

/// How many problems with the same code are reported individually; the rest become one line, so that hostile input
/// cannot flood the output.
const MAX_PER_CODE: usize = 10;

/// The problems found so far in one file, at one strictness.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    strictness: Strictness,
    file: &'a str,
    source: &'a Source<'a>,
    diagnostics: Vec<Diagnostic>,
    seen: BTreeMap<Code, CodeCount>,
}

/// How often a rule was broken, and the first occurrence that is not reported individually.
#[derive(Debug, Default)]
struct CodeCount {
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

    /// Adds a problem with a hint at `range`.
    pub(crate) fn add_with_hint(
        &mut self,
        code: Code,
        range: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add_lazily(code, range, || (message.into(), Some(hint.into())));
    }

    /// Returns true if this strictness reports problems with this code.
    pub(crate) fn is_reported(&self, code: Code) -> bool {
        code.severity(self.strictness).is_some()
    }

    /// Adds a problem whose message and hint are built only if they are reported.
    pub(crate) fn add_lazily(
        &mut self,
        code: Code,
        range: Range<usize>,
        text: impl FnOnce() -> (String, Option<String>),
    ) {
        let Some(severity) = code.severity(self.strictness) else { return };
        let seen = self.seen.entry(code).or_default();
        seen.count += 1;
        if seen.count > MAX_PER_CODE {
            seen.rest.get_or_insert(range);
            return;
        }
        let (message, hint) = text();
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

    /// Returns true if the skill is rejected.
    pub(crate) fn has_error(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns every problem, in file order.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        for (code, seen) in std::mem::take(&mut self.seen) {
            let (Some(range), Some(severity)) = (seen.rest, code.severity(self.strictness)) else {
                continue;
            };
            let more = seen.count - MAX_PER_CODE;
            let problems = if more == 1 { "problem" } else { "problems" };
            let message = format!("{more} more {problems} of this kind not shown, starting here");
            let span = Some(self.source.span(range));
            let file = self.file.to_owned();
            self.diagnostics.push(Diagnostic { code, severity, file, span, message, hint: None });
        }
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start.offset));
        self.diagnostics
    }
}
