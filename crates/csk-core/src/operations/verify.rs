//! Verifies byte for byte that the files on disk match the repositories, the markers and the lockfile.
//!
//! No remembered state is trusted: every file is read, and every skill is rebuilt from git's objects.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use skill::{Identifier, Marker};
use skill_state::Receipts;

use crate::content::context::CONTEXT_RULES;
use crate::install::plan::is_edited;
use crate::install::project_checks::{check_links, check_tracked};
use crate::install::{
    Cache, CacheMode, ContextState, Environment, Facts, FingerprintCache, Label, Observed,
    PlanInput, Prepared, ProjectError, ProjectMemory, ResolveRules, SkillContents, SkillPlan,
    Sources, Store, Target, marker_of, observe, plan, prepare, resolve,
};
use crate::{Commit, Declaration, Reference};

/// The result for one project.
#[derive(Debug)]
pub struct Verification {
    /// The differences, by skill; empty if there are none.
    pub skills: Vec<(Identifier, Vec<String>)>,
    /// The differences in the project itself.
    pub problems: Vec<String>,
    /// Notes that are not differences.
    pub notes: Vec<String>,
}

impl Verification {
    /// Returns true if nothing differs.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty() && self.skills.iter().all(|(_, problems)| problems.is_empty())
    }
}

/// Verifies every target without changing anything.
pub fn verify(
    environment: &Environment,
    targets: &[Target],
) -> Vec<Result<Verification, ProjectError>> {
    targets.par_iter().map(|target| project(environment, target)).collect()
}

fn project(environment: &Environment, target: &Target) -> Result<Verification, ProjectError> {
    check_links(target)?;
    check_tracked(target)?;
    let store = Store::without_cache(&environment.home);
    let receipts = Receipts::load(&environment.home, &target.root);
    let memory = ProjectMemory { seen: FingerprintCache::default(), receipts };
    let observed = observe(target, &environment.agents, &store, memory)
        .map_err(|error| ProjectError::Files(error.to_string()))?;
    let resolution =
        resolve(&environment.skills_root, std::slice::from_ref(target), &BTreeMap::new());
    let rules = ResolveRules::STATUS;
    let facts = Facts { target, resolution: &resolution, observed: &observed, rules };
    // Checks the commands of the installed version, even if another one is wanted.
    let contents = SkillContents::AsInstalled;
    let plan =
        plan(&PlanInput { facts, contents, revoked: &BTreeMap::new(), store: store.layout() });
    if !plan.collisions.is_empty() {
        return Err(ProjectError::Collision(plan.collisions));
    }
    let mut problems: Vec<String> =
        plan.env.iter().map(|file| format!("{} is missing or incorrect", file.path)).collect();
    problems.extend(plan.warnings.iter().cloned());
    let gone = plan.command_changes().filter(|change| change.target.is_none());
    let gone = gone.map(|change| format!("no skill provides the command `{}`", change.command));
    problems.extend(gone);
    problems.extend(
        plan.removals.iter().map(|skill| format!("`{}` is no longer declared", skill.name)),
    );
    let checker = Checker { environment, target, observed: &observed, store: &store };
    let check = |(skill, plan): (&Declaration, &SkillPlan)| {
        let mut problems = checker.skill(skill);
        if let Some(error) = plan.error() {
            problems.push(error.to_string());
        }
        match &plan.label {
            Label::ContentDrift(Some(what)) => problems.push(what.clone()),
            Label::UpdateAvailable => {
                problems.push("Skillfile.json declares a different version".to_owned());
            }
            Label::Missing
            | Label::ContentDrift(None)
            | Label::UpToDate
            | Label::Removed
            | Label::Error => {}
        }
        // The same difference may show up in more than one way.
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        (skill.name.clone(), problems)
    };
    let skills = target.skills.par_iter().zip(&plan.skills).map(check).collect();
    Ok(Verification { skills, problems, notes: plan.notes })
}

struct Checker<'a> {
    environment: &'a Environment,
    target: &'a Target,
    observed: &'a Observed,
    store: &'a Store,
}

