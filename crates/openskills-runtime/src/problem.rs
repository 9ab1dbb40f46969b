//! Diagnostics for files and folders that cannot be read.

use skill::{Code, Diagnostic, Strictness};
use skill_fs::FsError;

use skill::ByteSize;

/// Returns the diagnostic for a file or folder that cannot be used; `shown` is its path in the report.
pub fn file_problem(error: &FsError, shown: &str) -> Diagnostic {
    let (code, message, hint) = match error {
        FsError::NotFound { .. } => (Code::PathNotFound, "no such file or folder".to_owned(), None),
        FsError::NotAFolder { .. } => (Code::PathNotFound, "not a folder".to_owned(), None),
        FsError::NotRegular { kind, .. } => (
            Code::NotAFile,
            format!("expected a regular file, found {kind}"),
            Some("replace it with a text file"),
        ),
        FsError::Escapes { .. } => (
            Code::LinkEscapes,
            "the path goes through a symlink that points outside the skill or forms a loop"
                .to_owned(),
            Some("copy the file into the skill; symlinks must stay inside it"),
        ),
        FsError::TooLarge { size, limit, .. } => (
            Code::FileTooLarge,
            format!("too large: {} (limit: {})", ByteSize(*size), ByteSize(*limit)),
            Some("move details into files under `references/`; they are read only when needed"),
        ),
        FsError::BadName { name, .. } => {
            (Code::PathNotText, format!("file name not allowed in a skill: {name:?}"), None)
        }
        FsError::Limit { what, limit, .. } => (
            Code::SearchLimit,
            format!("contains more than {limit} {what}"),
            Some("pass a more specific folder"),
        ),
        FsError::Changed { .. } => {
            (Code::Unreadable, "changed while it was being read".to_owned(), Some("try again"))
        }
        FsError::Io { source, .. } => (Code::Unreadable, format!("cannot be read: {source}"), None),
    };
    let problem = problem_of(code, shown, message);
    match hint {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}

/// Returns a diagnostic for a whole file. Such diagnostics are reported at both levels of strictness.
pub fn problem_of(code: Code, shown: &str, message: impl Into<String>) -> Diagnostic {
    let file = if shown.is_empty() { "." } else { shown };
    Diagnostic::of_file(code, Strictness::Lenient, file, message.into())
        .expect("problems of files are always reported")
}
