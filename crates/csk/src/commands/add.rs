//! `csk add`: declares, locks and installs skills from a source; or only declares one, from flags.

mod declare;
mod found;
mod install;
mod report;
mod select;
mod show;

pub(crate) use declare::{SkillFlags, read_valid_skillfile};
pub(crate) use found::{Fetching, skills_of};
pub(crate) use install::examine_all;
pub(crate) use show::{as_json, facts_about};

use csk_core::project::find_root;
use csk_core::{Config, SKILLFILE};
use skill_fs::AbsPath;
use term::{Failure, HelpText};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::project_edit::{Place, project_here};
use crate::projects::{Selection, locate_projects};

const ADD: HelpText = HelpText {
    text: "\
Adds skills to a project: declares them in Skillfile.json, pins their commits in Skillfile.lock, adds ignore rules to \
.gitignore and installs them. Before that, csk shows what each skill can do and audits it: a skill rated BLOCK is \
refused; one rated REVIEW or UNANALYZABLE needs your confirmation, or --yes. If anything fails, nothing is changed.

SOURCE is one of:
  acme/skills               a repository on GitHub; also github:, gitlab:, bitbucket: and codeberg:
  acme/skills/skills/pdf    a folder in it
  acme/skills@v1.2          a tag, branch or commit of it
  https://…, git@host:…     a repository's URL, or the URL of a folder or file in your browser
  ./folder                  a git repository on this machine, or a folder in one
  skill-pdf                 a repository that is already cloned, by its name
Without a version, csk uses the newest version tag, or else the default branch.

With --git or --source, or with a name and one of --tag, --branch and --revision, csk only declares the skill: SOURCE is \
then the name of the skill, and `csk install` installs it.

The project is the enclosing folder with a Skillfile.json, else the git repository, else the current folder.

Reads:  config.json, Skillfile.json, Skillfile.lock, the repository
Writes: Skillfile.json, Skillfile.lock, .gitignore; what `csk install` writes; skills_root if the repository is cloned",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a skill was refused by the audit or cannot be installed; nothing was changed"),
        ExitCode::Usage.when("usage or configuration error, a file is malformed, or the source cannot be read"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk add acme/skills",
        "csk add acme/skills --skill pdf review",
        "csk add https://github.com/acme/skills/tree/main/skills/pdf",
        "csk add acme/skills --all --except docx",
        "csk add acme/skills --all --global",
        "csk add ./my-skills --dry-run",
        "csk add pdf --git https://example.com/skill-pdf.git --tag v1.2.0",
    ],
};

/// Add skills to a project: declare, lock and install them
#[derive(Debug, clap::Args)]
#[command(after_help = ADD)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) flags: AddFlags,
    /// Project alias, or a path inside a project [default: the project here]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
    /// Add the skills for your user account instead of a project
    #[arg(long, conflicts_with = "project")]
    global: bool,
}

/// The flags of `csk add` and `csk global add`.
#[derive(Debug, clap::Args)]
pub(crate) struct AddFlags {
    /// Where the skills are
    #[arg(value_name = "SOURCE", required_unless_present = "skills", add = term::names(crate::completion::repositories))]
    pub(crate) sources: Vec<String>,
    /// Add only these skills of the source
    #[arg(long = "skill", short, value_name = "NAME", num_args = 1.., conflicts_with = "all")]
    pub(crate) skills: Vec<String>,
    /// Add all skills of the source
    #[arg(long)]
    pub(crate) all: bool,
    /// With --all, leave these skills out
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "all")]
    pub(crate) except: Vec<String>,
    #[command(flatten)]
    pub(crate) declared: SkillFlags,
    /// Add skills rated REVIEW or UNANALYZABLE without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only declare and lock the skills
    #[arg(long)]
    pub(crate) no_install: bool,
    /// Print what would be done, without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not use the network; use only repositories that are already cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    pub(crate) offline: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl AddFlags {
    /// Returns the sources and the skills. After `--skill NAME SOURCE`, the last word is the source.
    pub(crate) fn sources_and_skills(&self) -> anyhow::Result<(Vec<String>, Vec<String>)> {
        match (self.sources.as_slice(), self.skills.split_last()) {
            ([], Some((source, skills @ [_, ..]))) => Ok((vec![source.clone()], skills.to_vec())),
            ([], _) => Err(Failure::usage("SOURCE is missing")
                .with_hint("usage: csk add SOURCE --skill NAME")
                .into()),
            (sources, _) => Ok((sources.to_vec(), self.skills.clone())),
        }
    }
}

pub(crate) fn add(context: &mut Context, args: &AddArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    if args.global {
        return add_global(context, &args.flags);
    }
    if let Some(name) = declare::declared_name(&args.flags) {
        let root = project_root(context, &config, args.project.as_deref())?;
        declare::check_repository(&root)?;
        return declare::add_to(context, &config, &root, name, &args.flags);
    }
    let place = match args.project.as_deref() {
        Some(_) => project_root(context, &config, args.project.as_deref())?,
        None => project_here(context)?,
    };
    install::add(context, &config, Place::Project(place), &args.flags)
}

/// Adds skills for the user's account.
pub(crate) fn add_global(context: &mut Context, flags: &AddFlags) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    match declare::declared_name(flags) {
        Some(name) => {
            let root = crate::commands::global::create(context)?;
            declare::add_to(context, &config, &root, name, flags)
        }
        None => install::add(context, &config, Place::Global, flags),
    }
}

/// Returns the enclosing project, or the one that `target` names.
pub(crate) fn project_root(
    context: &Context,
    config: &Config,
    target: Option<&str>,
) -> anyhow::Result<AbsPath> {
    let Some(target) = target else {
        return Ok(find_root(&context.cwd).ok_or_else(|| {
            Failure::usage(format!(
                "{SKILLFILE} not found in `{}` or any parent folder",
                context.cwd
            ))
            .with_hint("run `csk init` to create one")
        })?);
    };
    let selection = Selection { target: Some(target.to_owned()), ..Selection::default() };
    let location = locate_projects(context, config, &selection)?.pop();
    let missing = || Failure::usage(format!("no project named `{target}`"));
    Ok(location.ok_or_else(missing)?.root)
}
