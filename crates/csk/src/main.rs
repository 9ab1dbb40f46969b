//! `csk`: a package manager for Agent Skills.

mod cli;
mod commands;
mod completion;
mod context;
mod exit_code;
mod failure;
mod progress;
mod project_edit;
mod projects;
mod prompt;

fn main() -> std::process::ExitCode {
    skill_audit::abort_on_other_panics();
    term::main::<cli::Cli>()
}
