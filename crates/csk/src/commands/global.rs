//! `csk global`: the user's own skills, for all that the user does.

#![expect(clippy::disallowed_methods, reason = "makes the folder of the global scope")]

use csk_core::install::{LockUse, Target};
use csk_core::output::{GlobalListJson, VERSION};
use csk_core::{Config, Declaration, SKILLFILE, Scope, Skillfile};
use skill_fs::{AbsPath, read_text, write_file};
use term::{Failure, HelpText, safe_line};

use crate::commands::add::{SkillFlags, add_to, remove_from};
use crate::commands::install::{InstallFlags, install_into};
use crate::commands::status::{StatusFlags, show_status};
use crate::commands::update::{UpdateArgs, no_network, update_all, update_for};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Place, Read, Selected, read_skillfile, target};

const HELP: HelpText = HelpText {
    text: "\
Purpose: skills that are the user's own and not one project's. They are declared in global/Skillfile.json below csk's home, \
installed beside it, and linked into the folders in your home that agents read. Their commands are on PATH everywhere with \
the shell hook; a project's commands of the same name come first. The subcommands do what the commands of the same name do \
for a project; `outdated`, `diff`, `lock`, `verify` and others take --global.

Reads:  config.json, global/Skillfile.json, the repositories under skills_root
Writes: global/ in csk's home, and the folders of the agents in your home",
    exit_codes: &[
        ExitCode::Done.when("as the commands of the same name"),
        ExitCode::Failed.when("as the commands of the same name"),
        ExitCode::Usage.usual(),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk global init",
        "csk global add pdf --git https://example.com/skill-pdf.git --tag v1.2.0",
        "csk global install",
        "csk global status --check",
    ],
};

/// Skills of your own, for all that you do
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct GlobalArgs {
    #[command(subcommand)]
    command: GlobalCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GlobalCommand {
    /// Make an empty global/Skillfile.json
    Init,
    /// Declare a skill
    Add {
        /// What to call the skill
        name: String,
        #[command(flatten)]
        skill: SkillFlags,
    },
    /// Take a skill out
    Remove {
        /// The skill
        #[arg(add = term::names(crate::completion::global_skills))]
        name: String,
    },
    /// List the declared skills
    List {
        /// Write it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show whether everything is installed as declared
    Status {
        #[command(flatten)]
        flags: StatusFlags,
    },
    /// Install the declared skills
    Install {
        #[command(flatten)]
        flags: InstallFlags,
    },
    /// Fetch the repositories of all skills
    Update(UpdateArgs),
    /// Fetch the repositories of all skills, then install
    Upgrade {
        #[command(flatten)]
        flags: InstallFlags,
    },
}

pub(crate) fn global(context: &mut Context, args: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let root = context.home.join("global");
    match &args.command {
        GlobalCommand::Init => init(context, &root),
        GlobalCommand::Add { name, skill } => {
            init(context, &root)?;
            add_to(context, &config, &root, name, skill)
        }
        GlobalCommand::Remove { name } => remove_from(context, &config, &root, name),
        GlobalCommand::List { json } => {
            let skills = declared(context, &config)?;
            if *json {
                context.ui.json(&GlobalListJson { version: VERSION, skills })?;
                return Ok(ExitCode::Done);
            }
            for line in skills {
                context.ui.out(&format!("{}\n", safe_line(&line)))?;
            }
            Ok(ExitCode::Done)
        }
        GlobalCommand::Status { flags } => {
            let selected = selected(context, &config)?;
            show_status(context, &config, &selected, flags)
        }
        GlobalCommand::Install { flags } => {
            let selected = selected(context, &config)?;
            let options = flags.options(LockUse::Follow);
            install_into(context, &config, &selected, flags, options)
        }
        GlobalCommand::Update(args) => {
            if args.offline {
                return Err(no_network().into());
            }
            update_all(context, &config)
        }
        GlobalCommand::Upgrade { flags } => {
            let updated = if flags.dry_run || flags.offline {
                ExitCode::Done
            } else {
                update_for(context, &config, flags)?
            };
            let selected = selected(context, &config)?;
            let options = flags.options(LockUse::Refresh);
            Ok(updated.max(install_into(context, &config, &selected, flags, options)?))
        }
    }
}

fn init(context: &mut Context, root: &AbsPath) -> anyhow::Result<ExitCode> {
    let path = root.join(SKILLFILE);
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Failure::files(format!("cannot write {path}"), error)
    };
    if read_text(&path).map_err(|error| failed(error.into()))?.is_some() {
        return Ok(ExitCode::Done);
    }
    std::fs::create_dir_all(root.as_path()).map_err(|error| failed(error.into()))?;
    write_file(&path, Skillfile::minimal().as_bytes()).map_err(|error| failed(error.into()))?;
    context.ui.done(&format!("made {}\n", safe_line(path.as_str())))?;
    Ok(ExitCode::Done)
}

fn declared(context: &Context, config: &Config) -> anyhow::Result<Vec<String>> {
    let targets = selected(context, config)?.targets;
    let line = |skill: &Declaration| {
        format!("{} {} {}", skill.name, skill.reference.kind.as_str(), skill.reference.name)
    };
    Ok(targets.iter().flat_map(|target| &target.skills).map(line).collect())
}

/// Returns the global scope, where there is one.
pub(crate) fn target_if_there(
    context: &Context,
    config: &Config,
) -> anyhow::Result<Option<Target>> {
    let path = context.home.join("global").join(SKILLFILE);
    let is_missing =
        context.user_home.is_none() || read_text(&path).is_ok_and(|text| text.is_none());
    if is_missing { Ok(None) } else { Ok(selected(context, config)?.targets.pop()) }
}

/// Returns the global scope as the one target.
pub(crate) fn selected(context: &Context, config: &Config) -> anyhow::Result<Selected> {
    let root = context.home.join("global");
    let Some(home) = context.user_home.clone() else {
        return Err(
            Failure::usage("HOME is not set, and agents look for global skills there").into()
        );
    };
    let path = root.join(SKILLFILE);
    match read_skillfile(&root, config) {
        Read::Good { file, lock, .. } => {
            let place = Place { alias: None, root, agents: Vec::new() };
            let target = Target {
                alias: "global".to_owned(),
                scope: Scope::Global,
                adapter_base: home,
                lock,
                ..target(&place, file, config)
            };
            Ok(Selected { targets: vec![target], ..Selected::default() })
        }
        Read::Missing => Err(Failure::usage(format!("{path} does not exist"))
            .with_hint("run `csk global init` to make it")
            .into()),
        Read::Bad { text, problems } => Err(Failure::malformed(text, problems).into()),
    }
}
