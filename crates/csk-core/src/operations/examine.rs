//! Examines a skill before it is added: what it provides and needs, what it can do, and whether the audit allows it.

use rayon::prelude::*;
use skill_audit::BundleReport;
use skill_state::audit::Clearance;

use super::audit::Auditor;
use super::inspect::{Inspection, inspect};
use crate::install::gate::sources;
use crate::install::{Cache, CacheMode, Environment, Network, SkillError};
use crate::{Declaration, File, Repository, Silent};

/// The result of examining a skill.
#[derive(Debug)]
pub struct Examination {
    /// What it provides and needs.
    pub inspection: Inspection,
    /// The audit report.
    pub audit: BundleReport,
    /// Whether the audit allows it.
    pub clearance: Clearance,
    /// The number of files that `openskills run` may be able to run.
    pub scripts: usize,
}

/// The folders of scripts and modules.
const SCRIPTS: [&str; 2] = ["scripts", "wasm"];

/// Examines declared skills whose repositories are cloned, in parallel and in order.
pub fn examine(
    environment: &Environment,
    skills: &[Declaration],
    auditor: &Auditor,
) -> Vec<Result<Examination, SkillError>> {
    skills.par_iter().map(|skill| examine_one(environment, skill, auditor)).collect()
}

fn examine_one(
    environment: &Environment,
    skill: &Declaration,
    auditor: &Auditor,
) -> Result<Examination, SkillError> {
    let inspection = inspect(environment, skill, Network::Refused, &Silent)?;
    let repository = Repository::open(&environment.skills_root.join(skill.source.as_str()))?;
    let tree = repository.objects().tree(&inspection.commit, skill.path.as_ref())?;
    let cache = Cache::new(&environment.home, CacheMode::ReadOnly);
    let snapshot = cache.snapshot(&skill.source, repository.objects(), &tree)?;
    let audit = auditor.audit(skill.name.as_str(), &snapshot, snapshot.bundle_digest()?)?;
    let sources = sources(environment, skill);
    let clearance = auditor.clearance(&audit, &sources);
    let is_script = |file: &&File| {
        let path = file.path.as_str();
        let is_in_folder = file.path.parts().next().is_some_and(|part| SCRIPTS.contains(&part));
        is_in_folder && !path.ends_with("__init__.py")
    };
    let scripts = snapshot.files().iter().filter(is_script).count();
    Ok(Examination { inspection, audit, clearance, scripts })
}
