//! The command line of csk: its commands and the dispatch to them.

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use skill_fs::Lock;
use skill_state::audit::AuditMode;
use term::{ErrorReport, GlobalArgs, Program, Ui, exit_code_section, note_waiting};

use crate::commands::{
    add, audit, bootstrap, cache, completions, config, diff, doctor, exec, find, gc, global,
    import, init, install, list, lock, man, outdated, project, remove, shell_init, show, skill,
    status, update, upgrade, verify, why,
};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::report;

/// Install Agent Skills from git repositories, reproducibly
#[derive(Debug, Parser)]
#[command(name = "csk", bin_name = "csk", version, arg_required_else_help = true, after_help = after_help())]
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
  ~/.cocoaskills/config.json  your settings and projects; keys: `csk config --help`
  Skillfile.json              the skills a project declares; keys: `csk project --help`
  csk-skill.json              a skill's commands and capabilities; keys: `csk skill --help`
  .agents/skills/             installed skills; .csk-install.json in each records its source and commit

Environment:
  CSK_CONFIG        config file to use (default: ~/.cocoaskills/config.json)
  CSK_HOME          csk's home folder, where it keeps its state (default: the config file's folder)
  CSK_ALLOW_FILE    set to 1 to allow cloning from local paths; same as allow_local_sources in the config
  CSK_LOCK_TIMEOUT  seconds to wait for another csk process (default: 30, or 600 if it is fetching)
  CSK_LOCKED, CSK_OFFLINE, CSK_FROZEN
                    same as --locked, --offline and --frozen
  CSK_AUTO_ENV      set to 0 to disable the shell hook
  CSK_COLOR         same as --color; set NO_COLOR to disable color
  CSK_QUIET         same as --quiet

{}

Run `csk <command> --help` for the files a command reads and writes, its exit codes and examples.",
        exit_code_section(&ExitCode::all())
    )
}

#[derive(Debug, Subcommand)]
enum Command {
    Bootstrap(bootstrap::BootstrapArgs),
    Init(init::InitArgs),
    Add(add::AddArgs),
    #[command(alias = "uninstall", alias = "rm")]
    Remove(remove::RemoveArgs),
    #[command(alias = "search")]
    Find(find::FindArgs),
    Show(show::ShowArgs),
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
    Audit(Box<audit::AuditArgs>),
    Global(global::GlobalArgs),
    Gc(gc::GcArgs),
    Cache(cache::CacheArgs),
    Exec(exec::ExecArgs),
    ShellInit(shell_init::ShellInitArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Project(project::ProjectArgs),
    Config(config::ConfigArgs),
    Skill(skill::SkillArgs),
}

impl Program for Cli {
    const NAME: &'static str = "csk";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const COMPLETION_VARIABLE: &'static str = "CSK_COMPLETE";
    const ENVIRONMENT: &'static [(&'static str, &'static str)] = &[
        ("color", "CSK_COLOR"),
        ("dry-run", "CSK_DRY_RUN"),
        ("fix-gitignore", "CSK_FIX_GITIGNORE"),
        ("quiet", "CSK_QUIET"),
        ("strict-tags", "CSK_STRICT_TAGS"),
        ("verbose", "CSK_VERBOSE"),
    ];
    const FOREIGN_ARGUMENTS: &'static [&'static str] = &["exec"];

    /// Joins `--audit` and a mode that follows it into one argument. Any other argument after `--audit` is left alone.
    fn arguments(raw: Vec<OsString>) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut is_foreign = false;
        for word in raw {
            // Arguments after these belong to another program.
            is_foreign |= word == "--" || word == "exec";
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

    fn global(&self) -> GlobalArgs {
        self.global
    }

    fn run(&self, ui: Ui) -> anyhow::Result<u8> {
        if !ui.is_quiet {
            Lock::on_wait(|path, pid| note_waiting(Self::NAME, path.as_str(), pid));
        }
        dispatch(&self.command, ui).map(ExitCode::number)
    }

    fn report(error: &anyhow::Error) -> ErrorReport {
        report(error)
    }
}

fn dispatch(command: &Command, mut ui: Ui) -> anyhow::Result<ExitCode> {
    if let Command::Completions(args) = command {
        // Works without a home folder or a config.
        return completions::completions(&mut ui, args);
    }
    let mut context = Context::read(ui)?;
    let code = match command {
        Command::Bootstrap(args) => bootstrap::bootstrap(&mut context, args)?,
        Command::Init(args) => init::init(&mut context, args)?,
        Command::Add(args) => add::add(&mut context, args)?,
        Command::Remove(args) => remove::remove(&mut context, args)?,
        Command::Find(args) => find::find(&mut context, args)?,
        Command::Show(args) => show::show(&mut context, args)?,
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
        Command::Completions(args) => completions::completions(&mut context.ui, args)?,
        Command::Man(args) => man::man(&mut context, args)?,
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
