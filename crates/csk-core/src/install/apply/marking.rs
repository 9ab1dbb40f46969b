//! The markers of installed skills, and their receipts.

use std::collections::{BTreeMap, BTreeSet};

use skill::{Digest, Identifier, Marker};
use skill_fs::FsError;

use crate::Declaration;
use crate::content::context::CONTEXT_RULES;
use crate::install::plan::{Action, SkillPlan};
use crate::install::{ContextState, Observed, Plan, Prepared, Target};

/// Returns the marker of a skill installed into `target` at `commit`.
pub(crate) fn marker_of(
    target: &Target,
    declaration: &Declaration,
    commit: &str,
    prepared: &Prepared,
    now: &str,
) -> Marker {
    let manifest = prepared.manifest.as_ref();
    let runtime = prepared.runtime.as_ref();
    let commands = manifest.iter().flat_map(|manifest| &manifest.commands);
    let roots = manifest.iter().flat_map(|manifest| &manifest.runtime_roots);
    Marker {
        name: declaration.name.clone(),
        source: declaration.source.clone(),
        git: declaration.git.clone(),
        part: prepared.part.clone(),
        ref_kind: declaration.reference.kind,
        reference: declaration.reference.name.clone(),
        commit: commit.to_owned(),
        content_sha256: prepared.content,
        context_sha256: Some(prepared.context),
        bundle_sha256: Some(prepared.bundle),
        context_rules: Some(CONTEXT_RULES),
        locale: target.locale.clone(),
        agents: target.agent_ids(),
        commands: commands.map(|command| command.name.to_string()).collect(),
        command_paths: runtime.map(|runtime| runtime.commands.clone()).unwrap_or_default(),
        runtime_sha256: prepared.list.as_ref().map(|list| list.digest),
        runtime_roots: roots.map(ToString::to_string).collect(),
        skill_schema_version: manifest.map(|manifest| manifest.schema_version),
        capabilities: manifest.and_then(|manifest| manifest.capabilities.clone()),
        installed_at: now.to_owned(),
        files: prepared.files.iter().map(|file| file.path.to_string()).collect(),
    }
}

/// Returns the markers of all skills that are going to be installed.
pub(super) fn markers(
    target: &Target,
    plans: &[&SkillPlan],
    now: &str,
) -> BTreeMap<Identifier, Marker> {
    let declared: BTreeMap<&Identifier, &Declaration> =
        target.skills.iter().map(|skill| (&skill.name, skill)).collect();
    let marker = |plan: &&SkillPlan| {
        let Action::Install(install) = &plan.action else { return None };
        let (declaration, commit) = (declared.get(&plan.name)?, plan.commit.as_ref()?);
        let marker = marker_of(target, declaration, commit.as_str(), &install.content, now);
        Some((plan.name.clone(), marker))
    };
    plans.iter().filter_map(marker).collect()
}

/// Drops the receipts of skills that are no longer installed.
pub(super) fn prune_receipts(
    observed: &mut Observed,
    markers: &BTreeMap<Identifier, Marker>,
    failed: &BTreeSet<Identifier>,
    plan: &Plan,
) -> Result<(), FsError> {
    let mut current = BTreeMap::new();
    for (name, state) in &observed.contexts {
        if let ContextState::Installed { marker_digest, is_receipted: true, .. } = state {
            current.insert(name.clone(), *marker_digest);
        }
    }
    for (name, marker) in markers.iter().filter(|(name, _)| !failed.contains(*name)) {
        current.insert(name.clone(), Digest::of(marker.to_json().as_bytes()));
    }
    for gone in plan.removals.iter().filter(|plan| plan.removes_text()) {
        if !failed.contains(&gone.name) {
            current.remove(&gone.name);
        }
    }
    observed.receipts.settle(&current);
    observed.receipts.save()
}
