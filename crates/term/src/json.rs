//! JSON output: diagnostics, errors, and a writer whose output is safe to show on a terminal.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use skill::{Diagnostic, is_unsafe_to_show};

/// A problem in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiagnosticJson {
    /// Stable name of the rule that found the problem.
    pub code: String,
    /// Severity of the problem.
    #[schemars(extend("enum" = ["error", "warning", "note"]))]
    pub severity: String,
    /// Path of the file.
    pub file: String,
    /// Line number, starting at 1. Absent if the problem concerns the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, starting at 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// Line of the end of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// Column just after the end of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
    /// What was found and what was expected.
    pub message: String,
    /// How to fix it.
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

/// Output of a command with `--json` when it fails.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailureJson {
    /// Version of this format.
    pub version: u32,
    /// The error.
    pub error: ErrorJson,
}

/// An error.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrorJson {
    /// Stable name of the kind of error.
    pub code: String,
    /// What was found and what was expected.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// All problems of the file, if the error is about a malformed file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<DiagnosticJson>,
}

/// Writes indented JSON with every character escaped that could control a terminal. JSON parsers turn an escape such as
/// `\u202e` back into the character, so nothing is lost.
pub(crate) fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(
        out,
        EscapingFormatter(PrettyFormatter::new()),
    ))?;
    Ok(())
}

/// Same as [`write_json`], on one line.
pub(crate) fn write_json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(
        &mut *out,
        EscapingFormatter(CompactFormatter),
    ))?;
    out.write_all(b"\n")
}

/// A formatter that escapes characters that could control a terminal.
struct EscapingFormatter<F>(F);

impl<F: Formatter> Formatter for EscapingFormatter<F> {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, character)) =
            rest.char_indices().find(|(_, character)| is_unsafe_to_show(*character))
        {
            out.write_all(&rest.as_bytes()[..at])?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + character.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_safe_on_a_terminal_and_loses_nothing() {
        let value = vec!["plain ж", "\u{9b}2J\u{7f}", "a\u{202e}b", "\u{e0041}", "\u{1b}\n\""];
        let mut out = Vec::new();
        write_json(&mut out, &value).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(is_unsafe_to_show), "{text:?}");
        assert!(text.starts_with("[\n  \"plain ж\",\n"), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), value);
    }
}
