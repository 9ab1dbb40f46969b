//! Adds skills from sources: finds, selects and examines them, asks if needed, then declares, locks and installs.

use std::collections::BTreeSet;

use csk_core::install::{Environment, Mode, Outcome, ProjectReport};
use csk_core::operations::examine;
use csk_core::output::{SourceSkillsJson, VERSION};
use csk_core::source::OfferedSkill;
use csk_core::{Config, Declaration, LOCKFILE, SKILLFILE, set_skill};
use skill::Identifier;
use skill_state::audit::Clearance;
use term::{Failure, counted, safe_line};

use super::AddFlags;
use super::found::{Fetching, FoundSkills, find_skills};
use super::select::select;
use super::show::{ExaminedSkill, as_json, facts_about, overview, reason};
use crate::commands::install::network;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::project_edit::{EditOptions, EditReport, Place, ProjectEdit, Refused, agent_names};
use crate::prompt::{can_ask, confirm};

/// The number of skills that are shown in detail; more than that are shown as a table.
const MAX_IN_DETAIL: usize = 3;

/// A source and the skills of it to add.
type Selected = (FoundSkills, Vec<ExaminedSkill>);

pub(super) fn add(
    context: &mut Context,
    config: &Config,
    place: Place,
    flags: &AddFlags,
) -> anyhow::Result<ExitCode> {
    if context.is_frozen {
        return Err(Failure::usage(format!("CSK_FROZEN is set, and `csk add` changes {LOCKFILE}"))
            .with_hint("unset CSK_FROZEN")
            .into());
    }
    let mut edit = ProjectEdit::begin(context, config, place)?;
    // A malformed Skillfile is reported before anything is cloned.
    edit.file(config)?;
    let wanted = Fetching {
        reference: flags.declared.reference(),
        folder: flags.declared.folder()?,
        network: network(flags.offline),
        is_only_read: false,
    };
    let mut all: Vec<Selected> = Vec::new();
    for text in &flags.sources {
        let found = find_skills(context, config, text, &wanted)?;
        let selected = select(context, &found, flags)?;
        let examined = examine_all(context, config, &found, selected)?;
        all.push((found, examined));
    }
    let changed = declare(config, &mut edit, &all)?;
    if !flags.json {
        for (found, skills) in &all {
            let text = match skills.len() {
                0..=MAX_IN_DETAIL => {
                    skills.iter().map(|one| facts_about(found, one)).collect::<String>()
                }
                _ => overview(skills, context.ui.width),
            };
            context.ui.done(&text)?;
        }
    }
    decide(context, flags, &all)?;
    let mode = if flags.dry_run { Mode::DryRun } else { Mode::Apply };
    let options = EditOptions { mode, network: wanted.network, is_installed: !flags.no_install };
    let report = edit.apply(context, config, &changed, options)?;
    if flags.json {
        print_json(context, flags, &edit, &all, &report)?;
    } else {
        print(context, flags, &edit, &all, &report)?;
    }
    Ok(ExitCode::Done)
}

/// Reads and audits skills.
pub(crate) fn examine_all(
    context: &mut Context,
    config: &Config,
    found: &FoundSkills,
    selected: Vec<OfferedSkill>,
) -> anyhow::Result<Vec<ExaminedSkill>> {
    let auditor = context.auditor(config, None)?;
    let environment = Environment { auditor: auditor.clone(), ..found.environment.clone() };
    let declared = |skill: &OfferedSkill| found.declaration(&skill.name, skill.path.as_ref());
    let declarations: Vec<Declaration> = selected.iter().map(declared).collect();
    let examined = examine(&environment, &declarations, &auditor);
    let all = selected.into_iter().zip(declarations).zip(examined);
    all.map(|((skill, declaration), examined)| {
        let examined =
            examined.map_err(|error| anyhow::Error::from(error).context(skill.name.to_string()))?;
        Ok(ExaminedSkill { skill, declaration, examined })
    })
    .collect()
}

/// Declares the skills in the edit. Returns their names.
fn declare(
    config: &Config,
    edit: &mut ProjectEdit,
    all: &[Selected],
) -> anyhow::Result<BTreeSet<Identifier>> {
    let declared = edit.file(config)?.skills;
    let mut changed = BTreeSet::new();
    for (_, skills) in all {
        for ExaminedSkill { declaration, .. } in skills {
            let name = &declaration.name;
            let same_name =
                |other: &&Declaration| other.name.as_str().eq_ignore_ascii_case(name.as_str());
            let existing = declared.iter().find(same_name);
            let is_other = existing.is_some_and(|existing| {
                existing.name != *name
                    || existing.source != declaration.source
                    || existing.path != declaration.path
            });
            if is_other || changed.contains(name) {
                let other = existing.map_or_else(
                    || "another source".to_owned(),
                    |existing| match &existing.path {
                        Some(path) => format!("{path} in {}", existing.source),
                        None => existing.source.to_string(),
                    },
                );
                return Err(Failure::usage(format!(
                    "skill `{name}` is already declared, from {other}"
                ))
                .with_hint(format!("remove it first with `csk remove {name}`"))
                .into());
            }
            edit.text = set_skill(&edit.text, declaration).ok_or_else(|| {
                Failure::usage(format!("cannot edit `{}`", edit.root.join(SKILLFILE)))
            })?;
            edit.unlock(name);
            changed.insert(name.clone());
        }
    }
    // Rejects what the parser does not accept, such as names that differ only in case.
    edit.file(config)?;
    Ok(changed)
}

