//! `csk exec`: runs a command with a project's skill commands on PATH.

#![expect(clippy::disallowed_methods, reason = "replaces itself with another program")]

use std::ffi::{OsStr, OsString};
use std::io;
#[cfg(not(unix))]
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use csk_core::CommandOrder;
use csk_core::install::{BIN, Consumers, commands_folder, global_commands, user_path_entries};
use csk_core::project::find_root;

use term::{Failure, HelpText};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, canonical, locate_projects};

const HELP: HelpText = HelpText {
    text: "\
Runs a command with a project's skill commands on PATH. They come after your own PATH entries and before global skill \
commands; set `commands_first` in config.json to put skill commands first. Only links that csk \
created are used, not other files in .agents/bin. Agents started this way do not need the shell hook. CSK_PROJECT_ROOT is set to \
the project folder. csk replaces itself with the command, so streams, signals and the exit code are the command's own.

Reads:  config.json
Writes: nothing",
    exit_codes: &[
        ExitCode::OWN,
        ExitCode::Usage.when("usage error, no project found, or no skills installed in the project"),
        ExitCode::NotExecutable.when("the command cannot be executed"),
        ExitCode::CommandNotFound.when("command not found"),
    ],
    examples: &[
        "csk exec -- mr list",
        "csk exec --project demo-app -- claude",
    ],
};

/// Run a command with a project's skill commands on PATH
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ExecArgs {
    /// Project alias, or a path inside a project [default: the enclosing project]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
    /// Command to run, and its arguments
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
        // The enclosing project is found without a config.
        None => find_root(&context.cwd).ok_or_else(|| {
            Failure::usage(format!("no Skillfile.json in `{}` or any parent folder", context.cwd))
                .with_hint("change to a project folder, or use --project")
        })?,
        Some(target) => {
            let config = context.config()?;
            let selection = Selection { target: Some(target.clone()), ..Selection::default() };
            let location = locate_projects(context, &config, &selection)?.pop();
            location.ok_or_else(|| Failure::usage(format!("no project named `{target}`")))?.root
        }
    };
    let root = canonical(&root);
    // Like the shell hook: commands of a checkout that csk has not installed into are never put on PATH.
    let installed = Consumers::read(&context.home)?;
    if !installed.0.contains(&root) {
        return Err(Failure::usage(format!("no skills are installed in `{root}`"))
            .with_hint("run `csk install` there first")
            .into());
    }
    let ours = [commands_folder(&context.home, &root), global_commands(&context.home)];
    let ours = ours.iter().map(|folder| folder.as_path().to_owned());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let bin = root.join(BIN);
    // A checkout's `.agents/bin` is not one of the user's own entries, even if it is on PATH.
    let own = user_path_entries(&context.home, &path)
        .into_iter()
        .filter(|folder| folder != bin.as_path());
    let folders: Vec<_> = match context.command_order() {
        CommandOrder::Last => own.chain(ours).collect(),
        CommandOrder::First => ours.chain(own).collect(),
    };
    let path = std::env::join_paths(folders).context("cannot build PATH")?;
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Err(Failure::usage("no command given").into());
    };
    let mut command = Command::new(program_in(program, &path));
    command.args(arguments).env("PATH", path).env("CSK_PROJECT_ROOT", root.as_path());
    context.ui.flush()?;
    let source = replace_process(&mut command);
    let program = program.to_string_lossy().into_owned();
    Err(match source.kind() {
        io::ErrorKind::NotFound => ExecError::NotFound { program, source },
        _ => ExecError::CannotRun { program, source },
    }
    .into())
}

/// Why a command could not be executed. The exit codes are those that shells use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    #[error("cannot run `{program}`: {source}")]
    NotFound { program: String, source: io::Error },
    #[error("cannot run `{program}`: {source}")]
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

/// The new process finds the program itself, on its own PATH.
#[cfg(unix)]
fn program_in(program: &OsStr, _: &OsStr) -> OsString {
    program.to_owned()
}

/// Finds a program on `path` with every extension that Windows allows: `.cmd` too, which shims have.
#[cfg(not(unix))]
fn program_in(program: &OsStr, path: &OsStr) -> OsString {
    let found = program.to_str().and_then(|name| csk_core::find_program(name, Some(path), &[]));
    found.map_or_else(|| program.to_owned(), PathBuf::into_os_string)
}

#[cfg(unix)]
fn replace_process(command: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Runs the command and exits with its exit code, on systems that cannot replace a process.
#[cfg(not(unix))]
fn replace_process(command: &mut Command) -> io::Error {
    // Ctrl+C also reaches the command, which decides what to do about it.
    if let Err(error) = ctrlc::set_handler(|| {}) {
        return io::Error::other(error);
    }
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
