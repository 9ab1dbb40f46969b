//! The whole way of an install, for any number of projects: clone what is missing, resolve, then under
//! the lock observe, plan, prepare and apply. One project's failure never stops another's.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;
use skill::Identifier;
use skill_fs::{AbsPath, FsError, Lock, LockError};

use super::gate::{check_links, ignore_gate};
use super::sources::{check_root, clone_missing};
use super::{
    Applied, Cache, Group, Keep, Label, Observed, Plan, Prepared, Resolution, Seen, SkillError,
    Tags, Target, apply, finish_interrupted, observe, plan, prepare, resolve,
};
use crate::{Agents, Commit, Declaration, LocalSources, Progress, Work};

/// What an install works with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The folder of csk's own state.
    pub home: AbsPath,
    /// The folder of the repositories.
    pub skills_root: AbsPath,
    /// The agents that are known.
    pub agents: Agents,
    /// Whether repositories on this machine may be cloned.
    pub local: LocalSources,
    /// How long to wait for another csk that changes projects.
    pub lock_timeout: Duration,
    /// How long to wait for another csk that works on the same repository.
    pub source_timeout: Duration,
    /// The time now, as RFC 3339 in UTC.
    pub now: String,
}

/// How to install.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What a tag that moved means.
    pub tags: Tags,
    /// Whether the plan is only shown.
    pub mode: Mode,
    /// Whether missing ignore entries are added.
    pub ignore: Ignore,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Yes.
    Apply,
    /// No: the plan is returned.
    DryRun,
}

/// What to do about entries that git does not ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignore {
    /// Refuse the project.
    Require,
    /// Add them to `.gitignore`.
    Fix,
}

/// What became of a project.
#[derive(Debug, Clone)]
pub struct ProjectReport {
    /// Its name in messages.
    pub alias: String,
    /// What was added to its `.gitignore`, or would be.
    pub ignored: Vec<String>,
    /// What became of its skills, removals last.
    pub skills: Vec<SkillReport>,
    /// Why nothing was done in it at all.
    pub error: Option<ProjectError>,
}

/// What became of a skill.
#[derive(Debug, Clone)]
pub struct SkillReport {
    /// The skill.
    pub name: Identifier,
    /// The declaration; none for one that is not declared any more.
    pub declaration: Option<Declaration>,
    /// The commit that is wanted.
    pub commit: Option<Commit>,
    /// What was done.
    pub outcome: Outcome,
    /// What to tell, though it stopped nothing.
    pub warnings: Vec<String>,
    /// What changes, entry by entry.
    pub changes: Vec<String>,
}

/// What was done for a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: everything is as declared.
    UpToDate,
    /// It was installed, or would be.
    Installed,
    /// It was removed, or would be.
    Removed,
    /// It failed; what was there before is still there.
    Failed(SkillError),
}

/// Why nothing can be done in a project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    /// Git would not ignore what csk writes.
    #[error("not ignored by git: {}", .0.join(", "))]
    NotIgnored(Vec<String>),
    /// A folder that csk works in is a link.
    #[error("{0} is a link; csk writes only into real folders of the project")]
    Link(String),
    /// The project's files cannot be read or written.
    #[error("{0}")]
    Files(String),
}

impl ProjectError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotIgnored(_) => {
                Some("run with --fix-gitignore, or add the entries to .gitignore")
            }
            Self::Link(_) => Some(
                "replace the link by a folder; an agent that should share .agents/skills needs no entry of its own",
            ),
            Self::Files(_) => None,
        }
    }
}

/// Why no project was looked at.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another csk is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is nothing to install from.
    #[error("{0}")]
    SkillsRoot(String),
}

