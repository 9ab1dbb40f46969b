//! Why a command ends early, and with which exit code.

use std::io;

use csk_core::install::RunError;
use csk_core::output::VERSION;
use skill::{Diagnostic, Source};
use skill_fs::LockError;
use skill_state::StateError;
use term::{DiagnosticJson, ErrorJson, FailureJson, Ui, render, safe_line};

/// Usage, configuration, or a malformed Skillfile of the one target.
pub(crate) const USAGE: u8 = 2;
/// Another csk holds the lock.
pub(crate) const LOCKED: u8 = 3;
/// What a shell reports for a program whose reader went away.
const BROKEN_PIPE: u8 = 141;

/// An end before the work was done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A message, perhaps with advice.
    Message { code: u8, message: String, hint: Option<String> },
    /// Problems of one file.
    File { text: String, problems: Vec<Diagnostic> },
    /// A stream that cannot be written.
    Io(io::Error),
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Message { code: USAGE, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, advice: impl Into<String>) -> Self {
        match self {
            Self::Message { code, message, .. } => {
                Self::Message { code, message, hint: Some(advice.into()) }
            }
            other => other,
        }
    }

    /// Tells people, and returns the exit code.
    pub(crate) fn tell(&self, ui: &mut Ui) -> u8 {
        let (code, text) = match self {
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => return BROKEN_PIPE,
            Self::Io(error) => (USAGE, format!("error: {error}\n")),
            Self::File { text, problems } => (USAGE, rendered(text, problems, ui)),
            Self::Message { code, message, hint } => {
                let hint = hint
                    .as_ref()
                    .map_or_else(String::new, |hint| format!("hint: {}\n", safe_line(hint)));
                (*code, format!("error: {}\n{hint}", safe_line(message)))
            }
        };
        // If standard error is gone there is nobody left to tell.
        let _ = ui.error(&text);
        code
    }
}

impl Failure {
    /// Tells programs, and returns the exit code.
    pub(crate) fn tell_json(&self, ui: &mut Ui) -> u8 {
        let (code, error) = match self {
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => return BROKEN_PIPE,
            Self::Io(error) => (USAGE, told("io", error.to_string(), None, &[])),
            Self::File { problems, .. } => {
                let first = problems.first().map(|problem| problem.message.clone());
                (USAGE, told("malformed", first.unwrap_or_default(), None, problems))
            }
            Self::Message { code, message, hint } => {
                let word = if *code == LOCKED { "locked" } else { "usage" };
                (*code, told(word, message.clone(), hint.clone(), &[]))
            }
        };
        // If standard output is gone there is nobody left to tell.
        let _ = ui.json(&FailureJson { version: VERSION, error }).and_then(|()| ui.flush());
        code
    }
}

fn told(code: &str, message: String, hint: Option<String>, problems: &[Diagnostic]) -> ErrorJson {
    let diagnostics = problems.iter().map(DiagnosticJson::from).collect();
    ErrorJson { code: code.to_owned(), message, hint, diagnostics }
}

/// Returns the problems of a file as people read them.
pub(crate) fn rendered(text: &str, problems: &[Diagnostic], ui: &Ui) -> String {
    let source = Source::new(text);
    problems.iter().map(|problem| render(problem, Some(&source), ui.error_palette) + "\n").collect()
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        let code = match error {
            LockError::Held { .. } => LOCKED,
            LockError::File(_) => USAGE,
        };
        Self::Message { code, message: error.to_string(), hint: None }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Lock(error) => error.into(),
            RunError::Home(error) => Self::usage(error.to_string()),
            RunError::SkillsRoot(message) => Self::usage(message).with_hint(
                "set skills_root in config.json, or declare a `git` URL for every skill",
            ),
        }
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Malformed { file, diagnostics } => {
                let first =
                    diagnostics.first().map_or_else(String::new, |problem| problem.message.clone());
                Self::usage(format!("{file} is malformed: {first}"))
                    .with_hint("mend it; it is never taken for an empty one")
            }
            StateError::Files(error) => Self::usage(error.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
