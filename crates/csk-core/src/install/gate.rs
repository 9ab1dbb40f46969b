//! Checks that must pass before anything is written: one gate for each skill's content, one for each project's plan.
//!
//! Only this module can construct a [`Gated`] value: `plan` takes gated content, `apply` a gated plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use skill::Identifier;
use skill_fs::AbsPath;

use super::locking::wrong_bundle;
use super::plan::{Assessment, Facts, IgnoreFile, IgnoreRules, Need};
use super::project_checks::{CommandConflicts, UnignoredEntries};
use super::{ContextState, Environment, IgnorePolicy, Plan, Prepared, ProjectError, SkillError};
use crate::Declaration;
use crate::operations::audit::{Auditor, Ruling};

/// A value that has passed its gate, with the gate's warnings.
#[derive(Debug, Clone)]
pub struct Gated<T> {
    value: T,
    warnings: Vec<String>,
}

impl<T> Gated<T> {
    /// Returns the value.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// Returns the gate's warnings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Wraps a value without any checks.
    #[cfg(test)]
    pub(super) fn unchecked(value: T) -> Self {
        Self { value, warnings: Vec::new() }
    }
}

/// Checks a skill's content: it must match the pinned digest, and the audit must not refuse it. Without an auditor
/// nothing is audited; such content is for `status`, whose plans are never applied.
pub(super) fn gate_content(
    environment: &Environment,
    auditor: Option<&Auditor>,
    facts: &Facts<'_>,
    assessment: &Assessment<'_>,
    content: &Arc<Prepared>,
) -> Result<Gated<Arc<Prepared>>, SkillError> {
    let locked = assessment.is_locked.then_some(assessment.skill);
    if let Some(error) = locked.and_then(|skill| wrong_bundle(facts.target, skill, content.bundle))
    {
        return Err(error);
    }
    // Restored command files belong to an install that has already passed.
    let auditor = auditor.filter(|_| matches!(assessment.need, Need::Install));
    let warnings = match (auditor, &content.audit) {
        (None, _) => Vec::new(),
        (Some(auditor), None) if auditor.is_active() => {
            let message = format!("the files of `{}` were not audited", assessment.skill.name);
            return Err(SkillError::Write(message));
        }
        (Some(_), None) => Vec::new(),
        (Some(auditor), Some(report)) => {
            let sources = sources(environment, assessment.skill);
            let installed = assessment.found.and_then(|found| found.marker.bundle_sha256);
            match auditor.decide(report, &sources, installed) {
                Ruling::Allow => Vec::new(),
                Ruling::Warn(reason) => vec![reason],
                Ruling::Refuse { reason, hint } => return Err(SkillError::Audit { reason, hint }),
            }
        }
    };
    Ok(Gated { value: Arc::clone(content), warnings })
}

/// Checks a plan. It is refused if two skills provide the same command, if git tracks files in the command folder, or
/// if git would not ignore what csk writes. Folders of agents that only this machine has are ignored privately.
pub(super) fn gate_project(
    mut plan: Plan,
    CommandConflicts { tracked, shadowed }: CommandConflicts,
    open: UnignoredEntries,
    ignore: IgnorePolicy,
) -> Result<Gated<Plan>, ProjectError> {
    if !plan.collisions.is_empty() {
        return Err(ProjectError::Collision(plan.collisions));
    }
    if let Some(path) = tracked {
        return Err(ProjectError::Tracked(path));
    }
    if !open.entries.is_empty() {
        if let Some(rule) = open.rule {
            return Err(ProjectError::Unignored { entries: open.entries, rule });
        }
        let file = match ignore {
            IgnorePolicy::Fix => IgnoreFile::Shared,
            IgnorePolicy::Require if open.is_private => IgnoreFile::Private,
            IgnorePolicy::Require => return Err(ProjectError::NotIgnored(open.entries)),
        };
        plan.ignore = IgnoreRules { file, entries: open.entries };
    }
    plan.warnings.extend(shadowed);
    Ok(Gated { value: plan, warnings: Vec::new() })
}

/// Returns why declared skills are revoked, by their installed content and their sources.
pub(super) fn revoked(
    environment: &Environment,
    facts: &Facts<'_>,
) -> BTreeMap<Identifier, String> {
    let auditor: &Auditor = &environment.auditor;
    let reason = |skill: &Declaration| {
        let bundle = match facts.observed.contexts.get(&skill.name) {
            Some(ContextState::Installed { marker, .. }) => marker.bundle_sha256,
            _ => None,
        };
        let bundle = bundle.map(|bundle| bundle.to_string()).unwrap_or_default();
        let reason = auditor.revoked(&bundle, &sources(environment, skill))?;
        Some((skill.name.clone(), reason.to_owned()))
    };
    facts.target.skills.iter().filter_map(reason).collect()
}

/// How many clones of clones on this machine are followed.
const MAX_CLONES: usize = 8;

/// Returns the sources of a skill if any revocation depends on them: the declared URL, the repository's path, its origin,
/// and the origin of that, if it is a repository on this machine.
pub(crate) fn sources(environment: &Environment, skill: &Declaration) -> Vec<String> {
    if !environment.auditor.needs_sources() {
        return Vec::new();
    }
    let path = environment.skills_root.join(skill.source.as_str());
    let mut sources: Vec<String> = skill.git.iter().cloned().chain([path.to_string()]).collect();
    let mut next = Some(path);
    for _ in 0..MAX_CLONES {
        let Some(origin) = next.and_then(|path| crate::origin(&path).ok().flatten()) else { break };
        next = skill_state::local_path(&origin).and_then(|path| AbsPath::new(path).ok());
        sources.push(origin);
    }
    sources
}
