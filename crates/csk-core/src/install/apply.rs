//! Applies a plan, each skill separately. New content is staged first; then the skill's agent entries, commands and
//! text change together, or not at all.

mod change;
mod commands;
pub(crate) mod marking;
mod swaps;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use skill::{Digest, Identifier};
use skill_fs::{AbsPath, FsError, write_file};

use self::change::{SkillChange, perform};
use self::commands::update_command_ledger;
use self::marking::{markers, prune_receipts};
use super::fingerprint_cache::FolderRecord;
use super::gate::Gated;
use super::journal::{Journal, is_created_by_csk, write_ledger};
use super::plan::{Action, SkillPlan};
use super::{BIN, Observed, Plan, SKILLS, SkillError, Target};

/// The result for one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The skill.
    pub name: Identifier,
    /// Where the user's edits were backed up, if there were any.
    pub backups: Vec<String>,
    /// Why it failed; the previous version is still in place.
    pub error: Option<SkillError>,
    /// The folders that were written or removed, with the records to remember.
    seen: Vec<(String, Option<FolderRecord>)>,
}

/// What applying a plan needs.
#[derive(Debug, Clone, Copy)]
pub struct ApplyContext<'a> {
    /// csk's own folder for the project's commands, if it has one.
    pub commands: Option<&'a AbsPath>,
    /// The timestamp for markers.
    pub now: &'a str,
}

/// Applies `plan` in `target`, each skill separately.
pub fn apply(
    target: &Target,
    plan: &Gated<Plan>,
    observed: &mut Observed,
    context: ApplyContext<'_>,
) -> Result<Vec<Applied>, FsError> {
    let plan = plan.get();
    if plan.is_empty() {
        return Ok(Vec::new());
    }
    let skills = plan.removals.iter().chain(&plan.skills);
    let skills: Vec<&SkillPlan> = skills.filter(|skill| !skill.is_empty()).collect();
    new_journal(&skills, observed).begin(target)?;
    let markers = markers(target, &skills, context.now);
    for skill in &skills {
        let Some(marker) = markers.get(&skill.name) else { continue };
        let digest = Digest::of(marker.to_json().as_bytes());
        observed.receipts.add(&skill.name, digest, marker.runtime_id());
        let own = skill.content().and_then(|content| content.origin.as_deref());
        for origin in marker.git.as_deref().into_iter().chain(own) {
            observed.receipts.add_origin(&skill.name, origin);
        }
    }
    observed.receipts.save()?;
    let run = |group: &Vec<&SkillPlan>| {
        let changes = group.iter().map(|skill| {
            SkillChange::new(target, skill, markers.get(&skill.name).cloned(), context)
        });
        perform(changes.collect())
    };
    // Removals come first, so that new entries never collide with old ones.
    let goes = |skill: &&SkillPlan| matches!(skill.action, Action::Remove(_));
    let (removals, rest): (Vec<_>, Vec<_>) =
        groups(&skills).into_iter().partition(|group| group.iter().all(goes));
    let mut applied: Vec<Applied> = removals.par_iter().flat_map_iter(run).collect();
    applied.par_extend(rest.par_iter().flat_map_iter(run));
    let failed: BTreeSet<Identifier> =
        applied.iter().filter(|done| done.error.is_some()).map(|done| done.name.clone()).collect();
    let known: BTreeSet<&Identifier> =
        applied.iter().filter(|done| done.error.is_none()).map(|done| &done.name).collect();
    update_command_ledger(target, plan, observed, &known)?;
    update_ledgers(target, plan, observed, &failed)?;
    prune_receipts(observed, &markers, &failed, plan)?;
    for file in &plan.env {
        write_file(&target.root.join(file.path), file.text.as_bytes())?;
    }
    for done in &mut applied {
        for (path, record) in done.seen.drain(..) {
            observed.seen.remember(path, record);
        }
    }
    Journal::end(target)?;
    Ok(applied)
}

