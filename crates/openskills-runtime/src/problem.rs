//! What stands in the way of reading a file, as a diagnostic.

use skill::{Code, Diagnostic, Strictness};
use skill_fs::FsError;

/// Returns the report of a file or folder that cannot be used, shown as `shown`.
pub fn file_problem(error: &FsError, shown: &str) -> Diagnostic {
    let (code, message, hint) = match error {
        FsError::NotFound { .. } => (Code::PathNotFound, "it does not exist".to_owned(), None),
        FsError::NotAFolder { .. } => (Code::PathNotFound, "it is not a folder".to_owned(), None),
        FsError::NotRegular { kind, .. } => (
            Code::NotAFile,
            format!("it is {kind}, not a regular file"),
            Some("put a text file there"),
        ),
        FsError::Escapes { .. } => (
            Code::LinkEscapes,
            "it is, or goes through, a link that leads out of the skill or in a circle".to_owned(),
            Some("copy the file into the skill; links must stay inside it"),
        ),
        FsError::TooLarge { size, limit, .. } => (
            Code::FileTooLarge,
            format!("it has {size} bytes; at most {limit} are read"),
            Some("move details into files under `references/`; they are read only when needed"),
        ),
        FsError::BadName { name, .. } => (
            Code::PathNotText,
            format!("a file in the skill has a name that is not allowed: {name:?}"),
            None,
        ),
        FsError::Limit { what, limit, .. } => (
            Code::SearchLimit,
            format!("it holds more than {limit} {what}"),
            Some("name a folder further in"),
        ),
        FsError::Changed { .. } => {
            (Code::Unreadable, "it changed while it was read".to_owned(), Some("try again"))
        }
        FsError::Io { source, .. } => {
            (Code::Unreadable, format!("it cannot be read: {source}"), None)
        }
    };
    let problem = problem_of(code, shown, message);
    match hint {
        Some(hint) => problem.with_hint(hint),
        None => problem,
    }
}

/// Returns a problem of a whole file. Codes of files are reported at both levels of strictness.
pub fn problem_of(code: Code, shown: &str, message: impl Into<String>) -> Diagnostic {
    let file = if shown.is_empty() { "." } else { shown };
    Diagnostic::of_file(code, Strictness::Lenient, file, message.into())
        .expect("problems of files are always reported")
}