impl Checker<'_> {
    fn skill(&self, skill: &Declaration) -> Vec<String> {
        match self.observed.contexts.get(&skill.name) {
            None | Some(ContextState::Missing) => vec!["not installed".to_owned()],
            Some(ContextState::Foreign) => vec!["not installed by csk".to_owned()],
            Some(ContextState::Newer(reason) | ContextState::Broken(reason)) => {
                vec![reason.clone()]
            }
            Some(ContextState::Installed { marker, content, .. })
                if marker.context_rules != Some(CONTEXT_RULES) =>
            {
                let mut problems =
                    vec!["installed by an older csk; run `csk install` to update it".to_owned()];
                if is_edited(marker, content) {
                    problems.push("installed files were modified".to_owned());
                }
                problems
            }
            Some(ContextState::Installed { marker, content, .. }) => {
                let mut problems = Vec::new();
                match self.rebuild(skill, marker) {
                    Ok(built) => {
                        self.compare(marker, &built, content, &mut problems);
                        self.marker(skill, marker, &built, &mut problems);
                    }
                    Err(error) => problems.push(error),
                }
                self.lock(skill, marker, &mut problems);
                problems
            }
        }
    }

    /// Rebuilds the skill at the commit in its marker, from git's objects alone.
    fn rebuild(&self, skill: &Declaration, marker: &Marker) -> Result<Prepared, String> {
        let commit = Commit::new(&marker.commit).ok_or_else(|| {
            format!("its install marker has an invalid commit ID: `{}`", marker.commit)
        })?;
        let sources = Sources {
            skills_root: &self.environment.skills_root,
            cache: &Cache::new(&self.environment.home, CacheMode::Disabled),
            path: None,
            except: &[],
            auditor: None,
            is_adopting: false,
        };
        let path = marker.part.as_ref().map(|part| part.path.clone());
        let declaration = Declaration { source: marker.source.clone(), path, ..skill.clone() };
        prepare(&sources, &declaration, &commit, marker.locale.as_deref())
            .map_err(|error| format!("cannot rebuild it from git: {error}"))
    }

    fn compare(
        &self,
        marker: &Marker,
        built: &Prepared,
        found: &skill_fs::Digests,
        problems: &mut Vec<String>,
    ) {
        let mut check = |is_good: bool, what: &str| {
            if !is_good {
                problems.push(what.to_owned());
            }
        };
        let commit = marker.commit.get(..7).unwrap_or(&marker.commit);
        check(
            found.content == built.content,
            &format!(
                "installed files differ from commit {commit}; run `csk diff --local` to see how"
            ),
        );
        check(
            found.bundle == built.context || found.content != built.content,
            "modes, links or files differ from the commit",
        );
        if let Some(list) = &built.list
            && let Some(what) = self.store.differs(&marker.name, marker.runtime_id(), list)
        {
            problems.push(format!("its command files differ: {what}"));
        }
    }

    /// Compares every line of the marker with what csk would write now.
    fn marker(
        &self,
        skill: &Declaration,
        marker: &Marker,
        built: &Prepared,
        problems: &mut Vec<String>,
    ) {
        let declared = Declaration {
            source: marker.source.clone(),
            git: marker.git.clone(),
            reference: Reference { kind: marker.ref_kind, name: marker.reference.clone() },
            ..skill.clone()
        };
        let target = Target { locale: marker.locale.clone(), ..self.target.clone() };
        let expected = marker_of(&target, &declared, &marker.commit, built, &marker.installed_at);
        if expected != *marker {
            let (found, expected) = (marker.to_json(), expected.to_json());
            let line = found.lines().find(|line| !expected.lines().any(|other| other == *line));
            let line = line.map_or("an entry is missing", str::trim);
            problems.push(format!("its install marker was changed: {line}"));
        }
    }

    fn lock(&self, skill: &Declaration, marker: &Marker, problems: &mut Vec<String>) {
        let Some(lock) = &self.target.lock else { return };
        match lock.get(skill) {
            None => problems
                .push("not in Skillfile.lock, or pinned there to a different reference".to_owned()),
            Some(locked) if locked.commit.as_str() != marker.commit => problems.push(format!(
                "Skillfile.lock pins {}, but {} is installed",
                locked.commit.short(),
                marker.commit.get(..7).unwrap_or(&marker.commit)
            )),
            Some(locked) if marker.bundle_sha256.is_some_and(|bundle| bundle != locked.bundle) => {
                problems.push("its bundle digest does not match Skillfile.lock".to_owned());
            }
            Some(_) => {}
        }
    }
}
