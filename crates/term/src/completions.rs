//! Shell completion. The completion scripts call the program itself to get candidates.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment of a completing shell")]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;

use crate::Program;

/// The shells with a completion script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[expect(missing_docs, reason = "clap would show them as help")]
pub enum CompletionShell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl CompletionShell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Elvish => "elvish",
            Self::Fish => "fish",
            Self::Powershell => "powershell",
            Self::Zsh => "zsh",
        }
    }
}

/// Returns the completion script of a program for a shell.
pub fn completions<P: Program>(shell: CompletionShell) -> String {
    let (name, variable) = (P::NAME, P::COMPLETION_VARIABLE);
    let mut script = Vec::new();
    if let Some(completer) = Shells::builtins().completer(shell.name()) {
        // Writing to memory cannot fail.
        let _ = completer.write_registration(variable, name, name, name, &mut script);
    }
    String::from_utf8_lossy(&script).into_owned()
}

/// Prints completions and returns the exit code, if a shell requested them.
pub(crate) fn complete_if_requested(
    program: &'static str,
    variable: &'static str,
    command: impl Fn() -> Command,
) -> Option<ExitCode> {
    std::env::var_os(variable)?;
    let args: Vec<OsString> = std::env::args_os().collect();
    let cwd = std::env::current_dir().ok();
    let environment = CompleteEnv::with_factory(command).var(variable).bin(program);
    match environment.try_complete(args, cwd.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// Returns a completer for an argument. `names` is called when the shell requests candidates.
pub fn names(names: impl Fn() -> Vec<String> + Send + Sync + 'static) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        names().into_iter().map(CompletionCandidate::new).collect::<Vec<_>>()
    })
}
