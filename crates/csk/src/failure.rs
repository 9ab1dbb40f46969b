//! What kind of failure each error of csk's libraries is.

use csk_core::install::RunError;
use csk_core::{FsError, LockError, StateError};
use term::{ErrorReport, FailureKind};

use crate::commands::exec::ExecError;
use crate::exit_code::ExitCode;

/// Returns what is printed of a failure, and its exit code.
pub(crate) fn report(error: &anyhow::Error) -> ErrorReport {
    let usual = ErrorReport::new(error);
    let of_kind = |kind: FailureKind| ErrorReport { code: kind.code(), ..ErrorReport::new(error) };
    if let Some(error) = lock_error(error) {
        return match error {
            LockError::Held { .. } => {
                ErrorReport { exit_code: ExitCode::Locked.number(), ..of_kind(FailureKind::Locked) }
            }
            LockError::File(_) => of_kind(FailureKind::Files),
        };
    }
    if let Some(RunError::SkillsRoot(_)) = error.downcast_ref() {
        let hint = "set skills_root in config.json, or declare a `git` URL for every skill";
        return ErrorReport { hint: Some(hint.to_owned()), ..usual };
    }
    if let Some(error) = error.downcast_ref::<ExecError>() {
        return ErrorReport { exit_code: error.exit_code().number(), ..usual };
    }
    match error.downcast_ref::<StateError>() {
        Some(StateError::Malformed { file, diagnostics }) => {
            let first = diagnostics.first().map_or("", |problem| problem.message.as_str());
            ErrorReport {
                message: format!("{file} is malformed: {first}"),
                hint: Some(
                    "fix or remove the file; csk never treats a malformed file as empty".to_owned(),
                ),
                ..of_kind(FailureKind::Malformed)
            }
        }
        Some(StateError::Files(_)) => of_kind(FailureKind::Files),
        None if error.is::<FsError>() => of_kind(FailureKind::Files),
        None => usual,
    }
}

/// Returns why the lock was not taken, also where an install tried.
fn lock_error(error: &anyhow::Error) -> Option<&LockError> {
    match error.downcast_ref::<RunError>() {
        Some(RunError::Lock(error)) => Some(error),
        Some(RunError::Home(_) | RunError::SkillsRoot(_)) | None => error.downcast_ref(),
    }
}