/// Installs into every target and returns what became of each. `progress` is told what goes on.
pub fn install(
    environment: &Environment,
    targets: &[Target],
    options: Options,
    progress: &dyn Progress,
) -> Result<Vec<ProjectReport>, RunError> {
    check_root(environment, targets)?;
    let failed = match options.mode {
        Mode::Apply => clone_missing(environment, targets, progress),
        Mode::DryRun => BTreeMap::new(),
    };
    let resolution = resolve(&environment.skills_root, targets, &failed);
    let home = environment.home.as_path();
    fs::create_dir_all(home)
        .map_err(|source| FsError::Io { path: environment.home.to_string(), source })
        .map_err(LockError::from)?;
    let _lock = Lock::acquire(&environment.home.join(".lock"), environment.lock_timeout)?;
    let plans: Vec<Result<Planned, ProjectError>> =
        targets.par_iter().map(|target| look(environment, target, &resolution, options)).collect();
    let prepared = prepare_all(environment, targets, &plans, options.mode);
    let work: Vec<_> = targets.iter().zip(plans).collect();
    Ok(work
        .into_par_iter()
        .map(|(target, planned)| {
            let is_busy = planned.as_ref().is_ok_and(|planned| !planned.plan.is_empty());
            let work = Work::Project { alias: &target.alias };
            let _running = is_busy.then(|| progress.begin(work));
            project(environment, target, planned, &prepared, options.mode)
        })
        .collect())
}

/// Returns the state of every target, and changes nothing.
pub fn status(environment: &Environment, targets: &[Target]) -> Vec<Result<Plan, ProjectError>> {
    let resolution = resolve(&environment.skills_root, targets, &BTreeMap::new());
    targets
        .par_iter()
        .map(|target| {
            check_links(target)?;
            let seen = Seen::load(&environment.home, &target.root);
            let observed = observe(target, &environment.agents, seen)
                .map_err(|error| ProjectError::Files(error.to_string()))?;
            Ok(plan(target, &resolution, &observed, Tags::MayMove))
        })
        .collect()
}

/// A project that was looked at.
struct Planned {
    plan: Plan,
    observed: Observed,
    /// What was added to `.gitignore`, or would be.
    ignored: Vec<String>,
}

/// Finishes what was interrupted, observes and plans; where something is to be written, git must ignore it.
fn look(
    environment: &Environment,
    target: &Target,
    resolution: &Resolution,
    options: Options,
) -> Result<Planned, ProjectError> {
    let files = |error: FsError| ProjectError::Files(error.to_string());
    check_links(target)?;
    if options.mode == Mode::Apply {
        finish_interrupted(target, &environment.agents).map_err(files)?;
    }
    let seen = Seen::load(&environment.home, &target.root);
    let observed = observe(target, &environment.agents, seen).map_err(files)?;
    let plan = plan(target, resolution, &observed, options.tags);
    let ignored = if plan.is_empty() { Vec::new() } else { ignore_gate(target, options)? };
    Ok(Planned { plan, observed, ignored })
}

/// What of a skill's content is the same in every project.
type Key = (Identifier, Identifier, Commit, Option<String>);

fn key(target: &Target, declaration: &Declaration, commit: &Commit) -> Key {
    (declaration.name.clone(), declaration.source.clone(), commit.clone(), target.locale.clone())
}

/// Prepares everything that some project is going to write, each once.
fn prepare_all(
    environment: &Environment,
    targets: &[Target],
    plans: &[Result<Planned, ProjectError>],
    mode: Mode,
) -> BTreeMap<Key, Result<Arc<Prepared>, SkillError>> {
    let mut wanted: BTreeMap<Key, &Declaration> = BTreeMap::new();
    for (target, planned) in targets.iter().zip(plans) {
        let Ok(planned) = planned else { continue };
        for group in planned.plan.skills.iter().filter(|group| group.install.is_some()) {
            let declaration = target.skills.iter().find(|skill| skill.name == group.name);
            if let (Some(declaration), Some(commit)) = (declaration, &group.commit) {
                wanted.insert(key(target, declaration, commit), declaration);
            }
        }
    }
    let keep = if mode == Mode::Apply { Keep::New } else { Keep::Nothing };
    let cache = Cache::new(&environment.home, keep);
    let root = &environment.skills_root;
    let prepare_one = |(key, declaration): (Key, &Declaration)| {
        let prepared = prepare(root, &cache, declaration, &key.2, key.3.as_deref());
        (key, prepared.map(Arc::new))
    };
    wanted.into_par_iter().map(prepare_one).collect()
}

