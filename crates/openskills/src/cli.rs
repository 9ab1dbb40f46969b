//! The arguments of every command, and the way from them to an exit code.

#![expect(clippy::disallowed_methods, reason = "the edge: working folder and arguments")]

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use skill_fs::{AbsPath, Lock};
use term::{
    ColorChoice, CompletionShell, Ui, complete_if_asked, completions, tell_usage, version_if_asked,
    with_environment,
};

use crate::commands::{
    activate, approvals, approve, cache, check_tool, deactivate, discover, files, install, list,
    log, man, mcp, migrate, new, pack, prompt, read, replay, run, sandbox_, search, show, skillify,
    switch, test, trust, undo, validate, where_,
};
use crate::context::Context;
use crate::failure::{Form, tell, tell_wrong_call};

/// Something was wrong with a skill.
pub(crate) const INVALID: u8 = 1;
/// Something was wrong with the call.
pub(crate) const USAGE: u8 = 2;
/// There is no such skill or file.
pub(crate) const NOT_FOUND: u8 = 3;
/// It is not allowed.
pub(crate) const REFUSED: u8 = 4;
/// The user has to be asked.
pub(crate) const ASK: u8 = 5;
/// The log cannot be used, or is not what was written.
pub(crate) const LOG: u8 = 6;
/// What a shell reports for a program whose reader went away.
const BROKEN_PIPE: u8 = 141;

/// Flags that say how something is done, each with the variable that says it once for all. What is done, and what the user agrees to, is
/// always said in the call.
const ENVIRONMENT: [(&str, &str); 18] = [
    ("allowed-signers", "OPENSKILLS_ALLOWED_SIGNERS"),
    ("budget", "OPENSKILLS_BUDGET"),
    ("instructions", "OPENSKILLS_INSTRUCTIONS"),
    ("key-file", "OPENSKILLS_KEY_FILE"),
    ("lenient", "OPENSKILLS_LENIENT"),
    ("limit", "OPENSKILLS_LIMIT"),
    ("max-bytes", "OPENSKILLS_MAX_BYTES"),
    ("memory", "OPENSKILLS_MEMORY"),
    ("no-location", "OPENSKILLS_NO_LOCATION"),
    ("no-net", "OPENSKILLS_NO_NET"),
    ("require-signature", "OPENSKILLS_REQUIRE_SIGNATURE"),
    ("strict", "OPENSKILLS_STRICT"),
    ("strict-warnings", "OPENSKILLS_STRICT_WARNINGS"),
    ("timeout", "OPENSKILLS_TIMEOUT"),
    ("timings", "OPENSKILLS_TIMINGS"),
    ("token-file", "OPENSKILLS_TOKEN_FILE"),
    ("tool-names", "OPENSKILLS_TOOL_NAMES"),
    ("wasm-stage", "OPENSKILLS_WASM_STAGE"),
];

const COMPLETIONS: &str = "\
Exit codes:
  0  done
  2  the call is wrong

Examples:
  openskills completions bash > ~/.local/share/bash-completion/completions/openskills
  openskills completions zsh > ~/.zfunc/_openskills
  openskills completions fish > ~/.config/fish/completions/openskills.fish";

/// Agent Skills: find, disclose, activate, read and check folders with a SKILL.md
#[derive(Debug, Parser)]
#[command(
    name = "openskills",
    version,
    arg_required_else_help = true,
    after_help = "\
Files:
  ~/.config/openskills/config.json  more folders of skills, named once for all
  ~/.local/state/openskills/        trusted folders, approvals, what is switched off, the log
  /etc/openskills/policy.json       what the organisation forbids
  ~/.local/share/openskills/skills  skills installed for the user
  ~/.cache/openskills/              the index and compiled modules; `openskills cache` clears it

Environment:
  OPENSKILLS_PROJECT  as --project
  OPENSKILLS_SESSION  as --session
  OPENSKILLS_COLOR    as --color; NO_COLOR turns color off
  OPENSKILLS_QUIET    as --quiet
  OPENSKILLS_<FLAG>   as other flags that say how; the help of a command names them
  XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME, XDG_CACHE_HOME
                      instead of the folders in the home
  CLAUDE_CONFIG_DIR   instead of ~/.claude

