//! A failure as people and programs get to see it, and its exit code.

use openskills_runtime::RuntimeError;
use skill::Diagnostic;
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

/// Tells why a command failed; returns its exit code.
pub(crate) fn tell(ui: &mut Ui, error: &anyhow::Error, form: Form) -> u8 {
    let known = error.downcast_ref::<RuntimeError>();
    // If nobody reads any more there is nobody left to tell.
    let _ = match form {
        Form::Words => words(ui, error, known),
        Form::Json => data(ui, error, known),
    };
    known.map_or(USAGE, exit_code)
}

fn exit_code(error: &RuntimeError) -> u8 {
    match error {
        RuntimeError::SkillNotFound { .. }
        | RuntimeError::ResourceNotFound { .. }
        | RuntimeError::ServerNotFound { .. }
        | RuntimeError::NotInstalled { .. }
        | RuntimeError::LibraryNotFound { .. }
        | RuntimeError::ApprovalNotFound { .. } => NOT_FOUND,
        RuntimeError::PermissionDenied { .. } | RuntimeError::ToolNotAllowed { .. } => REFUSED,
        RuntimeError::NeedsApproval { .. } => ASK,
        RuntimeError::SandboxUnavailable { .. } => 78,
        RuntimeError::Log(_) => LOG,
        RuntimeError::Setup { .. } | RuntimeError::InvalidConfig { .. } => USAGE,
        _ => INVALID,
    }
}

/// Returns what went wrong. A failure of the runtime says everything itself.
fn message(error: &anyhow::Error, known: Option<&RuntimeError>) -> String {
    known.map_or_else(|| format!("{error:#}"), ToString::to_string)
}

/// Returns the problems that say it all by themselves.
fn diagnostics(error: Option<&RuntimeError>) -> &[Diagnostic] {
    match error {
        Some(
            RuntimeError::InvalidManifest { diagnostics, .. }
            | RuntimeError::InvalidConfig { diagnostics, .. },
        ) => diagnostics,
        _ => &[],
    }
}

fn words(ui: &mut Ui, error: &anyhow::Error, known: Option<&RuntimeError>) -> std::io::Result<()> {
    let diagnostics = diagnostics(known);
    for diagnostic in diagnostics {
        ui.problem(diagnostic)?;
    }
    if diagnostics.is_empty() {
        ui.error(&format!("error: {}\n", safe_line(&message(error, known))))?;
        if let Some(hint) = known.and_then(RuntimeError::hint) {
            ui.error(&format!("hint: {}\n", safe_line(&hint)))?;
        }
    }
    Ok(())
}

fn data(ui: &mut Ui, error: &anyhow::Error, known: Option<&RuntimeError>) -> std::io::Result<()> {
    ui.json(&FailureJson {
        version: VERSION,
        error: ErrorJson {
            code: known.map_or("usage", RuntimeError::code).to_owned(),
            message: message(error, known),
            hint: known.and_then(RuntimeError::hint),
            diagnostics: diagnostics(known).iter().map(DiagnosticJson::from).collect(),
        },
    })?;
    ui.flush()
}
