//! What must hold before anything is written: each skill's content passes one gate, each project's plan another.
//!
//! What has passed is [`Gated`], and only this module makes one: `plan` takes gated contents, `apply` a gated plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use skill::Identifier;

use super::locking::wrong_bundle;
use super::plan::{Facts, Need, Standing};
use super::surroundings::{OpenEntries, Surroundings};
use super::{ContextState, Environment, Ignore, Plan, Prepared, ProjectError, SkillError};
use crate::Declaration;
use crate::operations::audit::{Auditor, Ruling};

/// A value that has passed its gate, with what the gate warns of.
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

    /// Returns what the gate warns of.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns a value that no gate has seen.
    #[cfg(test)]
    pub(super) fn untested(value: T) -> Self {
        Self { value, warnings: Vec::new() }
    }
}

/// Lets the content of a skill pass, or says why not: it must have the digest that is locked, and no audit may stand against it.
/// Without an auditor nothing is decided about audits: such contents are for `status`, whose plans pass no project's gate.
pub(super) fn gate_content(
    environment: &Environment,
    auditor: Option<&Auditor>,
    facts: &Facts<'_>,
    standing: &Standing<'_>,
    content: &Arc<Prepared>,
) -> Result<Gated<Arc<Prepared>>, SkillError> {
    let locked = standing.is_locked.then_some(standing.skill);
    if let Some(error) = locked.and_then(|skill| wrong_bundle(facts.target, skill, content.bundle))
    {
        return Err(error);
    }
    // Command files that are made again are those of an install that has passed.
    let auditor = auditor.filter(|_| matches!(standing.need, Need::Install));
    let warnings = match (auditor, &content.audit) {
        (None, _) => Vec::new(),
        (Some(auditor), None) if auditor.looks() => {
            let message = format!("the files of {} were not audited", standing.skill.name);
            return Err(SkillError::Write(message));
        }
        (Some(_), None) => Vec::new(),
        (Some(auditor), Some(report)) => {
            let sources = sources(environment, standing.skill);
            let installed = standing.found.and_then(|found| found.marker.bundle_sha256);
            match auditor.rule(report, &sources, installed) {
                Ruling::Go => Vec::new(),
                Ruling::Warn(reason) => vec![reason],
                Ruling::Refuse { reason, hint } => return Err(SkillError::Audit { reason, hint }),
            }
        }
    };
    Ok(Gated { value: Arc::clone(content), warnings })
}

/// Lets a plan pass, or says why nothing may be done in the project: two skills bring one command, the repository brings
/// commands, or git would not ignore what csk writes.
pub(super) fn gate_project(
    mut plan: Plan,
    Surroundings { tracked, shadowed }: Surroundings,
    open: OpenEntries,
    ignore: Ignore,
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
        match ignore {
            Ignore::Require => return Err(ProjectError::NotIgnored(open.entries)),
            Ignore::Fix => plan.ignore = open.entries,
        }
    }
    plan.warnings.extend(shadowed);
    Ok(Gated { value: plan, warnings: Vec::new() })
}

/// Returns why declared skills are revoked, by what is installed of them and where they come from.
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

/// Returns where a skill comes from, where that matters: as it is declared, where its repository is fetched from, and the repository itself.
fn sources(environment: &Environment, skill: &Declaration) -> Vec<String> {
    if !environment.auditor.asks_for_sources() {
        return Vec::new();
    }
    let path = environment.skills_root.join(skill.source.as_str());
    let own = crate::origin(&path).ok().flatten();
    skill.git.clone().into_iter().chain(own).chain([path.to_string()]).collect()
}
