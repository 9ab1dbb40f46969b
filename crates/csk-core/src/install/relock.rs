//! Writes `Skillfile.lock`: for `csk lock`, and after installs if the lockfile is incomplete.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use skill::Identifier;
use skill_fs::{FsError, write_file};

use super::locking::choose;
use super::sources::check_root;
use super::{
    Cache, CacheMode, Environment, Mode, Network, ProjectReport, Resolution, ResolveRules,
    RunError, SkillError, SkillReport, Target, resolve,
};
use crate::{Commit, Declaration, LOCKFILE, LockedSkill, Lockfile, Progress, Repository};

/// Which skills get a new pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upgrade {
    /// Only skills whose declaration has changed.
    Needed,
    /// All skills.
    All,
    /// These skills as well.
    Only(BTreeSet<Identifier>),
}

/// The result of locking a project.
#[derive(Debug)]
pub struct LockReport {
    /// The project's name in messages.
    pub alias: String,
    /// The result for each skill.
    pub skills: Vec<(Identifier, LockChange)>,
    /// Whether the file was written, or would be in a dry run.
    pub is_written: bool,
    /// Why it could not be written.
    pub error: Option<FsError>,
}

/// The result of locking a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockChange {
    /// The pin has not changed.
    Kept(Commit),
    /// The pin is new or has changed: the old and the new commit.
    Updated(Option<Commit>, Commit),
    /// The skill is no longer declared.
    Dropped,
    /// The skill cannot be locked; its old pin stays.
    Failed(SkillError),
}

/// How to lock.
#[derive(Debug, Clone)]
pub struct LockOptions {
    /// Which skills get a new pin.
    pub upgrade: Upgrade,
    /// Whether the lockfile is written.
    pub mode: Mode,
    /// Whether missing repositories are cloned.
    pub network: Network,
}

/// Locks every target and returns a report for each.
pub fn lock(
    environment: &Environment,
    targets: &[Target],
    options: &LockOptions,
    progress: &dyn Progress,
) -> Result<Vec<LockReport>, RunError> {
    check_root(environment, targets)?;
    let LockOptions { upgrade, mode, network } = options;
    let (mode, network) = (*mode, *network);
    let (failed, _lock) = environment.begin(targets, mode, network, progress)?;
    let resolution = resolve(&environment.skills_root, targets, &failed);
    let keep = if mode == Mode::Apply { CacheMode::ReadWrite } else { CacheMode::ReadOnly };
    let locker = Locker { environment, resolution, cache: Cache::new(&environment.home, keep) };
    Ok(targets.par_iter().map(|target| locker.lock(target, upgrade, mode)).collect())
}

struct Locker<'a> {
    environment: &'a Environment,
    resolution: Resolution,
    cache: Cache,
}

impl Locker<'_> {
    fn lock(&self, target: &Target, upgrade: &Upgrade, mode: Mode) -> LockReport {
        let old = target.lock.clone().unwrap_or_default();
        let mut new = Lockfile::default();
        let mut skills = Vec::new();
        for skill in &target.skills {
            let before = old.skills.get(&skill.name);
            let change = match self.entry(target, skill, upgrade) {
                Ok(locked) => {
                    let commit = locked.commit.clone();
                    let is_same = before == Some(&locked);
                    new.skills.insert(skill.name.clone(), locked);
                    let old_commit = before.map(|before| before.commit.clone());
                    if is_same {
                        LockChange::Kept(commit)
                    } else {
                        LockChange::Updated(old_commit, commit)
                    }
                }
                Err(error) => {
                    new.skills.extend(before.map(|before| (skill.name.clone(), before.clone())));
                    LockChange::Failed(error)
                }
            };
            skills.push((skill.name.clone(), change));
        }
        let is_declared = |name: &Identifier| target.skills.iter().any(|skill| skill.name == *name);
        let dropped = old.skills.keys().filter(|name| !is_declared(name));
        skills.extend(dropped.map(|name| (name.clone(), LockChange::Dropped)));
        let is_written = target.lock.as_ref() != Some(&new);
        let written = match mode {
            Mode::Apply if is_written => write(target, &new),
            Mode::Apply | Mode::DryRun => Ok(()),
        };
        LockReport { alias: target.alias.clone(), skills, is_written, error: written.err() }
    }

    fn entry(
        &self,
        target: &Target,
        skill: &Declaration,
        upgrade: &Upgrade,
    ) -> Result<LockedSkill, SkillError> {
        let is_upgraded = match upgrade {
            Upgrade::Needed => false,
            Upgrade::All => true,
            Upgrade::Only(names) => names.contains(&skill.name),
        };
        let old = target.lock.as_ref().and_then(|lock| lock.get(skill));
        if let Some(locked) = old.filter(|_| !is_upgraded) {
            // Runs the same checks as an install, which report a bad pin.
            choose(target, skill, &self.resolution, ResolveRules::STATUS).commit?;
            return Ok(locked.clone());
        }
        let commit = self.resolution.get(skill).commit?;
        locked(self.environment, &self.cache, skill, commit)
    }
}

/// Returns the pin of a skill at a commit.
fn locked(
    environment: &Environment,
    cache: &Cache,
    skill: &Declaration,
    commit: Commit,
) -> Result<LockedSkill, SkillError> {
    let repository = Repository::open(&environment.skills_root.join(skill.source.as_str()))?;
    let tree = repository.objects().tree(&commit, skill.path.as_ref())?;
    let bundle = cache.snapshot(&skill.source, repository.objects(), &tree)?.bundle_digest()?;
    Ok(LockedSkill {
        source: skill.source.clone(),
        git: skill.git.clone(),
        path: skill.path.clone(),
        reference: skill.reference.clone(),
        commit,
        tree,
        bundle,
    })
}

fn write(target: &Target, lock: &Lockfile) -> Result<(), FsError> {
    write_file(&target.root.join(LOCKFILE), lock.to_json().as_bytes()).map(|_| ())
}

/// Updates the lockfile after an install: adds new skills and drops undeclared ones. A skill that failed keeps its pin.
pub(super) fn update_lockfile(
    environment: &Environment,
    target: &Target,
    report: &mut ProjectReport,
    upgrade: &Upgrade,
) {
    let Some(old) = target.lock.as_ref().filter(|_| report.error.is_none()) else { return };
    let cache = Cache::new(&environment.home, CacheMode::ReadWrite);
    let mut new = Lockfile::default();
    let mut warnings = Vec::new();
    let done: BTreeMap<&Identifier, &SkillReport> =
        report.skills.iter().map(|skill| (&skill.name, skill)).collect();
    for skill in &target.skills {
        let done = done.get(&skill.name);
        let commit = done.filter(|done| !done.has_failed()).and_then(|done| done.commit.clone());
        let kept = old.get(skill).filter(|_| *upgrade == Upgrade::Needed).cloned();
        let same = || old.get(skill).filter(|old| Some(&old.commit) == commit.as_ref()).cloned();
        let mut fresh = || {
            let made = locked(environment, &cache, skill, commit.clone()?);
            made.map_err(|error| warnings.push(format!("cannot lock `{}`: {error}", skill.name)))
                .ok()
        };
        let entry = kept.or_else(same).or_else(&mut fresh);
        let entry = entry.or_else(|| old.skills.get(&skill.name).cloned());
        new.skills.extend(entry.map(|entry| (skill.name.clone(), entry)));
    }
    report.warnings.append(&mut warnings);
    if new == *old {
        return;
    }
    match write(target, &new) {
        Ok(()) => report.changes.push(format!("write {LOCKFILE}")),
        Err(error) => report.warnings.push(error.to_string()),
    }
}
