//! `csk global`: manages skills installed for the user account.

#![expect(clippy::disallowed_methods, reason = "creates the folder of the global scope")]

use csk_core::install::{AgentsFrom, LockfileMode, Target};
use csk_core::output::{GlobalListJson, VERSION};
use csk_core::{Agent, Config, Declaration, SKILLFILE, Scope, Skillfile};
use skill_fs::{AbsPath, read_text, write_file};
use term::{Failure, HelpText, safe_line};

use crate::commands::add::{AddFlags, add_global};
use crate::commands::install::{InstallFlags, install_into};
use crate::commands::remove::{RemoveFlags, remove_global};
use crate::commands::status::{StatusFlags, show_status};
use crate::commands::update::{no_network, update_all, update_for};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{ProjectLocation, SelectedProjects, SkillfileState, read_skillfile, target};

const HELP: HelpText = HelpText {
    text: "\
Manages skills installed for your user account, available in every project. They are declared in global/Skillfile.json \
in csk's home folder, installed next to it, and added to the agent folders in your home. With the shell hook, their \
commands are on PATH everywhere; project commands with the same name take precedence. Each subcommand works like the \
project command of the same name. `outdated`, `diff`, `lock`, `verify` and others accept --global.

Reads:  config.json, global/Skillfile.json, the repositories under skills_root
Writes: global/ in csk's home folder, and the agent folders in your home",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a skill failed; the others were processed"),
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

const INIT: HelpText = HelpText {
    text: "\
Creates an empty global/Skillfile.json in csk's home folder. An existing file is not changed.

Reads:  config.json
Writes: global/Skillfile.json in csk's home folder",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.usual()],
    examples: &["csk global init"],
};

const ADD: HelpText = HelpText {
    text: "\
Adds skills for your user account. Same as `csk add --global`; `csk add --help` explains what SOURCE can be.

Reads:  config.json, global/Skillfile.json, global/Skillfile.lock, the repository
Writes: global/ in csk's home folder, the agent folders in your home; skills_root if the repository is cloned",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a skill was refused by the audit or cannot be installed; nothing was changed"),
        ExitCode::Usage.when("usage or configuration error, global/Skillfile.json is malformed, or the source cannot be read"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk global add acme/skills --skill pdf",
        "csk global add pdf --git https://example.com/skill-pdf.git --tag v1.2.0",
        "csk global add review --source skill-review --branch main",
    ],
};

const REMOVE: HelpText = HelpText {
    text: "\
Removes skills from global/Skillfile.json and uninstalls them. Same as `csk remove --global`.

Reads:  config.json, global/Skillfile.json, global/Skillfile.lock
Writes: global/ in csk's home folder, and the agent folders in your home",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a skill cannot be uninstalled; nothing was changed"),
        ExitCode::Usage.when("usage or configuration error, or the skill is not declared"),
        ExitCode::Locked.usual(),
    ],
    examples: &["csk global remove pdf"],
};

const LIST: HelpText = HelpText {
    text: "\
Lists the skills declared in global/Skillfile.json.

Reads:  config.json, global/Skillfile.json
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage
            .when("usage or configuration error, or global/Skillfile.json is missing or malformed"),
    ],
    examples: &["csk global list", "csk global list --json"],
};

const STATUS: HelpText = HelpText {
    text: "\
Compares every file of the installed global skills with what global/Skillfile.json declares. It changes nothing. \
`csk status --help` explains the labels.

Reads:  config.json, global/Skillfile.json, the repositories under skills_root, the installed skills
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("the status was printed; with --check, everything is up to date"),
        ExitCode::Failed.when("the installed skills cannot be read; with --check, something is not up to date"),
        ExitCode::Usage.when("usage or configuration error, or global/Skillfile.json is missing or malformed"),
    ],
    examples: &["csk global status", "csk global status --check --json"],
};

const INSTALL: HelpText = HelpText {
    text: "\
Installs the skills declared in global/Skillfile.json. Existing repositories are not fetched; a missing repository that \
has a `git` URL is cloned. If global/Skillfile.lock exists, its commits are installed.

Reads:  config.json, global/Skillfile.json, global/Skillfile.lock, the repositories under skills_root
Writes: global/ and the cache in csk's home folder; the agent folders in your home; skills_root for cloned repositories",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a skill failed; the others were installed"),
        ExitCode::Usage.when("usage or configuration error, or global/Skillfile.json is missing or malformed"),
        ExitCode::Locked.usual(),
    ],
    examples: &["csk global install", "csk global install --dry-run"],
};

const UPDATE: HelpText = HelpText {
    text: "\
Fetches the branches and tags of every git repository under skills_root, in parallel. Same as `csk update`. It does not change \
installed skills; run `csk global install` or `csk global upgrade` to install what was fetched.

Reads:  config.json
Writes: the repositories under skills_root (remote branches and tags, never a working tree)",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a repository could not be fetched; the others were fetched"),
        ExitCode::Usage.when("usage or configuration error, or skills_root contains no repository"),
    ],
    examples: &["csk global update"],
};

const UPGRADE: HelpText = HelpText {
    text: "\
Fetches all skill repositories, then installs the global skills. Skills that track a branch move to its newest \
commit. global/Skillfile.lock is rewritten if it exists. With --dry-run, nothing is fetched.

Reads:  config.json, global/Skillfile.json, global/Skillfile.lock, the repositories under skills_root
Writes: the repositories under skills_root; global/ and the cache in csk's home folder; the agent folders in your home",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a fetch or a skill failed; the others were processed"),
        ExitCode::Usage.when("usage or configuration error, or global/Skillfile.json is missing or malformed"),
        ExitCode::Locked.usual(),
    ],
    examples: &["csk global upgrade", "csk global upgrade --dry-run"],
};

