//! `csk remove`: removes skills from Skillfile.json and uninstalls them.

use std::collections::BTreeSet;

use csk_core::install::{Mode, Network};
use csk_core::{Config, SKILLFILE};
use skill::{Identifier, nearest};
use term::{Failure, HelpText, safe_line};

use crate::commands::add::project_root;
use crate::commands::install::print_other;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::project_edit::{EditOptions, Place, ProjectEdit};

const HELP: HelpText = HelpText {
    text: "\
Removes skills from Skillfile.json and Skillfile.lock, and uninstalls them. The rest of Skillfile.json is unchanged. If \
anything fails, nothing is changed.

Reads:  config.json, Skillfile.json, Skillfile.lock
Writes: Skillfile.json; Skillfile.lock if it exists; what `csk install` writes",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a skill cannot be uninstalled; nothing was changed"),
        ExitCode::Usage.when("usage or configuration error, or a skill is not declared"),
        ExitCode::Locked.usual(),
    ],
    examples: &["csk remove pdf", "csk remove pdf review --no-install", "csk remove pdf --global"],
};

/// Remove skills from a project and uninstall them
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct RemoveArgs {
    /// Skill names
    #[arg(required = true, value_name = "NAME", add = term::names(crate::completion::skills))]
    names: Vec<String>,
    #[command(flatten)]
    flags: RemoveFlags,
    /// Project alias, or a path inside a project [default: the enclosing project]
    #[arg(long, value_name = "TARGET", add = term::names(crate::completion::projects))]
    project: Option<String>,
    /// Remove the skills of your user account instead of a project's
    #[arg(long, conflicts_with = "project")]
    global: bool,
}

/// The flags of `csk remove` and `csk global remove`.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveFlags {
    /// Only edit Skillfile.json; `csk install` then uninstalls the skills
    #[arg(long)]
    no_install: bool,
    /// Print what would be done, without changing anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn remove(context: &mut Context, args: &RemoveArgs) -> anyhow::Result<ExitCode> {
    if args.global {
        return remove_global(context, &args.names, &args.flags);
    }
    let config = context.config()?;
    let root = project_root(context, &config, args.project.as_deref())?;
    remove_from(context, &config, Place::Project(root), &args.names, &args.flags)
}

/// Removes skills of the user's account.
pub(crate) fn remove_global(
    context: &mut Context,
    names: &[String],
    flags: &RemoveFlags,
) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    remove_from(context, &config, Place::Global, names, flags)
}

fn remove_from(
    context: &mut Context,
    config: &Config,
    place: Place,
    names: &[String],
    flags: &RemoveFlags,
) -> anyhow::Result<ExitCode> {
    let flag = place.flag();
    let mut edit = ProjectEdit::begin(context, config, place)?;
    let declared: Vec<Identifier> =
        edit.file(config)?.skills.into_iter().map(|skill| skill.name).collect();
    let mut removed = BTreeSet::new();
    for name in names {
        let Some(name) = declared.iter().find(|known| known.as_str() == name) else {
            let failure = Failure::usage(format!("skill `{name}` is not declared in {SKILLFILE}"));
            return Err(match nearest(name, declared.iter().map(Identifier::as_str)) {
                Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                None => {
                    failure.with_hint(format!("run `csk status{flag}` to see the declared skills"))
                }
            }
            .into());
        };
        if removed.insert(name.clone()) {
            edit.remove(name)?;
            if flags.no_install {
                edit.unlock(name);
            }
        }
    }
    let mode = if flags.dry_run { Mode::DryRun } else { Mode::Apply };
    let options = EditOptions { mode, network: Network::Refused, is_installed: !flags.no_install };
    let report = edit.apply(context, config, &removed, options)?;
    let skills = report.installed.iter().flat_map(|report| &report.skills);
    for skill in skills.filter(|skill| !removed.contains(&skill.name)) {
        print_other(context, skill)?;
    }
    for name in removed {
        let result = match (flags.dry_run, flags.no_install) {
            (true, _) => "would be removed (dry-run)",
            (false, true) => "removed from Skillfile.json; `csk install` uninstalls it",
            (false, false) => "removed",
        };
        context.ui.done(&format!("{} {result}\n", safe_line(name.as_str())))?;
    }
    Ok(ExitCode::Done)
}
