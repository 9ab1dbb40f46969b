//! The arguments of every command, and the way from them to an exit code.

#![expect(clippy::disallowed_methods, reason = "the edge: working folder and arguments")]

use std::io;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use skill_fs::AbsPath;
use term::{ColorChoice, Ui, safe_line, tell_usage};

use crate::commands::{prompt, show, validate};
use crate::context::Context;

/// Something was wrong with a skill.
pub(crate) const INVALID: u8 = 1;
/// Something was wrong with the call.
const USAGE: u8 = 2;
/// What a shell reports for a program whose reader went away.
const BROKEN_PIPE: u8 = 141;

/// Agent Skills: check, show and disclose folders with a SKILL.md
#[derive(Debug, Parser)]
#[command(
    name = "openskills",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Run `openskills <command> --help` for the files a command reads, its exit codes and examples."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// When to use color; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "OPENSKILLS_COLOR",
        value_name = "WHEN",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    color: ColorChoice,
}

#[derive(Debug, Subcommand)]
enum Command {
    Validate(validate::ValidateArgs),
    Show(show::ShowArgs),
    Prompt(prompt::PromptArgs),
}

/// Reads the arguments, runs the command and returns the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(tell_usage(&error)),
    };
    let color = cli.color;
    match run(&cli.command, Ui::new(color)) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::from(BROKEN_PIPE),
        Err(error) => {
            // If standard error is gone as well there is nobody left to tell.
            let _ = Ui::new(color).error(&format!("error: {}\n", safe_line(&format!("{error:#}"))));
            ExitCode::from(USAGE)
        }
    }
}

fn run(command: &Command, ui: Ui) -> anyhow::Result<ExitCode> {
    let cwd = std::env::current_dir().context("cannot find the current folder")?;
    let mut context = Context { cwd: AbsPath::new(cwd)?, ui };
    let code = match command {
        Command::Validate(args) => validate::validate(&mut context, args)?,
        Command::Show(args) => show::show(&mut context, args)?,
        Command::Prompt(args) => prompt::prompt(&mut context, args)?,
    };
    context.ui.flush()?;
    Ok(code)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
