//! The arguments of every command, and the way from them to an exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use skill_fs::Lock;
use skill_state::audit::AuditMode;
use term::{
    ColorChoice, CompletionShell, Ui, complete_if_asked, completions, tell_usage, usage_hint,
    usage_message, version_if_asked, with_environment,
};

use crate::commands::{
    add, audit, bootstrap, cache, config, diff, doctor, exec, gc, global, import, init, install,
    list, lock, man, outdated, project, shell_init, skill, status, update, upgrade, verify, why,
};
use crate::context::Context;
use crate::failure::Failure;

/// Flags that say how something is done, and the variables that say it for every call.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("dry-run", "CSK_DRY_RUN"),
    ("fix-gitignore", "CSK_FIX_GITIGNORE"),
    ("strict-tags", "CSK_STRICT_TAGS"),
    ("verbose", "CSK_VERBOSE"),
];

const COMPLETIONS: &str = "\
Purpose: prints a script that completes commands, flags, projects and skills in a shell. The script asks csk itself.

Reads:  nothing; while it completes, config.json and Skillfile.json
Writes: nothing

Exit codes:
  0  done
  2  usage

Examples:
  csk completions bash > ~/.local/share/bash-completion/completions/csk
  csk completions zsh > ~/.zfunc/_csk
  csk completions fish > ~/.config/fish/completions/csk.fish";

/// Install agent skills from git into projects, reproducibly
#[derive(Debug, Parser)]
#[command(
    name = "csk",
    version,
    arg_required_else_help = true,
    after_help = "\
Files:
  ~/.cocoaskills/config.json  the projects, and where skills come from; keys: `csk config --help`
  Skillfile.json              the skills of a project; keys: `csk project --help`
  csk-skill.json              what a skill brings; keys: `csk skill --help`
  .agents/skills/             where skills are installed, each with a .csk-install.json that says what it is

Environment:
  CSK_CONFIG        another config file; csk's own state is kept beside it
  CSK_HOME          another folder for csk's own state
  CSK_ALLOW_FILE    1: repositories on this machine may be cloned, as allow_local_sources in the config
  CSK_LOCK_TIMEOUT  how many seconds to wait for another csk (30; 600 for one that fetches)
  CSK_LOCKED, CSK_OFFLINE, CSK_FROZEN
                    as the flags of `csk install`
  CSK_AUTO_ENV      0 turns the shell hook off
  CSK_COLOR         as --color; NO_COLOR turns color off
  CSK_QUIET         as --quiet

Exit codes: 0 done, 1 a skill or project failed, 2 usage or configuration, 3 another csk holds the lock.
Run `csk <command> --help` for what a command reads and writes, its exit codes and examples."
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
        env = "CSK_COLOR",
        value_name = "WHEN",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    color: ColorChoice,

    /// Write only data, warnings and errors: no progress, no notes, nothing of what was done
    #[arg(
        long,
        short,
        global = true,
        env = "CSK_QUIET",
        value_parser = clap::builder::FalseyValueParser::new(),
        hide_env_values = true,
        help_heading = "Global options"
    )]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bootstrap(bootstrap::BootstrapArgs),
    Init(init::InitArgs),
    Add(add::AddArgs),
    Remove(add::RemoveArgs),
    Install(install::InstallArgs),
    Update(update::UpdateArgs),
    Upgrade(upgrade::UpgradeArgs),
    Status(status::StatusArgs),
    Outdated(outdated::OutdatedArgs),
    Diff(diff::DiffArgs),
    Why(why::WhyArgs),
    Doctor(doctor::DoctorArgs),
    Import(import::ImportArgs),
    List(list::ListArgs),
    Lock(lock::LockArgs),
    Verify(verify::VerifyArgs),
    Audit(audit::AuditArgs),
    Global(global::GlobalArgs),
    Gc(gc::GcArgs),
    Cache(cache::CacheArgs),
    Exec(exec::ExecArgs),
    ShellInit(shell_init::ShellInitArgs),
    /// Print a completion script
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell
        shell: CompletionShell,
    },
    Man(man::ManArgs),
    Project(project::ProjectArgs),
    Config(config::ConfigArgs),
    Skill(skill::SkillArgs),
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
pub(crate) fn main() -> ExitCode {
    if let Some(code) = complete_if_asked("csk", commands) {
        return code;
    }
    #[expect(clippy::disallowed_methods, reason = "the edge: the command line")]
    let args = words(std::env::args_os());
    if let Some(code) = version_if_asked("csk", env!("CARGO_PKG_VERSION"), &args) {
        return code;
    }
    let is_json = asks_for_json(&args);
    let cli = match parsed(args) {
        Ok(cli) => cli,
        Err(error) if is_json && error.use_stderr() => {
            let hint = usage_hint(&error).unwrap_or_else(|| "`csk --help` shows how".to_owned());
            let failure = Failure::usage(usage_message(&error)).with_hint(hint);
            tell_usage(&error);
            return ExitCode::from(failure.tell_json(&mut Ui::new(ColorChoice::Never)));
        }
        Err(error) => return ExitCode::from(tell_usage(&error)),
    };
    let opened = || {
        let mut ui = Ui::new(cli.color);
        ui.is_quiet = cli.quiet;
        ui
    };
    let mut ui = opened();
    if !cli.quiet {
        Lock::on_wait(|path, pid| {
            let whose = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            let text = format!("waiting for another csk{whose} that holds {path}\n");
            // It is only a note; the wait goes on.
            let _ = Ui::new(ColorChoice::Never).error(&text);
        });
    }
    match run(&cli.command, opened()) {
        Ok(code) => ExitCode::from(code),
        Err(failure) if is_json => ExitCode::from(failure.tell_json(&mut ui)),
        Err(failure) => ExitCode::from(failure.tell(&mut ui)),
    }
}

