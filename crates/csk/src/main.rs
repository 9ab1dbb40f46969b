//! `csk`: installs agent skills from git into projects.

mod cli;
mod commands;
mod context;
mod failure;
mod known;
mod progress;
mod projects;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
