//! Skills that are no longer declared.

use std::collections::BTreeSet;

use skill::Identifier;

use super::adapters::{AdapterChange, AgentEntries};
use super::assessment::is_edited;
use super::{Action, Facts, Installed, Label, Remove, SkillPlan};
use crate::install::{ContextState, SkillError};

/// Returns the plan for every skill that csk installed and that is no longer declared.
pub(super) fn removals(facts: &Facts<'_>) -> Vec<SkillPlan> {
    let (target, observed) = (facts.target, facts.observed);
    let declared: BTreeSet<&Identifier> = target.skills.iter().map(|skill| &skill.name).collect();
    let orphans = observed.adapters.values().flat_map(|adapter| &adapter.ledger.entries);
    let known = observed.ledger.entries.iter().chain(orphans);
    let gone: BTreeSet<&Identifier> = known.filter(|name| !declared.contains(name)).collect();
    gone.into_iter().map(|name| removal(name, facts)).collect()
}

fn removal(name: &Identifier, facts: &Facts<'_>) -> SkillPlan {
    let (target, observed) = (facts.target, facts.observed);
    let state = observed.contexts.get(name).unwrap_or(&ContextState::Missing);
    let mut plan = SkillPlan {
        name: name.clone(),
        label: Label::Removed,
        commit: None,
        installed: None,
        action: Action::Current,
        commands: Vec::new(),
        after: BTreeSet::new(),
        warnings: Vec::new(),
    };
    let mut content = None;
    let keeps_edits = match state {
        ContextState::Installed { marker, content: found, .. } => {
            let (commit, files) = (marker.commit.clone(), marker.files.clone());
            plan.installed = Some(Installed { commit, files });
            content = Some(found);
            is_edited(marker, found)
        }
        ContextState::Newer(reason) => {
            // Only the csk version that created it can clean it up.
            plan.action = Action::Refused(SkillError::Marker(reason.clone()));
            plan.label = Label::Error;
            return plan;
        }
        // Anything that may contain the user's work is backed up.
        ContextState::Broken(_) => true,
        ContextState::Missing | ContextState::Foreign => false,
    };
    // If the ledger was lost, the skill's marker shows who owns the folder.
    let text =
        observed.ledger.entries.contains(name) || matches!(state, ContextState::Installed { .. });
    let entries = AgentEntries { name, content, lacks_receipt: false, stays: false };
    let mut adapters = Vec::new();
    for (folder, adapter) in &observed.adapters {
        if entries.is_ours(target, folder, adapter) {
            adapters.push(AdapterChange::remove(folder));
        } else if text && entries.links_to(target, folder, adapter) {
            let what = "csk has no record of creating it; remove it if you do not need it";
            plan.warnings.push(format!("keeping link `{folder}/{name}`: {what}"));
        }
    }
    plan.action = Action::Remove(Remove { text, keeps_edits, adapters });
    plan
}