Exit codes:
  0  done
  1  something is wrong with a skill
  2  something is wrong with the call or the configuration
  3  there is no such skill or file
  4  it is not allowed
  5  the user has to be asked
  6  the log cannot be used, or is not what was written
  `run` has the script's own codes, and 78, 124, 125, 137; 128 and the signal's number if a
  signal ended it

Run `openskills <command> --help` for what a command reads and writes, its exit codes and examples."
)]
pub(crate) struct Cli {
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

    /// Write only data, warnings and errors: no notes, nothing of what was done
    #[arg(
        long,
        short,
        global = true,
        env = "OPENSKILLS_QUIET",
        value_parser = clap::builder::FalseyValueParser::new(),
        hide_env_values = true,
        help_heading = "Global options"
    )]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Discover(discover::DiscoverArgs),
    List(list::ListArgs),
    Search(search::SearchArgs),
    Where(where_::WhereArgs),
    Prompt(prompt::PromptArgs),
    Activate(activate::ActivateArgs),
    Deactivate(deactivate::DeactivateArgs),
    Read(read::ReadArgs),
    Files(files::FilesArgs),
    CheckTool(check_tool::CheckToolArgs),
    Run(Box<run::RunArgs>),
    Undo(undo::UndoArgs),
    Sandbox(sandbox_::SandboxArgs),
    Approve(approve::ApproveArgs),
    Approvals(approvals::ApprovalsArgs),
    Enable(switch::EnableArgs),
    Disable(switch::DisableArgs),
    Trust(trust::TrustArgs),
    Log(log::LogArgs),
    Replay(replay::ReplayArgs),
    New(new::NewArgs),
    Validate(validate::ValidateArgs),
    Cache(cache::CacheArgs),
    Mcp(mcp::McpArgs),
    Migrate(migrate::MigrateArgs),
    Skillify(skillify::SkillifyArgs),
    Pack(pack::PackArgs),
    Install(install::InstallArgs),
    Remove(install::RemoveArgs),
    Test(test::TestArgs),
    Show(show::ShowArgs),
    Man(man::ManArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell
        shell: CompletionShell,
    },
}

impl Command {
    /// Returns how a failure is to be told.
    fn form(&self) -> Form {
        let is_json = match self {
            Self::Discover(args) => args.json,
            Self::List(args) => args.json,
            Self::Search(args) => args.json,
            Self::Where(args) => args.json,
            Self::Prompt(args) => args.is_json(),
            Self::Activate(args) => args.json,
            Self::Deactivate(args) => args.json,
            Self::Undo(args) => args.json,
            Self::Read(args) => args.json,
            Self::Files(args) => args.json,
            Self::CheckTool(args) => args.json,
            Self::Trust(args) => args.json,
            Self::Run(args) => args.json,
            Self::Sandbox(args) => args.is_json(),
            Self::Approve(args) => args.json,
            Self::Approvals(args) => args.is_json(),
            Self::Log(args) => args.is_json(),
            Self::Replay(args) => args.json,
            Self::New(args) => args.json,
            Self::Cache(args) => args.json,
            Self::Enable(args) => args.is_json(),
            Self::Disable(args) => args.is_json(),
            Self::Mcp(args) => args.is_json(),
            Self::Migrate(args) => args.json,
            Self::Skillify(args) => args.json,
            Self::Pack(args) => args.json,
            Self::Install(args) => args.json,
            Self::Remove(args) => args.json,
            Self::Test(args) => args.json,
            Self::Validate(args) => args.json,
            Self::Show(args) => args.json,
            Self::Completions { .. } | Self::Man(_) => false,
        };
        if is_json { Form::Json } else { Form::Words }
    }
}

/// Returns all commands, with the variables of their flags.
fn commands() -> clap::Command {
    with_environment(Cli::command(), &ENVIRONMENT)
}

fn parsed(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let matches = commands().try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut commands()))
}

