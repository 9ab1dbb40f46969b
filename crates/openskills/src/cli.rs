//! The command line interface: arguments, global help and dispatch.

#![expect(clippy::disallowed_methods, reason = "the edge: the current directory")]

use std::ffi::OsString;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use skill_fs::{AbsPath, Lock};
use term::{ErrorReport, GlobalArgs, Program, Ui, exit_code_section, note_waiting};

use crate::commands::{
    activate, approvals, approve, cache, check_tool, completions, conflicts, deactivate, discover,
    exec, files, hook, install, list, log, man, mcp, migrate, new, pack, prompt, read, replay, run,
    sandbox_, search, show, skillify, switch, test, trust, undo, validate, where_,
};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::report;

/// Runtime for Agent Skills: find, load, check, approve and run them in a sandbox
#[derive(Debug, Parser)]
#[command(name = "openskills", bin_name = "openskills", version, arg_required_else_help = true, after_help = after_help())]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: GlobalArgs,
}

fn after_help() -> String {
    format!(
        "\
Files:
  ~/.config/openskills/config.json  additional skill folders
  ~/.local/state/openskills/        trusted folders, approvals, disabled skills, the log
  /etc/openskills/policy.json       your organization's policy
  ~/.local/share/openskills/skills  skills installed for your user account
  ~/.cache/openskills/              index and compiled modules; clear with `openskills cache clear`

Environment:
  OPENSKILLS_PROJECT  same as --project
  OPENSKILLS_SESSION  same as --session
  OPENSKILLS_COLOR    same as --color; NO_COLOR disables color
  OPENSKILLS_QUIET    same as --quiet
  OPENSKILLS_<FLAG>   same as the flag of that name; each command's help lists the ones it supports
  XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME, XDG_CACHE_HOME
                      override the default locations above
  CLAUDE_CONFIG_DIR   overrides ~/.claude

{}

Run `openskills <command> --help` to see its exit codes, examples, and what it reads and writes.",
        exit_code_section(&ExitCode::all())
    )
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
    Exec(exec::ExecArgs),
    Conflicts(conflicts::ConflictsArgs),
    Hook(hook::HookArgs),
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
    Completions(completions::CompletionsArgs),
}

impl Program for Cli {
    const NAME: &'static str = "openskills";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const COMPLETION_VARIABLE: &'static str = "OPENSKILLS_COMPLETE";
    /// Only flags that set how a command works. What it does, and what the user consents to, must be on the command line.
    const ENVIRONMENT: &'static [(&'static str, &'static str)] = &[
        ("allowed-signers", "OPENSKILLS_ALLOWED_SIGNERS"),
        ("budget", "OPENSKILLS_BUDGET"),
        ("color", "OPENSKILLS_COLOR"),
        ("instructions", "OPENSKILLS_INSTRUCTIONS"),
        ("key-file", "OPENSKILLS_KEY_FILE"),
        ("lenient", "OPENSKILLS_LENIENT"),
        ("limit", "OPENSKILLS_LIMIT"),
        ("max-bytes", "OPENSKILLS_MAX_BYTES"),
        ("memory", "OPENSKILLS_MEMORY"),
        ("no-location", "OPENSKILLS_NO_LOCATION"),
        ("no-net", "OPENSKILLS_NO_NET"),
        ("quiet", "OPENSKILLS_QUIET"),
        ("require-signature", "OPENSKILLS_REQUIRE_SIGNATURE"),
        ("strict", "OPENSKILLS_STRICT"),
        ("strict-warnings", "OPENSKILLS_STRICT_WARNINGS"),
        ("timeout", "OPENSKILLS_TIMEOUT"),
        ("timings", "OPENSKILLS_TIMINGS"),
        ("token-file", "OPENSKILLS_TOKEN_FILE"),
        ("tool-names", "OPENSKILLS_TOOL_NAMES"),
        ("wasm-stage", "OPENSKILLS_WASM_STAGE"),
    ];

    fn global(&self) -> GlobalArgs {
        self.global
    }

    fn run(&self, ui: Ui) -> anyhow::Result<u8> {
        if !ui.is_quiet {
            Lock::on_wait(|path, pid| note_waiting(Self::NAME, path.as_str(), pid));
        }
        let code = dispatch(&self.command, ui);
        crate::checkpoints::flush(&mut Ui::new(self.global.color));
        code.map(ExitCode::number)
    }

    fn report(error: &anyhow::Error) -> ErrorReport {
        report(error)
    }

    fn usage_hint(args: &[OsString], error: &clap::Error) -> Option<String> {
        run::usage_hint(args, error, &term::commands::<Self>())
    }
}

/// Runs the program and returns its exit code.
pub fn main() -> std::process::ExitCode {
    skill_audit::abort_on_other_panics();
    // This must come before everything that starts threads or reads arguments: the process may be a sandbox stage.
    openskills_runtime::init();
    crate::checkpoints::init();
    term::main::<Cli>()
}

fn dispatch(command: &Command, ui: Ui) -> anyhow::Result<ExitCode> {
    let cwd = std::env::current_dir().context("cannot determine the current directory")?;
    let mut context = Context { cwd: AbsPath::new(cwd)?, ui };
    let code = match command {
        Command::Discover(args) => discover::discover(&mut context, args)?,
        Command::List(args) => list::list(&mut context, args)?,
        Command::Search(args) => search::search(&mut context, args)?,
        Command::Where(args) => where_::where_(&mut context, args)?,
        Command::Activate(args) => activate::activate(&mut context, args)?,
        Command::Deactivate(args) => deactivate::deactivate(&mut context, args)?,
        Command::Exec(args) => exec::exec(&mut context, args)?,
        Command::Conflicts(args) => conflicts::conflicts(&mut context, args)?,
        Command::Hook(args) => hook::hook(&mut context, args)?,
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
        Command::Completions(args) => completions::completions(&mut context, args)?,
        Command::Man(args) => man::man(&mut context, args)?,
        Command::Validate(args) => validate::validate(&mut context, args)?,
        Command::Show(args) => show::show(&mut context, args)?,
        Command::Prompt(args) => prompt::prompt(&mut context, args)?,
    };
    context.ui.flush()?;
    Ok(code)
}