/// Stops at skills that the audit refuses; asks about those that need review.
fn decide(context: &mut Context, flags: &AddFlags, all: &[Selected]) -> anyhow::Result<()> {
    let skills = || all.iter().flat_map(|(_, skills)| skills);
    let sources = all.iter().map(|(found, _)| found.text.as_str()).collect::<Vec<_>>().join(" ");
    for one in skills() {
        if let Clearance::Refused { reason, hint } = &one.examined.clearance {
            let hint = match skills().count() {
                1 => hint.clone(),
                _ => format!(
                    "nothing was changed; to add other skills, name them with --skill; `csk audit {sources}` shows all \
                     findings"
                ),
            };
            return Err(Refused::new(&one.skill.name, reason, Some(hint)).into());
        }
    }
    let review: Vec<&ExaminedSkill> =
        skills().filter(|one| matches!(one.examined.clearance, Clearance::Review(_))).collect();
    let Some(first) = review.first() else { return Ok(()) };
    if flags.yes || flags.dry_run {
        return Ok(());
    }
    let names: Vec<&str> = review.iter().map(|one| one.skill.name.as_str()).collect();
    if can_ask() && !flags.json {
        let what = format!("{} needs review: {}.", counted(names.len(), "skill"), names.join(", "));
        if confirm(&mut context.ui, &format!("{what} Add anyway?"))? {
            return Ok(());
        }
        return Err(Failure::usage("not confirmed; nothing was changed").into());
    }
    let reason = reason(&first.examined.clearance).unwrap_or_default();
    let hint = format!(
        "run `csk audit {sources}` to see the findings; to add {} anyway, use --yes",
        if names.len() == 1 { "it" } else { "them" },
    );
    Err(Refused::new(&first.skill.name, reason, Some(hint)).into())
}

fn print(
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
    for (found, skills) in all {
        let version = found.version_text();
        for one in skills {
            let name = &one.skill.name;
            let result = match (flags.dry_run, flags.no_install) {
                (true, true) => "would be declared (dry-run)",
                (true, false) => "would be installed (dry-run)",
                (false, true) => "declared",
                (false, false) => "installed",
            };
            let agents = if flags.no_install { "" } else { &agents };
            context.ui.done(&format!("{name} {version} {result}{agents}\n"))?;
        }
    }
    let others = installed.filter(|skill| !own.contains(&skill.name) && skill.has_failed());
    for skill in others {
        if let Outcome::Failed(error) = &skill.outcome {
            let error = error.to_string();
            context.ui.error(&format!("warning: {}: {}\n", skill.name, safe_line(&error)))?;
        }
    }
    if !is_portable(all) {
        context.ui.note(
            "note: the repository has no URL that works on other machines, so clones of this project cannot install the skill\n",
        )?;
    }
    if flags.dry_run {
        return Ok(());
    }
    next_steps(context, edit, all, report)
}

/// Says what to do next.
fn next_steps(
    context: &mut Context,
    edit: &ProjectEdit,
    all: &[Selected],
    report: &EditReport,
) -> anyhow::Result<()> {
    let written = written(edit, report);
    let next = match edit.place {
        Place::Project(_) => {
            let (last, first) =
                written.split_last().map_or(("", &[][..]), |(last, first)| (last, first));
            let files = match first {
                [] => last.to_owned(),
                first => format!("{} and {last}", first.join(", ")),
            };
            let clone = match is_portable(all) {
                true => "; in a clone, `csk install` installs the same",
                false => "",
            };
            format!("next: commit {files}{clone}\n")
        }
        Place::Global => {
            "next: start your agent; the skills are available in every project\n".to_owned()
        }
    };
    context.ui.note(&next)?;
    let mut skills = all.iter().flat_map(|(_, skills)| skills);
    if let Some(one) = skills.find(|one| one.examined.has_scripts) {
        let command = one.examined.inspection.script_commands().next();
        let command = command.map_or_else(String::new, |command| format!(" {command}"));
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

fn print_json(
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
    let written = if flags.dry_run { Vec::new() } else { written(edit, report) };
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