/// Reads the arguments, runs the command and returns the exit code.
pub fn main() -> ExitCode {
    // Before anything else: this process may be the stage of a sandbox.
    openskills_runtime::init();
    crate::checkpoints::init();
    if let Some(code) = complete_if_asked("openskills", commands) {
        return code;
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = version_if_asked("openskills", env!("CARGO_PKG_VERSION"), &args) {
        return code;
    }
    let is_json = args.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let cli = match parsed(args.clone()) {
        Ok(cli) => cli,
        Err(error) => {
            let code = tell_usage(&error);
            let hint = run::wrong_call(&args, &error, &commands());
            let mut ui = Ui::new(ColorChoice::Never);
            if let Some(hint) = &hint {
                let _ = ui.error(&format!("hint: {}\n", term::safe_line(hint)));
            }
            if is_json && error.use_stderr() {
                return ExitCode::from(tell_wrong_call(&mut ui, &error, hint));
            }
            return ExitCode::from(code);
        }
    };
    let color = cli.color;
    let mut ui = Ui::new(color);
    ui.is_quiet = cli.quiet;
    if !cli.quiet {
        Lock::on_wait(|path, pid| {
            let whose = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            let text = format!("waiting for another openskills{whose} that holds {path}\n");
            // It is only a note; the wait goes on.
            let _ = Ui::new(ColorChoice::Never).error(&text);
        });
    }
    let done = dispatch(&cli.command, ui);
    crate::checkpoints::flush(&mut Ui::new(color));
    match done {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::from(BROKEN_PIPE),
        Err(error) => ExitCode::from(tell(&mut Ui::new(color), &error, cli.command.form())),
    }
}

fn dispatch(command: &Command, ui: Ui) -> anyhow::Result<ExitCode> {
    let cwd = std::env::current_dir().context("cannot find the current folder")?;
    let mut context = Context { cwd: AbsPath::new(cwd)?, ui };
    let code = match command {
        Command::Discover(args) => discover::discover(&mut context, args)?,
        Command::List(args) => list::list(&mut context, args)?,
        Command::Search(args) => search::search(&mut context, args)?,
        Command::Where(args) => where_::where_(&mut context, args)?,
        Command::Activate(args) => activate::activate(&mut context, args)?,
        Command::Deactivate(args) => deactivate::deactivate(&mut context, args)?,
        Command::Undo(args) => undo::undo(&mut context, args)?,
        Command::Read(args) => read::read(&mut context, args)?,
        Command::Files(args) => files::files(&mut context, args)?,
        Command::CheckTool(args) => check_tool::check_tool(&mut context, args)?,
        Command::Run(args) => run::run(&mut context, args)?,
        Command::Sandbox(args) => sandbox_::sandbox_check(&mut context, args)?,
        Command::Approve(args) => approve::approve(&mut context, args)?,
        Command::Approvals(args) => approvals::approvals(&mut context, args)?,
        Command::Enable(args) => switch::enable(&mut context, args)?,
        Command::Disable(args) => switch::disable(&mut context, args)?,
        Command::Trust(args) => trust::trust(&mut context, args)?,
        Command::Log(args) => log::log(&mut context, args)?,
        Command::Replay(args) => replay::replay(&mut context, args)?,
        Command::New(args) => new::new(&mut context, args)?,
        Command::Cache(args) => cache::cache(&mut context, args)?,
        Command::Mcp(args) => mcp::mcp(&mut context, args)?,
        Command::Skillify(args) => skillify::skillify(&mut context, args)?,
        Command::Migrate(args) => migrate::migrate(&mut context, args)?,
        Command::Pack(args) => pack::pack(&mut context, args)?,
        Command::Install(args) => install::install(&mut context, args)?,
        Command::Remove(args) => install::remove(&mut context, args)?,
        Command::Test(args) => test::test(&mut context, args)?,
        Command::Completions { shell } => {
            context.ui.out(&completions(*shell, "openskills"))?;
            ExitCode::SUCCESS
        }
        Command::Man(args) => man::man(&mut context, args, commands())?,
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
