//! Maps library errors to error reports and exit codes.

#![expect(clippy::disallowed_methods, reason = "reads the files that diagnostics point to")]

use std::collections::BTreeMap;

use openskills_runtime::{RuntimeError, file_hint};
use skill::Diagnostic;
use skill_fs::FsError;
use term::{ErrorReport, FailureKind};

use crate::exit_code::ExitCode;

/// Returns the report to print for an error, with its exit code.
pub(crate) fn report(error: &anyhow::Error) -> ErrorReport {
    if let Some(error) = error.downcast_ref::<RuntimeError>() {
        // The message of a runtime error already includes its sources.
        let diagnostics = diagnostics(error);
        return ErrorReport {
            exit_code: exit_code(error).number(),
            code: error.code(),
            message: error.to_string(),
            hint: error.hint(),
            diagnostics: diagnostics.to_vec(),
            texts: texts(diagnostics),
        };
    }
    let general = ErrorReport::new(error);
    match error.downcast_ref::<FsError>() {
        Some(file) => {
            ErrorReport { code: FailureKind::Files.code(), hint: file_hint(file), ..general }
        }
        None => general,
    }
}

fn exit_code(error: &RuntimeError) -> ExitCode {
    match error {
        RuntimeError::SkillNotFound { .. }
        | RuntimeError::ResourceNotFound { .. }
        | RuntimeError::ServerNotFound { .. }
        | RuntimeError::ServedSkillNotFound { .. }
        | RuntimeError::NotInstalled { .. }
        | RuntimeError::LibraryNotFound { .. }
        | RuntimeError::ApprovalNotFound { .. } => ExitCode::NotFound,
        RuntimeError::PermissionDenied { .. }
        | RuntimeError::Declined { .. }
        | RuntimeError::TooDeep { .. } => ExitCode::NotAllowed,
        RuntimeError::NeedsApproval { .. } => ExitCode::NeedsApproval,
        RuntimeError::SandboxUnavailable { .. } => ExitCode::SandboxUnavailable,
        RuntimeError::Log(_) => ExitCode::Log,
        RuntimeError::Setup { .. } | RuntimeError::InvalidConfig { .. } => ExitCode::Usage,
        _ => ExitCode::Invalid,
    }
}

fn diagnostics(error: &RuntimeError) -> &[Diagnostic] {
    match error {
        RuntimeError::InvalidManifest { diagnostics, .. }
        | RuntimeError::InvalidConfig { diagnostics, .. } => diagnostics,
        _ => &[],
    }
}

/// Reads the files that diagnostics point into, to show the lines. Skips large files and files that are not UTF-8.
fn texts(diagnostics: &[Diagnostic]) -> BTreeMap<String, String> {
    let read = |file: &str| {
        let metadata = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
        let is_small = metadata.len() <= skill::MAX_SKILL_FILE_BYTES;
        is_small.then(|| std::fs::read_to_string(file).ok())?
    };
    let located = diagnostics.iter().filter(|diagnostic| diagnostic.span.is_some());
    located.filter_map(|found| Some((found.file.clone(), read(&found.file)?))).collect()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn file_errors_are_reported_once_with_a_hint() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = anyhow::Error::from(FsError::Io { path: "/x".to_owned(), source });
        let report = report(&error);
        assert_eq!(report.message, "cannot access `/x`: permission denied");
        assert_eq!((report.code, report.hint.is_some()), ("files", true));
    }
}
