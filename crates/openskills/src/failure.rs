//! A failure as people and programs get to see it, and its exit code.

#![expect(clippy::disallowed_methods, reason = "reads the file that a problem is in")]

use std::io;

use openskills_runtime::{RuntimeError, file_hint};
use skill::{Diagnostic, Source};
use skill_fs::FsError;
use term::{DiagnosticJson, ErrorJson, FailureJson, Ui, safe_line};

use crate::cli::{ASK, INVALID, LOG, NOT_FOUND, REFUSED, USAGE};
use crate::output::VERSION;

/// How a failure is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In words, on standard error.
    Words,
    /// As data, on standard output.
    Json,
}

/// What there is to tell of a failure.
struct Told<'a> {
    exit_code: u8,
    code: &'static str,
    message: String,
    hint: Option<String>,
    /// The problems that say it all by themselves.
    diagnostics: &'a [Diagnostic],
}

impl<'a> Told<'a> {
    fn of(error: &'a anyhow::Error) -> Self {
        if let Some(error) = error.downcast_ref::<RuntimeError>() {
            // A failure of the runtime says everything itself.
            return Self {
                exit_code: exit_code(error),
                code: error.code(),
                message: error.to_string(),
                hint: error.hint(),
                diagnostics: diagnostics(error),
            };
        }
        let file = error.downcast_ref::<FsError>();
        Self {
            exit_code: USAGE,
            code: if file.is_some() { "files" } else { "usage" },
            message: message(error),
            hint: file.and_then(file_hint),
            diagnostics: &[],
        }
    }
}

/// Tells why a command failed; returns its exit code.
pub(crate) fn tell(ui: &mut Ui, error: &anyhow::Error, form: Form) -> u8 {
    let told = Told::of(error);
    // If nobody reads any more there is nobody left to tell.
    let _ = match form {
        Form::Words => words(ui, &told),
        Form::Json => data(ui, &told),
    };
    told.exit_code
}

/// Tells programs that a call is wrong; returns the exit code.
pub(crate) fn tell_wrong_call(ui: &mut Ui, error: &clap::Error, hint: Option<String>) -> u8 {
    let told = Told {
        exit_code: USAGE,
        code: "usage",
        message: term::usage_message(error),
        hint: hint.or_else(|| term::usage_hint(error)),
        diagnostics: &[],
    };
    let _ = data(ui, &told);
    told.exit_code
}

fn exit_code(error: &RuntimeError) -> u8 {
    match error {
        RuntimeError::SkillNotFound { .. }
        | RuntimeError::ResourceNotFound { .. }
        | RuntimeError::ServerNotFound { .. }
        | RuntimeError::ServedSkillNotFound { .. }
        | RuntimeError::NotInstalled { .. }
        | RuntimeError::LibraryNotFound { .. }
        | RuntimeError::ApprovalNotFound { .. } => NOT_FOUND,
        RuntimeError::PermissionDenied { .. }
        | RuntimeError::Declined { .. }
        | RuntimeError::TooDeep { .. } => REFUSED,
        RuntimeError::NeedsApproval { .. } => ASK,
        RuntimeError::SandboxUnavailable { .. } => 78,
        RuntimeError::Log(_) => LOG,
        RuntimeError::Setup { .. } | RuntimeError::InvalidConfig { .. } => USAGE,
        _ => INVALID,
    }
}

/// Returns what went wrong and why. A cause that the words before it say already is not said twice.
fn message(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| {
        if told.is_empty() {
            cause
        } else if told.contains(&cause) {
            told
        } else {
            format!("{told}: {cause}")
        }
    })
}

fn diagnostics(error: &RuntimeError) -> &[Diagnostic] {
    match error {
        RuntimeError::InvalidManifest { diagnostics, .. }
        | RuntimeError::InvalidConfig { diagnostics, .. } => diagnostics,
        _ => &[],
    }
}

fn words(ui: &mut Ui, told: &Told<'_>) -> io::Result<()> {
    for diagnostic in told.diagnostics {
        // A problem with a place points at its line, where the file can be shown.
        let text = diagnostic.span.and_then(|_| source_of(&diagnostic.file));
        let source = text.as_deref().map(Source::new);
        let shown = term::render(diagnostic, source.as_ref(), ui.error_palette);
        ui.error(&(shown + "\n"))?;
    }
    if told.diagnostics.is_empty() {
        ui.error(&format!("error: {}\n", safe_line(&told.message)))?;
        if let Some(hint) = &told.hint {
            ui.error(&format!("hint: {}\n", safe_line(hint)))?;
        }
    }
    Ok(())
}

/// Reads a file that a problem is in; what is large or no text is not shown.
fn source_of(file: &str) -> Option<String> {
    let metadata = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    (metadata.len() <= skill::MAX_SKILL_FILE_BYTES).then(|| std::fs::read_to_string(file).ok())?
}

fn data(ui: &mut Ui, told: &Told<'_>) -> io::Result<()> {
    ui.json(&FailureJson {
        version: VERSION,
        error: ErrorJson {
            code: told.code.to_owned(),
            message: told.message.clone(),
            hint: told.hint.clone(),
            diagnostics: told.diagnostics.iter().map(DiagnosticJson::from).collect(),
        },
    })?;
    ui.flush()
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let doubled = io::Error::other(format!("{} at path \"/x\"", denied()));
        let error = Err::<(), _>(denied()).context(doubled).context("cannot write /x").unwrap_err();
        assert_eq!(message(&error), "cannot write /x: permission denied at path \"/x\"");
        let source = denied();
        let error = anyhow::Error::from(FsError::Io { path: "/x".to_owned(), source });
        let told = Told::of(&error);
        assert_eq!(told.message, "cannot access /x: permission denied");
        assert_eq!((told.code, told.hint.is_some()), ("files", true));
    }
}
