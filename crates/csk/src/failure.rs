//! Maps errors of csk's libraries to error reports and exit codes.

use csk_core::SourceError;
use csk_core::install::{RunError, SkillError};
use csk_core::source::{OpenError, SourceSpecError};
use skill_fs::{FsError, LockError};
use skill_state::StateError;
use term::{ErrorReport, FailureKind};

use crate::commands::exec::ExecError;
use crate::exit_code::ExitCode;
use crate::project_edit::Refused;

/// Returns the report to print for an error, with its exit code.
pub(crate) fn report(error: &anyhow::Error) -> ErrorReport {
    let usual = ErrorReport::new(error);
    let usual = ErrorReport { hint: usual.hint.or_else(|| hint(error)), ..usual };
    let of_kind = |kind: FailureKind| ErrorReport { code: kind.code(), ..ErrorReport::new(error) };
    if let Some(error) = lock_error(error) {
        return match error {
            LockError::Held { .. } => {
                ErrorReport { exit_code: ExitCode::Locked.number(), ..of_kind(FailureKind::Locked) }
            }
            LockError::File(_) => of_kind(FailureKind::Files),
        };
    }
    if let Some(refused) = error.downcast_ref::<Refused>() {
        let hint = refused.hint.clone();
        return ErrorReport { exit_code: ExitCode::Failed.number(), hint, ..usual };
    }
    if let Some(error) = error.downcast_ref::<ExecError>() {
        return ErrorReport { exit_code: error.exit_code().number(), ..usual };
    }
    match error.downcast_ref::<StateError>() {
        Some(StateError::Malformed { file, diagnostics }) => {
            let first = diagnostics.first().map_or("", |problem| problem.message.as_str());
            ErrorReport {
                message: format!("`{file}` is malformed: {first}"),
                hint: Some(
                    "fix or remove the file; csk never treats a malformed file as empty".to_owned(),
                ),
                ..of_kind(FailureKind::Malformed)
            }
        }
        Some(StateError::Files(_)) => of_kind(FailureKind::Files),
        None if error.is::<FsError>() || is_home_error(error) => of_kind(FailureKind::Files),
        None => usual,
    }
}

/// Returns true if an install could not use csk's home folder.
fn is_home_error(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(RunError::Home(_)))
}

/// Returns the hint for an error of a library.
fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(error) = error.downcast_ref::<SourceError>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref::<SkillError>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref::<OpenError>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref::<SourceSpecError>() {
        return error.hint();
    }
    match error.downcast_ref::<RunError>() {
        Some(RunError::SkillsRoot(_)) => Some(
            "`csk add owner/repo` clones a repository; or set skills_root in config.json"
                .to_owned(),
        ),
        Some(RunError::Lock(_) | RunError::Home(_)) | None => None,
    }
}

/// Returns why the process lock was not acquired, including by an install.
fn lock_error(error: &anyhow::Error) -> Option<&LockError> {
    match error.downcast_ref::<RunError>() {
        Some(RunError::Lock(error)) => Some(error),
        Some(RunError::Home(_) | RunError::SkillsRoot(_)) | None => error.downcast_ref(),
    }
}
