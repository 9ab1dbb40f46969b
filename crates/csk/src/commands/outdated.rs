//! `csk outdated`: lists skills that have newer versions.

use csk_core::operations::{SkillVersions, outdated as find_outdated};
use csk_core::output::{OutdatedJson, OutdatedProjectJson, SkillVersionsJson, VERSION};
use term::{HelpText, headed_table, safe_line};

use crate::commands::install::network;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, UnreadableProject, select};

const HELP: HelpText = HelpText {
    text: "\
Lists skills that have a newer version: new commits on a branch, a moved tag, or a newer version tag with the same \
prefix (`v`, `pdf-v`). Each remote is queried once. Nothing is fetched or written.

Columns:
  installed  the installed commit
  wanted     the commit that `csk upgrade` would install
  newest     the newest tag, if it is newer than the declared one; use `csk add NAME --tag TAG` to switch to it

Reads:  config.json, Skillfile.json, the repositories under skills_root, the branches and tags of their remotes
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("success; with --check, no skill is outdated"),
        ExitCode::Failed.when("a project or a remote cannot be read (the others are listed); with --check, a skill is outdated"),
        ExitCode::Usage.usual(),
    ],
    examples: &[
        "csk outdated",
        "csk outdated --all --check",
        "csk outdated demo-app --offline --json",
    ],
};

/// List skills that have newer versions
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct OutdatedArgs {
    #[command(flatten)]
    selection: Selection,
    /// Also list up-to-date skills
    #[arg(long)]
    current: bool,
    /// Fail if a skill is outdated
    #[arg(long)]
    check: bool,
    /// Do not query remotes; use only the local clones
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    offline: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn outdated(context: &mut Context, args: &OutdatedArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let selected = select(context, &config, &args.selection)?;
    let environment = context.environment(&config);
    let progress = context.progress();
    let found = find_outdated(&environment, &selected.targets, network(args.offline), &progress);
    drop(progress);
    let (mut failed, mut is_outdated) = (selected.failed, false);
    let unreadable = |one: &UnreadableProject| OutdatedProjectJson {
        alias: one.alias.clone(),
        path: one.root.to_string(),
        skills: Vec::new(),
        error: Some(one.message()),
    };
    let mut projects: Vec<_> = selected.unreadable.iter().map(unreadable).collect();
    for (target, found) in selected.targets.iter().zip(found) {
        let (alias, path) = (target.alias.clone(), target.root.to_string());
        let (standings, error) = match found {
            Ok(standings) => (standings, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        failed |= error.is_some() || standings.iter().any(|standing| standing.error.is_some());
        is_outdated |= standings.iter().any(SkillVersions::is_outdated);
        if !args.json {
            show(context, &alias, &standings, args, error.as_deref())?;
        }
        let skills = standings.iter().map(as_json).collect();
        projects.push(OutdatedProjectJson { alias, path, skills, error });
    }
    if args.json {
        context.ui.json(&OutdatedJson { version: VERSION, outdated: is_outdated, projects })?;
    } else if !is_outdated && !failed {
        context.ui.note("everything is up to date\n")?;
    }
    Ok(ExitCode::failed_if(failed || (args.check && is_outdated)))
}

fn show(
    context: &mut Context,
    alias: &str,
    standings: &[SkillVersions],
    args: &OutdatedArgs,
    error: Option<&str>,
) -> anyhow::Result<()> {
    let alias = safe_line(alias).into_owned();
    if let Some(error) = error {
        context.ui.error(&format!("{alias}: {}\n", safe_line(error)))?;
    }
    let short = |commit: Option<&str>| commit.unwrap_or("-").chars().take(7).collect::<String>();
    let shown: Vec<&SkillVersions> =
        standings.iter().filter(|one| args.current || one.is_outdated()).collect();
    if !shown.is_empty() {
        let head = ["skill", "declared", "installed", "wanted", "newest"];
        let row = |one: &&SkillVersions| {
            vec![
                one.name.to_string(),
                format!("{} {}", one.reference.kind.as_str(), one.reference.name),
                short(one.installed.as_deref()),
                short(one.wanted()),
                one.newest.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        };
        let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
        let table = headed_table(&head, &rows, context.ui.width);
        context.ui.out(&format!("Project {alias}\n{table}"))?;
    }
    for one in standings {
        if let Some(error) = &one.error {
            context.ui.error(&format!("{alias}: {}: {}\n", one.name, safe_line(error)))?;
        }
    }
    Ok(())
}

fn as_json(one: &SkillVersions) -> SkillVersionsJson {
    SkillVersionsJson {
        name: one.name.to_string(),
        reference: format!("{} {}", one.reference.kind.as_str(), one.reference.name),
        installed: one.installed.clone(),
        wanted: one.wanted().map(str::to_owned),
        newest: one.newest.clone(),
        outdated: one.is_outdated(),
        error: one.error.clone(),
    }
}
