//! Adds skills from sources: finds, selects and examines them, asks if needed, then declares, locks and installs.

use std::collections::BTreeSet;

use csk_core::install::{Environment, Mode};
use csk_core::operations::examine;
use csk_core::source::OfferedSkill;
use csk_core::{Config, Declaration, LOCKFILE, SKILLFILE, set_skill};
use skill::Identifier;
use skill_state::audit::Clearance;
use term::{Failure, counted};

use super::AddFlags;
use super::found::{Fetching, FoundSkills, skills_of};
use super::report::{print, print_json};
use super::select::select;
use super::show::{ExaminedSkill, facts_about, overview, reason};
use crate::commands::install::network;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::project_edit::{EditOptions, Place, ProjectEdit, Refused};
use crate::prompt::{can_ask, confirm};

/// The number of skills that are shown in detail; more than that are shown as a table.
const MAX_IN_DETAIL: usize = 3;

/// A source and the skills of it to add.
pub(super) type Selected = (FoundSkills, Vec<ExaminedSkill>);

pub(super) fn add(
    context: &mut Context,
    config: &Config,
    place: Place,
    flags: &AddFlags,
) -> anyhow::Result<ExitCode> {
    for (is_set, name) in [(context.is_frozen, "CSK_FROZEN"), (context.is_locked, "CSK_LOCKED")] {
        if is_set {
            return Err(Failure::usage(format!("{name} is set, and `csk add` changes {LOCKFILE}"))
                .with_hint(format!("unset {name}"))
                .into());
        }
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
    let (sources, skills) = flags.sources_and_skills()?;
    for text in &sources {
        let found = skills_of(context, config, text, &wanted)?;
        let selected = select(context, &found, flags, &skills)?;
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
            if let Some(existing) = existing.filter(|_| is_other) {
                let from = match &existing.path {
                    Some(path) => format!("{path} in {}", existing.source),
                    None => existing.source.to_string(),
                };
                let (old, global) = (&existing.name, edit.place.flag());
                return Err(Failure::usage(format!(
                    "skill `{old}` is already declared, from {from}"
                ))
                .with_hint(format!("remove it first with `csk remove {old}{global}`"))
                .into());
            }
            let mut others = changed.iter();
            if others.any(|other: &Identifier| other.as_str().eq_ignore_ascii_case(name.as_str())) {
                return Err(Failure::usage(format!("two of the skills to add are named `{name}`"))
                    .with_hint("add only one of them, with --skill FOLDER")
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
    let pairs =
        || all.iter().flat_map(|(found, skills)| skills.iter().map(move |one| (found, one)));
    let refused: Vec<_> = pairs()
        .filter(|(_, one)| matches!(one.examined.clearance, Clearance::Refused { .. }))
        .collect();
    if let Some((found, first)) = refused.first() {
        let names: Vec<&str> = refused.iter().map(|(_, one)| one.skill.name.as_str()).collect();
        let see = format!("run `csk audit {}` to see the findings", audit_target(found, first));
        let hint = match flags.all {
            true => format!("{see}; to add the others, use --all --except {}", names.join(" ")),
            false => see,
        };
        return Err(Refused::new(&first.skill.name, &short_reason(first), Some(hint)).into());
    }
    let review: Vec<_> =
        pairs().filter(|(_, one)| matches!(one.examined.clearance, Clearance::Review(_))).collect();
    let Some((found, first)) = review.first() else { return Ok(()) };
    if flags.yes || flags.dry_run {
        return Ok(());
    }
    let names: Vec<&str> = review.iter().map(|(_, one)| one.skill.name.as_str()).collect();
    if can_ask() && !flags.json {
        let what = format!("{} needs review: {}.", counted(names.len(), "skill"), names.join(", "));
        if confirm(&mut context.ui, &format!("{what} Add anyway?"))? {
            return Ok(());
        }
        return Err(Refused::declined().into());
    }
    let hint = format!(
        "run `csk audit {}` to see the findings; to add {} anyway, use --yes",
        audit_target(found, first),
        if names.len() == 1 { "it" } else { "them" },
    );
    Err(Refused::new(&first.skill.name, &short_reason(first), Some(hint)).into())
}

/// Returns why a skill is not added, on one short line: the findings were shown before.
fn short_reason(one: &ExaminedSkill) -> String {
    let reason = reason(&one.examined.clearance).unwrap_or_default();
    let verdict = one.examined.audit.report.verdict;
    match reason.starts_with("audit verdict") {
        true => format!("audit verdict {verdict}; nothing was changed"),
        false => reason.to_owned(),
    }
}

/// Returns the source of one skill, for `csk audit`.
fn audit_target(found: &FoundSkills, one: &ExaminedSkill) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let path = one.skill.path.as_ref().filter(|_| found.text.chars().all(is_plain));
    match path.filter(|path| !found.text.ends_with(path.as_str())) {
        Some(path) => format!("{}/{path}", found.text.trim_end_matches('/')),
        None => found.text.clone(),
    }
}
