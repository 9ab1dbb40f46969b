//! Reports what was added, and what to do next.

use std::collections::BTreeSet;

use csk_core::install::{Outcome, ProjectReport};
use csk_core::output::{SourceSkillsJson, VERSION};
use csk_core::{LOCKFILE, SKILLFILE, work_tree};
use skill::Identifier;
use term::safe_line;

use super::AddFlags;
use super::install::Selected;
use super::show::as_json;
use crate::commands::install::print_other;
use crate::context::Context;
use crate::project_edit::{EditReport, Place, ProjectEdit, agent_names};

/// Prints what was added, and what to do next.
pub(super) fn print(
    context: &mut Context,
    flags: &AddFlags,
    edit: &ProjectEdit,
    all: &[Selected],
    report: &EditReport,
) -> anyhow::Result<()> {
    let agents = agent_names(&report.target);
    let agents =
        agents.map_or_else(|| " in .agents/skills".to_owned(), |agents| format!(" for {agents}"));
    let installed = report.installed.iter().flat_map(|report| &report.skills);
    let own: BTreeSet<&Identifier> =
        all.iter().flat_map(|(_, skills)| skills).map(|one| &one.skill.name).collect();
    for skill in installed.clone().filter(|skill| own.contains(&skill.name)) {
        for warning in &skill.warnings {
            context.ui.error(&format!("warning: {}: {}\n", skill.name, safe_line(warning)))?;
        }
    }
    if let Place::Project(root) = &edit.place
        && *root != context.cwd
    {
        context.ui.note(&format!("project: {}\n", safe_line(root.as_str())))?;
    }
    let is_unchanged = is_unchanged(edit, report);
    for (found, skills) in all {
        let version = found.version_text();
        for one in skills {
            let name = &one.skill.name;
            if is_unchanged {
                context.ui.done(&format!("{name} {version} is up to date\n"))?;
                continue;
            }
            let result = match (flags.dry_run, flags.no_install) {
                (true, true) => "would be declared (dry-run)",
                (true, false) => "would be installed (dry-run)",
                (false, true) => "declared",
                (false, false) => "installed",
            };
            let agents = if flags.no_install { "" } else { &agents };
            let old = edit.old_reference(name).filter(|old| *old != one.declaration.reference);
            let old = old.map_or_else(String::new, |old| {
                format!(", instead of {} {}", old.kind.as_str(), safe_line(&old.name))
            });
            context.ui.done(&format!("{name} {version} {result}{agents}{old}\n"))?;
        }
    }
    for skill in installed.filter(|skill| !own.contains(&skill.name)) {
        print_other(context, skill)?;
    }
    if !is_portable(all) {
        context.ui.note(
            "note: the repository has no URL that works on other machines, so clones of this project cannot install the skill\n",
        )?;
    }
    if flags.dry_run || is_unchanged {
        return Ok(());
    }
    next_steps(context, flags, edit, all, report)
}

/// Says what to do next.
fn next_steps(
    context: &mut Context,
    flags: &AddFlags,
    edit: &ProjectEdit,
    all: &[Selected],
    report: &EditReport,
) -> anyhow::Result<()> {
    let written = written(edit, report);
    let next = match (&edit.place, flags.no_install) {
        (Place::Project(root), false) if !work_tree(root)? => {
            "next: start your agent in this folder\n".to_owned()
        }
        (Place::Project(_), _) => {
            let (last, first) =
                written.split_last().map_or(("", &[][..]), |(last, first)| (last, first));
            let files = match first {
                [] => last.to_owned(),
                first => format!("{} and {last}", first.join(", ")),
            };
            let more = match flags.no_install {
                true => "run `csk install`; then ",
                false => "",
            };
            let clone = match is_portable(all) && edit.lock.is_some() {
                true => "; in a clone, `csk install` installs the same",
                false => "",
            };
            format!("next: {more}commit {files}{clone}\n")
        }
        (Place::Global, true) => "next: run `csk global install`\n".to_owned(),
        (Place::Global, false) => {
            "next: start your agent; the skills are available in every project\n".to_owned()
        }
    };
    context.ui.note(&next)?;
    let mut skills = all.iter().flat_map(|(_, skills)| skills);
    if let Some(one) = skills.find(|one| one.examined.scripts > 0) {
        let command = match one.examined.inspection.script_commands().next() {
            Some(command) => format!(" {command}"),
            None if one.examined.scripts > 1 => " SCRIPT".to_owned(),
            None => String::new(),
        };
        let name = &one.skill.name;
        context.ui.note(&format!(
            "      to run its scripts in a sandbox: openskills run {name}{command}\n"
        ))?;
    }
    let provides_commands = report.installed.as_ref().is_some_and(ProjectReport::makes_commands);
    if provides_commands && !context.has_hook {
        context.ui.note("      to put its commands on PATH: csk shell-init --install\n")?;
    }
    Ok(())
}

/// Returns true if everything was declared, locked and installed before.
fn is_unchanged(edit: &ProjectEdit, report: &EditReport) -> bool {
    let is_current = |report: &ProjectReport| {
        report.skills.iter().all(|skill| matches!(skill.outcome, Outcome::UpToDate))
    };
    edit.old.as_deref() == Some(edit.text.as_str())
        && report.ignored.entries.is_empty()
        && report.installed.as_ref().is_some_and(is_current)
}

/// Returns true if other machines can clone every source.
fn is_portable(all: &[Selected]) -> bool {
    let is_remote = |url: &String| !url.starts_with('/');
    all.iter().all(|(found, _)| found.source.url.as_ref().is_some_and(is_remote))
}

/// Returns the files to commit.
fn written(edit: &ProjectEdit, report: &EditReport) -> Vec<&'static str> {
    let mut files = vec![SKILLFILE];
    if report.is_locked && edit.lock.is_some() {
        files.push(LOCKFILE);
    }
    if !report.ignored.entries.is_empty() {
        files.push(report.ignored.file.name());
    }
    files
}

/// Prints the same as JSON.
pub(super) fn print_json(
    context: &mut Context,
    flags: &AddFlags,
    edit: &ProjectEdit,
    all: &[Selected],
    report: &EditReport,
) -> anyhow::Result<()> {
    let outcome = |name: &Identifier| {
        let Some(installed) = &report.installed else { return "declared" };
        let own = installed.skills.iter().find(|skill| skill.name == *name);
        match own.map(|skill| &skill.outcome) {
            Some(Outcome::UpToDate) => "up-to-date",
            _ => "installed",
        }
    };
    let skills = all.iter().flat_map(|(_, skills)| skills);
    let is_unchanged = flags.dry_run || is_unchanged(edit, report);
    let written = if is_unchanged { Vec::new() } else { written(edit, report) };
    context.ui.json(&SourceSkillsJson {
        version: VERSION,
        dry_run: flags.dry_run,
        project: Some(edit.root.to_string()),
        skills: skills.map(|one| as_json(one, Some(outcome(&one.skill.name)))).collect(),
        agents: report.target.agent_ids(),
        written: written.into_iter().map(str::to_owned).collect(),
    })?;
    Ok(())
}