/// Returns a journal of the entries that are about to be created and are not in a ledger yet.
fn new_journal(skills: &[&SkillPlan], observed: &Observed) -> Journal {
    let mut journal = Journal::default();
    for skill in skills {
        let made = skill.commands.iter().filter(|change| change.target.is_some());
        for command in made.map(|change| &change.command) {
            if !observed.bin.ledger.entries.contains(command) {
                journal.adds.entry(BIN.to_owned()).or_default().push(command.clone());
            }
        }
        let is_written = matches!(skill.action, Action::Install(_));
        if is_written && !observed.ledger.entries.contains(&skill.name) {
            journal.adds.entry(SKILLS.to_owned()).or_default().push(skill.name.clone());
        }
        for adapter in skill.adapters().iter().filter(|adapter| adapter.present) {
            let known = observed
                .adapters
                .get(&adapter.folder)
                .is_some_and(|known| known.ledger.entries.contains(&skill.name));
            if !known {
                journal.adds.entry(adapter.folder.clone()).or_default().push(skill.name.clone());
            }
        }
    }
    journal
}

/// Updates the ledgers to match what was done.
fn update_ledgers(
    target: &Target,
    plan: &Plan,
    observed: &Observed,
    failed: &BTreeSet<Identifier>,
) -> Result<(), FsError> {
    let mut ledgers: BTreeMap<&str, _> =
        BTreeMap::from([(SKILLS, observed.ledger.clone()), (BIN, observed.bin.ledger.clone())]);
    for (folder, adapter) in &observed.adapters {
        ledgers.insert(folder, adapter.ledger.clone());
    }
    for skill in plan.removals.iter().chain(&plan.skills) {
        let name = &skill.name;
        if failed.contains(name) {
            // Whatever a failed skill created still belongs to csk.
            for (folder, ledger) in ledgers.iter_mut().filter(|(folder, _)| **folder != BIN) {
                if is_created_by_csk(target, folder, name) {
                    ledger.entries.insert(name.clone());
                }
            }
            continue;
        }
        if let Some(ledger) = ledgers.get_mut(SKILLS) {
            match &skill.action {
                Action::Remove(remove) if remove.text => {
                    ledger.entries.remove(name);
                }
                Action::Install(_) => {
                    ledger.entries.insert(name.clone());
                }
                Action::Current | Action::Repair(_) | Action::Remove(_) | Action::Refused(_) => {}
            }
        }
        for adapter in skill.adapters() {
            let ledger = ledgers.entry(adapter.folder.as_str()).or_default();
            if adapter.present {
                ledger.entries.insert(name.clone());
            } else {
                ledger.entries.remove(name);
            }
        }
    }
    for (folder, ledger) in ledgers {
        write_ledger(&target.folder(folder), &ledger)?;
    }
    Ok(())
}

/// Groups skills that hand over commands to each other, which must change together. All others change separately.
fn groups<'a>(skills: &[&'a SkillPlan]) -> Vec<Vec<&'a SkillPlan>> {
    let taken: BTreeSet<&Identifier> = skills.iter().flat_map(|skill| &skill.after).collect();
    let (tied, alone): (Vec<&SkillPlan>, Vec<&SkillPlan>) =
        skills.iter().partition(|skill| !skill.after.is_empty() || taken.contains(&skill.name));
    let mut groups: Vec<Vec<&SkillPlan>> = Vec::new();
    for skill in tied {
        let is_tied = |group: &Vec<&SkillPlan>| {
            let ties = |other: &&SkillPlan| {
                skill.after.contains(&other.name) || other.after.contains(&skill.name)
            };
            group.iter().any(ties)
        };
        let (tied, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_tied);
        groups = apart;
        groups.push(tied.into_iter().flatten().chain([skill]).collect());
    }
    alone.into_iter().map(|skill| vec![skill]).chain(groups).collect()
}