/// Returns true if data was asked for: then failures are data as well.
fn asks_for_json(args: &[OsString]) -> bool {
    let is_foreign = |word: &&OsString| *word != "--" && *word != "exec";
    args.iter().take_while(is_foreign).any(|word| word == "--json")
}

/// Makes `--audit` and a mode after it one word. Any other word after it is what it is without.
fn words(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for word in args {
        // What comes after these is another program's.
        let is_foreign = words.iter().any(|word| word == "--" || word == "exec");
        let is_mode =
            !is_foreign && word.to_str().is_some_and(|word| AuditMode::parse(word).is_some());
        match words.last_mut().filter(|last| *last == "--audit" && is_mode) {
            Some(last) => {
                last.push("=");
                last.push(word);
            }
            None => words.push(word),
        }
    }
    words
}

fn run(command: &Command, mut ui: Ui) -> Result<u8, Failure> {
    if let Command::Completions { shell } = command {
        // Needs nothing of the world.
        ui.out(&completions(*shell, "csk"))?;
        ui.flush()?;
        return Ok(0);
    }
    let mut context = Context::read(ui)?;
    let code = match command {
        Command::Bootstrap(args) => bootstrap::bootstrap(&mut context, args)?,
        Command::Init(args) => init::init(&mut context, args)?,
        Command::Add(args) => add::add(&mut context, args)?,
        Command::Remove(args) => add::remove(&mut context, args)?,
        Command::Global(args) => global::global(&mut context, args)?,
        Command::Cache(args) => cache::cache(&mut context, args)?,
        Command::Install(args) => install::install(&mut context, args)?,
        Command::Update(args) => update::update(&mut context, args)?,
        Command::Upgrade(args) => upgrade::upgrade(&mut context, args)?,
        Command::Status(args) => status::status(&mut context, args)?,
        Command::Outdated(args) => outdated::outdated(&mut context, args)?,
        Command::Diff(args) => diff::diff(&mut context, args)?,
        Command::Why(args) => why::why(&mut context, args)?,
        Command::Doctor(args) => doctor::doctor(&mut context, args)?,
        Command::Import(args) => import::import(&mut context, args)?,
        Command::List(args) => list::list(&mut context, args)?,
        Command::Lock(args) => lock::lock(&mut context, args)?,
        Command::Verify(args) => verify::verify(&mut context, args)?,
        Command::Audit(args) => audit::audit(&mut context, args)?,
        Command::Completions { .. } => 0,
        Command::Man(args) => man::man(&mut context, args, commands())?,
        Command::Gc(args) => gc::gc(&mut context, args)?,
        Command::Exec(args) => exec::exec(&mut context, args)?,
        Command::ShellInit(args) => shell_init::shell_init(&mut context, args)?,
        Command::Project(args) => project::project(&mut context, args)?,
        Command::Config(args) => config::config(&mut context, args)?,
        Command::Skill(args) => skill::skill(&mut context, args)?,
    };
    context.ui.flush()?;
    Ok(code)
}
