//! A diagnostic as JSON.

use schemars::JsonSchema;
use serde::Serialize;
use skill::Diagnostic;

/// One problem of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiagnosticJson {
    /// The rule that found it, a stable name.
    pub code: String,
    /// How bad it is.
    #[schemars(extend("enum" = ["error", "warning", "note"]))]
    pub severity: String,
    /// The file.
    pub file: String,
    /// Line, from 1. Absent when the problem is the file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// Line of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// Column just after the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<&Diagnostic> for DiagnosticJson {
    fn from(diagnostic: &Diagnostic) -> Self {
        let span = diagnostic.span;
        Self {
            code: diagnostic.code.as_str().to_owned(),
            severity: diagnostic.severity.as_str().to_owned(),
            file: diagnostic.file.clone(),
            line: span.map(|span| span.start.line),
            column: span.map(|span| span.start.column),
            end_line: span.map(|span| span.end.line),
            end_column: span.map(|span| span.end.column),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
        }
    }
}