fn project(
    environment: &Environment,
    target: &Target,
    planned: Result<Planned, ProjectError>,
    prepared: &BTreeMap<Key, Result<Arc<Prepared>, SkillError>>,
    mode: Mode,
) -> ProjectReport {
    let failed = |error, ignored| ProjectReport {
        alias: target.alias.clone(),
        ignored,
        skills: Vec::new(),
        error: Some(error),
    };
    let Planned { mut plan, mut observed, ignored } = match planned {
        Ok(planned) => planned,
        Err(error) => return failed(error, Vec::new()),
    };
    let mut files: BTreeMap<Identifier, Arc<Prepared>> = BTreeMap::new();
    for group in &mut plan.skills {
        let declaration = target.skills.iter().find(|skill| skill.name == group.name);
        let found = declaration
            .zip(group.commit.as_ref())
            .and_then(|(declaration, commit)| prepared.get(&key(target, declaration, commit)));
        match found.filter(|_| group.install.is_some()) {
            None => {}
            Some(Ok(content)) => {
                group.warnings.extend(content.warnings.clone());
                files.insert(group.name.clone(), Arc::clone(content));
            }
            Some(Err(error)) => {
                group.error = Some(error.clone());
                group.install = None;
                group.adapters.clear();
            }
        }
    }
    let applied = match mode {
        Mode::DryRun => Ok(Vec::new()),
        Mode::Apply => {
            let applied = apply(target, &plan, &mut observed, &files, &environment.now);
            observed.seen.save(&environment.home, &target.root);
            applied
        }
    };
    match applied {
        Err(error) => failed(ProjectError::Files(error.to_string()), ignored),
        Ok(applied) => {
            let groups = plan.skills.iter().chain(&plan.removals);
            ProjectReport {
                alias: target.alias.clone(),
                ignored,
                skills: groups.map(|group| report(target, group, &applied, &files)).collect(),
                error: None,
            }
        }
    }
}

fn report(
    target: &Target,
    group: &Group,
    applied: &[Applied],
    files: &BTreeMap<Identifier, Arc<Prepared>>,
) -> SkillReport {
    let done = applied.iter().find(|done| done.name == group.name);
    let error = group.error.clone().or_else(|| done.and_then(|done| done.error.clone()));
    let is_declared = target.skills.iter().any(|skill| skill.name == group.name);
    let outcome = match error {
        // Only a dry run meets it: an install has cloned by now, or says why it could not.
        Some(SkillError::NotCloned { .. }) => Outcome::Installed,
        Some(error) => Outcome::Failed(error),
        None if !is_declared => Outcome::Removed,
        None if group.is_empty() => Outcome::UpToDate,
        None => Outcome::Installed,
    };
    let mut warnings = group.warnings.clone();
    for place in done.iter().flat_map(|done| &done.backups) {
        warnings.push(format!("local edits of {} were kept in {place}", group.name));
    }
    SkillReport {
        name: group.name.clone(),
        declaration: target.skills.iter().find(|skill| skill.name == group.name).cloned(),
        commit: group.commit.clone(),
        outcome,
        warnings,
        changes: changes(group, files.get(&group.name)),
    }
}

/// Returns what a group changes, entry by entry.
fn changes(group: &Group, prepared: Option<&Arc<Prepared>>) -> Vec<String> {
    let context = format!("{}/{}", super::SKILLS, group.name);
    let mut changes = Vec::new();
    if let Some(SkillError::NotCloned { url }) = &group.error {
        changes.push(format!("clone {url}"));
    }
    let stays = |path: &String| {
        prepared.is_some_and(|new| new.files.iter().any(|file| file.path.as_str() == path))
    };
    if group.remove || prepared.is_some() {
        let gone = group.old_files.iter().filter(|path| !stays(path));
        changes.extend(gone.map(|path| format!("delete {context}/{path}")));
    }
    if group.remove {
        changes.push(format!("delete {context}/"));
    }
    if group.edited && (group.remove || group.install.is_some()) {
        changes.push(format!("keep local edits of {context}/ aside"));
    }
    if let Some(prepared) = prepared {
        changes.extend(prepared.files.iter().map(|file| format!("write {context}/{}", file.path)));
        changes.push(format!("write {context}/{}", skill::MARKER_FILE));
    }
    for adapter in &group.adapters {
        let verb = if adapter.present { "make" } else { "remove" };
        changes.push(format!("{verb} {}/{}", adapter.folder, group.name));
    }
    changes
}

impl SkillReport {
    /// Returns true if something went wrong.
    pub fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }
}

impl Label {
    /// Returns true if everything is as declared.
    pub fn is_current(&self) -> bool {
        *self == Self::UpToDate
    }
}
