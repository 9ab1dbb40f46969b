//! `csk lock`: writes Skillfile.lock.

use std::collections::BTreeSet;

use csk_core::LOCKFILE;
use csk_core::install::{LockChange, LockOptions, LockReport, Mode, Upgrade, lock as lock_all};
use skill::Identifier;
use term::{Failure, HelpText, safe_line};

use crate::commands::install::network;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, select};

const HELP: HelpText = HelpText {
    text: "\
Pins the commit and digest of each declared skill in Skillfile.lock. Installs then use these commits. A skill that is \
already pinned keeps its commit, unless its declaration has changed or you pass --upgrade. Missing repositories are \
cloned; existing clones are not updated. Run `csk update` first to update them.

Reads:  config.json, Skillfile.json, Skillfile.lock, the repositories under skills_root
Writes: Skillfile.lock; skills_root for cloned repositories; the cache in csk's home folder

Keys of Skillfile.lock: schema_version, skills: {NAME: {source, git, ref_kind, ref, commit, tree, bundle_sha256}}.",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a skill cannot be pinned; its previous entry is kept"),
        ExitCode::Usage.when("usage or configuration error, or there is a single target and one of its files is malformed"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk lock",
        "csk lock --upgrade",
        "csk lock --upgrade pdf review --dry-run",
    ],
};

/// Pin the commits of a project's skills in Skillfile.lock
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct LockArgs {
    /// Project alias, or a path inside a project [default: the enclosing project, else all configured projects]
    #[arg(long = "project", value_name = "TARGET", add = term::names(crate::completion::projects))]
    target: Option<String>,
    /// Select all configured projects
    #[arg(long, conflicts_with = "target")]
    all: bool,
    /// Select the global scope instead of a project
    #[arg(long, conflicts_with_all = ["target", "all"])]
    global: bool,
    /// Move the pins of these skills (default: all skills) to the commits that their tags and branches point to now
    #[arg(long, num_args = 0.., value_name = "SKILL", add = term::names(crate::completion::skills))]
    upgrade: Option<Vec<String>>,
    /// Print what would change, without writing anything
    #[arg(long)]
    dry_run: bool,
    /// Do not use the network; nothing is cloned
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
}

pub(crate) fn lock(context: &mut Context, args: &LockArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let selection = Selection { target: args.target.clone(), all: args.all, global: args.global };
    let selected = select(context, &config, &selection)?;
    let declared: BTreeSet<&Identifier> = selected
        .targets
        .iter()
        .flat_map(|target| &target.skills)
        .map(|skill| &skill.name)
        .collect();
    let upgrade = match &args.upgrade {
        None => Upgrade::Needed,
        Some(names) if names.is_empty() => Upgrade::All,
        Some(names) => {
            let mut found = BTreeSet::new();
            for name in names {
                let known = declared.iter().find(|declared| declared.as_str() == name);
                found.insert((*known.ok_or_else(|| unknown(name, &declared))?).clone());
            }
            Upgrade::Only(found)
        }
    };
    let mode = if args.dry_run { Mode::DryRun } else { Mode::Apply };
    let environment = context.environment(&config);
    let options = LockOptions { upgrade, mode, network: network(args.offline) };
    let reports = lock_all(&environment, &selected.targets, &options, &context.progress())?;
    let mut failed = selected.failed;
    for report in &reports {
        failed |= print_report(context, report, mode)?;
    }
    Ok(ExitCode::failed_if(failed))
}

fn unknown(name: &str, declared: &BTreeSet<&Identifier>) -> Failure {
    let failure = Failure::usage(format!("skill `{name}` is not declared in Skillfile.json"));
    match skill::nearest(name, declared.iter().map(|name| name.as_str())) {
        Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
        None => failure,
    }
}

/// Prints the result for one project. Returns true if anything failed.
fn print_report(context: &mut Context, report: &LockReport, mode: Mode) -> anyhow::Result<bool> {
    let alias = safe_line(&report.alias).into_owned();
    let mut failed = false;
    for (name, change) in &report.skills {
        let line = match change {
            LockChange::Kept(commit) => format!("{} unchanged", commit.short()),
            LockChange::Updated(None, commit) => format!("{} pinned", commit.short()),
            LockChange::Updated(Some(old), commit) if old == commit => {
                format!("{} pinned", commit.short())
            }
            LockChange::Updated(Some(old), commit) => {
                format!("{} -> {} pinned", old.short(), commit.short())
            }
            LockChange::Dropped => "removed".to_owned(),
            LockChange::Failed(error) => {
                failed = true;
                let hint = error.hint().map_or_else(String::new, |hint| {
                    format!("{alias}: hint: {}\n", safe_line(&hint))
                });
                let message = safe_line(&error.to_string()).into_owned();
                context.ui.error(&format!("{alias}: {name}: {message}\n{hint}"))?;
                continue;
            }
        };
        context.ui.done(&format!("{alias}: {name} {line}\n"))?;
    }
    if let Some(error) = &report.error {
        context.ui.error(&format!("{alias}: {}\n", safe_line(&error.to_string())))?;
        return Ok(true);
    }
    if mode == Mode::DryRun && report.is_written {
        context.ui.done(&format!("{alias}: {LOCKFILE} would be written (dry-run)\n"))?;
    }
    Ok(failed)
}