/// Manage skills installed for your user account
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct GlobalArgs {
    #[command(subcommand)]
    command: GlobalCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GlobalCommand {
    /// Create an empty global/Skillfile.json
    #[command(after_help = INIT)]
    Init,
    /// Add skills for your user account: same as `csk add --global`
    #[command(after_help = ADD)]
    Add {
        #[command(flatten)]
        flags: AddFlags,
    },
    /// Remove skills: same as `csk remove --global`
    #[command(after_help = REMOVE)]
    Remove {
        /// Skill names
        #[arg(required = true, value_name = "NAME", add = term::names(crate::completion::global_skills))]
        names: Vec<String>,
        #[command(flatten)]
        flags: RemoveFlags,
    },
    /// List the declared global skills
    #[command(after_help = LIST)]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show whether the installed global skills match global/Skillfile.json
    #[command(after_help = STATUS)]
    Status {
        #[command(flatten)]
        flags: StatusFlags,
    },
    /// Install the declared global skills
    #[command(after_help = INSTALL)]
    Install {
        #[command(flatten)]
        flags: InstallFlags,
    },
    /// Fetch all skill repositories
    #[command(after_help = UPDATE)]
    Update {
        /// Disable network access; this command then fails, because it only fetches
        #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
        offline: bool,
    },
    /// Fetch all skill repositories, then install the global skills
    #[command(after_help = UPGRADE)]
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
        GlobalCommand::Add { flags } => add_global(context, flags),
        GlobalCommand::Remove { names, flags } => remove_global(context, names, flags),
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
            let options = flags.options(LockfileMode::Follow);
            install_into(context, &config, &selected, flags, options)
        }
        GlobalCommand::Update { offline } => {
            if *offline {
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
            let options = flags.options(LockfileMode::Refresh);
            Ok(updated.max(install_into(context, &config, &selected, flags, options)?))
        }
    }
}

/// Creates the global scope if it does not exist; returns its folder.
pub(crate) fn create(context: &mut Context) -> anyhow::Result<AbsPath> {
    let root = context.home.join("global");
    init(context, &root)?;
    Ok(root)
}

fn init(context: &mut Context, root: &AbsPath) -> anyhow::Result<ExitCode> {
    let path = root.join(SKILLFILE);
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Failure::files(format!("cannot write `{path}`"), error)
    };
    if read_text(&path).map_err(|error| failed(error.into()))?.is_some() {
        return Ok(ExitCode::Done);
    }
    std::fs::create_dir_all(root.as_path()).map_err(|error| failed(error.into()))?;
    write_file(&path, Skillfile::minimal().as_bytes()).map_err(|error| failed(error.into()))?;
    context.ui.done(&format!("created {}\n", safe_line(path.as_str())))?;
    Ok(ExitCode::Done)
}

fn declared(context: &Context, config: &Config) -> anyhow::Result<Vec<String>> {
    let targets = selected(context, config)?.targets;
    let line = |skill: &Declaration| {
        format!("{} {} {}", skill.name, skill.reference.kind.as_str(), skill.reference.name)
    };
    Ok(targets.iter().flat_map(|target| &target.skills).map(line).collect())
}

/// Returns the global scope if it has a Skillfile.
pub(crate) fn target_if_exists(
    context: &Context,
    config: &Config,
) -> anyhow::Result<Option<Target>> {
    let path = context.home.join("global").join(SKILLFILE);
    let is_missing =
        context.user_home.is_none() || read_text(&path).is_ok_and(|text| text.is_none());
    if is_missing { Ok(None) } else { Ok(selected(context, config)?.targets.pop()) }
}

/// Returns the target of the global scope from its folder's.
pub(crate) fn scope(context: &Context, target: Target) -> anyhow::Result<Target> {
    let Some(home) = context.user_home.clone() else {
        let what = "HOME is not set; agents read global skills from the home folder";
        return Err(Failure::usage(what).into());
    };
    let mut agents = target.agents;
    let any = Agent::any();
    let reads_shared = |agent: &Agent| agent.user_adapter == any.user_adapter;
    if target.agents_from == AgentsFrom::Detection && !agents.iter().any(reads_shared) {
        // An agent that csk does not detect may read it.
        agents.push(any);
    }
    let (alias, scope) = ("global".to_owned(), Scope::Global);
    Ok(Target { alias, scope, adapter_base: home, agents, ..target })
}

/// Returns the global scope as the only target.
pub(crate) fn selected(context: &Context, config: &Config) -> anyhow::Result<SelectedProjects> {
    let root = context.home.join("global");
    let path = root.join(SKILLFILE);
    match read_skillfile(&root, config) {
        SkillfileState::Valid { file, lock, .. } => {
            let location = ProjectLocation { alias: None, root, agents: Vec::new() };
            let target = Target { lock, ..target(&location, file, config) };
            let target = scope(context, target)?;
            Ok(SelectedProjects { targets: vec![target], ..SelectedProjects::default() })
        }
        SkillfileState::Missing => Err(Failure::usage(format!("`{path}` does not exist"))
            .with_hint("run `csk global init` to create it")
            .into()),
        SkillfileState::Invalid { text, problems } => {
            Err(Failure::malformed(text, problems).into())
        }
    }
}
