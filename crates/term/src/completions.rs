//! Completion in shells: a script that asks the program itself, which knows its commands, its flags, and the names that can be typed.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the environment of a shell that completes"
)]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;

use crate::Program;

/// The shells that a script can be made for.
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

/// Returns the completion script of a program.
pub fn completions<P: Program>(shell: CompletionShell) -> String {
    let (name, variable) = (P::NAME, P::COMPLETION_VARIABLE);
    let mut script = Vec::new();
    if let Some(completer) = Shells::builtins().completer(shell.name()) {
        // Written to memory, which cannot fail.
        let _ = completer.write_registration(variable, name, name, name, &mut script);
    }
    String::from_utf8_lossy(&script).into_owned()
}

/// Completes, where a shell asks for it; nothing otherwise.
pub(crate) fn complete_if_asked(
    program: &'static str,
    variable: &'static str,
    command: impl Fn() -> Command,
) -> Option<ExitCode> {
    std::env::var_os(variable)?;
    let args: Vec<OsString> = std::env::args_os().collect();
    let cwd = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(command).var(variable).bin(program);
    match asked.try_complete(args, cwd.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// Returns what completes an argument by names that `names` knows when it is asked.
pub fn names(names: impl Fn() -> Vec<String> + Send + Sync + 'static) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        names().into_iter().map(CompletionCandidate::new).collect::<Vec<_>>()
    })
}
