//! Error reports, as text and as JSON.

use std::collections::BTreeMap;
use std::io;

use skill::{Diagnostic, Source};

use crate::{
    DiagnosticJson, ErrorJson, Failure, FailureJson, FailureKind, Palette, USAGE, Ui, render,
    safe_line,
};

/// The version of the JSON format of errors.
const VERSION: u32 = 1;

/// The format of an error report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFormat {
    /// Text on standard error.
    Text,
    /// JSON on standard output.
    Json,
}

/// An error as it is printed, with its exit code.
#[derive(Debug)]
pub struct ErrorReport {
    /// The exit code of the program.
    pub exit_code: u8,
    /// The stable name of the kind of error, used in JSON.
    pub code: &'static str,
    /// What failed and why, on one line.
    pub message: String,
    /// How to fix it, as an imperative.
    pub hint: Option<String>,
    /// The problems of a file; the text format prints them instead of the message.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts of the files with problems, by path.
    pub texts: BTreeMap<String, String>,
}

impl ErrorReport {
    /// Returns the report of a [`Failure`] or an I/O error. Any other error is reported as a usage error.
    pub fn new(error: &anyhow::Error) -> Self {
        let failure = error.downcast_ref::<Failure>();
        let kind = match failure {
            Some(failure) => failure.kind,
            None if error.is::<io::Error>() => FailureKind::Io,
            None => FailureKind::Usage,
        };
        Self {
            hint: failure.and_then(|failure| failure.hint.clone()),
            diagnostics: failure.map_or_else(Vec::new, |failure| failure.diagnostics.clone()),
            texts: failure.map_or_else(BTreeMap::new, texts),
            ..Self::of_kind(kind, chain(error))
        }
    }

    /// Returns a report of the given kind.
    pub fn of_kind(kind: FailureKind, message: String) -> Self {
        Self {
            exit_code: USAGE,
            code: kind.code(),
            message,
            hint: None,
            diagnostics: Vec::new(),
            texts: BTreeMap::new(),
        }
    }

    /// Prints the report and returns the exit code.
    pub fn print(&self, ui: &mut Ui, format: ErrorFormat) -> u8 {
        // Ignore write errors: the reader of the output is gone.
        let _ = match format {
            ErrorFormat::Text => ui.error(&self.text(ui.error_palette)),
            ErrorFormat::Json => ui.json(&self.json()).and_then(|()| ui.flush()),
        };
        self.exit_code
    }

    fn text(&self, palette: Palette) -> String {
        if !self.diagnostics.is_empty() {
            return rendered(&self.diagnostics, &self.texts, palette);
        }
        let hint = self.hint.as_ref().map(|hint| format!("hint: {}\n", safe_line(hint)));
        format!("error: {}\n{}", safe_line(&self.message), hint.unwrap_or_default())
    }

    fn json(&self) -> FailureJson {
        FailureJson {
            version: VERSION,
            error: ErrorJson {
                code: self.code.to_owned(),
                message: self.message.clone(),
                hint: self.hint.clone(),
                diagnostics: self.diagnostics.iter().map(DiagnosticJson::from).collect(),
            },
        }
    }
}

/// Returns diagnostics as text. A diagnostic with a position shows its line if the text of the file is known.
fn rendered(
    diagnostics: &[Diagnostic],
    texts: &BTreeMap<String, String>,
    palette: Palette,
) -> String {
    let one = |diagnostic: &Diagnostic| {
        let source = texts.get(&diagnostic.file).map(|text| Source::new(text));
        render(diagnostic, source.as_ref(), palette) + "\n"
    };
    diagnostics.iter().map(one).collect()
}

fn texts(failure: &Failure) -> BTreeMap<String, String> {
    let Some(text) = &failure.text else { return BTreeMap::new() };
    failure.diagnostics.iter().map(|problem| (problem.file.clone(), text.clone())).collect()
}

/// Returns an error and its causes on one line. A cause that the message already contains is not repeated.
fn chain(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |message, cause| {
        if message.is_empty() {
            cause
        } else if message.contains(&cause) {
            message
        } else {
            format!("{message}: {cause}")
        }
    })
}

/// Returns true if the reader of the output closed the pipe.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    // Windows has a second error for it: "No process is on the other end of the pipe."
    const ERROR_PIPE_NOT_CONNECTED: i32 = 233;
    let is_windows =
        |cause: &io::Error| cfg!(windows) && cause.raw_os_error() == Some(ERROR_PIPE_NOT_CONNECTED);
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe || is_windows(cause))
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    fn denied() -> io::Error {
        io::Error::from(io::ErrorKind::PermissionDenied)
    }

    #[test]
    fn a_cause_is_printed_once() {
        let doubled = io::Error::other(format!("{} at path \"/x\"", denied()));
        let error = Err::<(), _>(denied()).context(doubled).context("cannot write /x").unwrap_err();
        assert_eq!(chain(&error), "cannot write /x: permission denied at path \"/x\"");
    }

    #[test]
    fn a_file_error_is_not_a_usage_error() {
        let error = anyhow::Error::from(Failure::files("cannot read /x", denied()));
        let report = ErrorReport::new(&error);
        assert_eq!((report.code, report.exit_code), ("files", USAGE));
        assert_eq!(report.text(Palette::Plain), "error: cannot read /x: permission denied\n");
        assert_eq!(error.chain().count(), 2, "the cause is kept");
        let error = anyhow::Error::from(denied()).context("cannot write");
        assert_eq!(ErrorReport::new(&error).code, "io");
        let error = anyhow::Error::from(Failure::usage("no such flag").with_hint("drop it"));
        let report = ErrorReport::new(&error);
        assert_eq!(report.text(Palette::Plain), "error: no such flag\nhint: drop it\n");
    }
}
