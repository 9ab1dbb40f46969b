//! `csk exec`: runs a command with a project's commands on PATH.

#![expect(clippy::disallowed_methods, reason = "becomes another program")]

use std::ffi::OsString;
use std::io;
use std::process::Command;

use anyhow::Context as _;
use csk_core::CommandOrder;
use csk_core::install::{BIN, Consumers, commands_folder, global_commands, own_entries};
use csk_core::project::find_root;

use term::{Failure, HelpText};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, clean, places};

const HELP: HelpText = HelpText {
    text: "\
Purpose: runs a command with the commands of a project's skills on PATH: after your own entries, and before those of \
the global scope. Only links that csk made count; other files in .agents/bin do not. An agent that is started this way \
needs no shell hook. CSK_PROJECT_ROOT names the project. csk becomes the command: its streams, signals and exit code \
are the command's own. `commands_first` in config.json puts the commands of skills first.

Reads:  config.json
Writes: nothing",
    exit_codes: &[
        ExitCode::OWN,
        ExitCode::Usage.when("usage, there is no project, or csk has not installed into it"),
        ExitCode::NotExecutable.when("the command cannot be run"),
        ExitCode::CommandNotFound.when("the command is not found"),
    ],
    examples: &[
        "csk exec -- mr list",
        "csk exec --project demo-app -- claude",
    ],
};

/// Run a command with a project's commands on PATH
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ExecArgs {
    /// A project: its alias, or a path in it [default: the project here]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

pub(crate) fn exec(context: &mut Context, args: &ExecArgs) -> anyhow::Result<ExitCode> {
    let root = match &args.project {
        // Without a name no config is needed.
        None => find_root(&context.cwd).ok_or_else(|| {
            Failure::usage(format!("there is no Skillfile.json in or above {}", context.cwd))
                .with_hint("go to a project, or name one with --project")
        })?,
        Some(target) => {
            let config = context.config()?;
            let selection = Selection { target: Some(target.clone()), ..Selection::default() };
            let place = places(context, &config, &selection)?.pop();
            place.ok_or_else(|| Failure::usage(format!("there is no project `{target}`")))?.root
        }
    };
    let root = clean(&root);
    // As the hook: what a stranger's checkout brings is not run by its name.
    let known = Consumers::read(&context.home)?;
    if !known.0.contains(&root) {
        return Err(Failure::usage(format!("csk has not installed into {root}"))
            .with_hint("run `csk install` there first")
            .into());
    }
    let ours = [commands_folder(&context.home, &root), global_commands(&context.home)];
    let ours = ours.iter().map(|folder| folder.as_path().to_owned());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let bin = root.join(BIN);
    // What is in a checkout is not the user's own, whoever put it there.
    let own =
        own_entries(&context.home, &path).into_iter().filter(|folder| folder != bin.as_path());
    let folders: Vec<_> = match context.command_order() {
        CommandOrder::Last => own.chain(ours).collect(),
        CommandOrder::First => ours.chain(own).collect(),
    };
    let path = std::env::join_paths(folders).context("PATH cannot be made")?;
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Err(Failure::usage("there is no command").into());
    };
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path).env("CSK_PROJECT_ROOT", root.as_path());
    context.ui.flush()?;
    let source = become_program(&mut command);
    let program = program.to_string_lossy().into_owned();
    Err(match source.kind() {
        io::ErrorKind::NotFound => ExecError::NotFound { program, source },
        _ => ExecError::CannotRun { program, source },
    }
    .into())
}

/// Why csk cannot become a command. The exit codes are those of shells.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    #[error("cannot run {program}: {source}")]
    NotFound { program: String, source: io::Error },
    #[error("cannot run {program}: {source}")]
    CannotRun { program: String, source: io::Error },
}

impl ExecError {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::NotFound { .. } => ExitCode::CommandNotFound,
            Self::CannotRun { .. } => ExitCode::NotExecutable,
        }
    }
}

#[cfg(unix)]
fn become_program(command: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Where a program cannot become another, it waits for it and ends the same way.
#[cfg(not(unix))]
fn become_program(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
