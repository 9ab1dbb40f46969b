//! The whole way of an install, for any number of projects: clone what is missing, resolve, then under
//! the lock observe, plan, prepare and apply. One project's failure never stops another's.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;
use skill::{Identifier, RelPath};
use skill_fs::{AbsPath, Digests, FsError, Lock, LockError};

use super::gate::{check_links, ignore_gate, tracked_gate};
use super::hook::{commands_folder, global_commands, own_entries, put_commands, shadowing, sync};
use super::locking::wrong_bundle;
use super::observe::ObservedAdapter;
use super::relock::{Upgrade, follow};
use super::shims::{Collision, Files, Shim, plan_shims};
use super::sources::{check_root, clone_missing, declared};
use super::{
    Applied, BIN, Cache, Consumers, ContextState, Group, Keep, Label, LockUse, Means, Observed,
    Plan, Prepared, ProjectError, ProjectReport, Receipts, Resolution, Seen, SkillError, Sources,
    Store, Tags, Target, apply, finish_interrupted, observe, plan, prepare, report, resolve,
};
use crate::operations::audit::{Auditor, Ruling};
use crate::operations::gc::{announce_garbage, has_garbage};
use crate::operations::{Caller, collect};
use crate::{Agents, CommandOrder, Commit, Declaration, LocalSources, Progress, Scope, Work};

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
    /// Where programs are looked for: the `PATH` of whoever installs.
    pub path: Option<OsString>,
    /// The roots of all configured projects.
    pub projects: Vec<AbsPath>,
    /// Who looks at what is new.
    pub auditor: Auditor,
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
    /// How locks are used.
    pub lock: LockUse,
    /// Whether repositories that are missing are cloned.
    pub network: Network,
}

/// Whether the network may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Yes.
    Allowed,
    /// No.
    Refused,
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

/// Why no project was looked at.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another csk is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is nothing to install from.
    #[error("{0}")]
    SkillsRoot(String),
    /// csk's own files cannot be read or written.
    #[error(transparent)]
    Home(#[from] FsError),
}

/// Installs into every target and returns what became of each. `progress` is told what goes on.
pub fn install(
    environment: &Environment,
    targets: &[Target],
    options: Options,
    progress: &dyn Progress,
) -> Result<Vec<ProjectReport>, RunError> {
    check_root(environment, targets)?;
    let (failed, _lock) = environment.begin(targets, (options.mode, options.network), progress)?;
    let store = Store::new(&environment.home);
    let mut plans = plan_all(environment, targets, &store, &failed, Some(options));
    if options.mode == Mode::Apply {
        note_consumers(environment, targets, &plans)?;
        if plans.iter().flatten().any(|planned| !planned.plan.is_empty()) {
            announce_garbage(&environment.home)?;
        }
        put_runtimes(&store, targets, &mut plans);
        let prepared = plans.iter().flatten().flat_map(|planned| planned.files.values());
        // What a language of the project's changed is not the verdict of the commit.
        let prepared = prepared.filter(|prepared| !prepared.is_rendered);
        for report in prepared.filter_map(|prepared| prepared.audit.as_ref()) {
            environment.auditor.keep(report);
        }
    }
    let work: Vec<_> = targets.iter().zip(plans).collect();
    let reports: Vec<ProjectReport> = work
        .into_par_iter()
        .map(|(target, planned)| {
            let is_busy = planned.as_ref().is_ok_and(|planned| !planned.plan.is_empty());
            let work = Work::Project { alias: &target.alias };
            let _running = is_busy.then(|| progress.begin(work));
            let mut report = project(environment, target, planned, options.mode);
            match (options.mode, options.lock) {
                (Mode::DryRun, _) | (_, LockUse::Require) => {}
                (_, LockUse::Follow) => follow(environment, target, &mut report, &Upgrade::Needed),
                (_, LockUse::Refresh) => follow(environment, target, &mut report, &Upgrade::All),
            }
            report
        })
        .collect();
    if options.mode == Mode::Apply {
        store.save();
        // Only a change can leave something that nobody uses: this one, or one that was killed.
        if has_garbage(&environment.home) {
            collect(&environment.home, &environment.projects, Mode::Apply, Caller::Install)?;
        }
    }
    Ok(reports)
}

/// Returns the state of every target, and changes nothing.
pub fn status(environment: &Environment, targets: &[Target]) -> Vec<Result<Plan, ProjectError>> {
    let store = Store::new(&environment.home);
    plan_all(environment, targets, &store, &BTreeMap::new(), None)
        .into_iter()
        .map(|planned| planned.map(|planned| planned.plan))
        .collect()
}

impl Environment {
    /// Clones what is missing, where that is allowed, then takes csk's lock. Returns what could not be cloned.
    pub(super) fn begin(
        &self,
        targets: &[Target],
        (mode, network): (Mode, Network),
        progress: &dyn Progress,
    ) -> Result<(BTreeMap<Identifier, SkillError>, Option<Lock>), RunError> {
        let failed = match (mode, network) {
            (Mode::Apply, Network::Allowed) => clone_missing(self, declared(targets), progress),
            (Mode::DryRun, _) | (_, Network::Refused) => BTreeMap::new(),
        };
        Ok((failed, self.lock_for(mode)?))
    }

    /// Takes csk's lock, unless nothing is written: a dry run writes no lock either.
    pub fn lock_for(&self, mode: Mode) -> Result<Option<Lock>, LockError> {
        match mode {
            Mode::Apply => self.lock().map(Some),
            Mode::DryRun => Ok(None),
        }
    }

    /// Takes csk's lock.
    fn lock(&self) -> Result<Lock, LockError> {
        fs::create_dir_all(self.home.as_path())
            .map_err(|source| FsError::Io { path: self.home.to_string(), source })?;
        Lock::acquire(&self.home.join(".lock"), self.lock_timeout)
    }
}

/// A project that was looked at.
struct Planned {
    plan: Plan,
    observed: Observed,
    /// What was added to `.gitignore`, or would be.
    ignored: Vec<String>,
    /// The files of every skill that is written.
    files: Files,
}

/// Plans every target: what is new is read and checked, too. Without options, as `status` does.
fn plan_all(
    environment: &Environment,
    targets: &[Target],
    store: &Store,
    failed: &BTreeMap<Identifier, SkillError>,
    options: Option<Options>,
) -> Vec<Result<Planned, ProjectError>> {
    let resolution = resolve(&environment.skills_root, targets, failed);
    let plans: Vec<Result<Planned, ProjectError>> = targets
        .par_iter()
        .map(|target| look(environment, target, &resolution, store, options))
        .collect();
    let is_applied = options.is_some_and(|options| options.mode == Mode::Apply);
    let keep = if is_applied { Keep::New } else { Keep::Nothing };
    // A look at the state decides about nothing.
    let auditor = options.is_some().then_some(&environment.auditor);
    let prepared = prepare_all(environment, targets, &plans, (keep, auditor));
    let work: Vec<_> = targets.iter().zip(plans).collect();
    work.into_par_iter()
        .map(|(target, planned)| {
            complete(environment, target, planned?, (&prepared, store), options)
        })
        .collect()
}

/// Finishes what was interrupted, observes and plans.
fn look(
    environment: &Environment,
    target: &Target,
    resolution: &Resolution,
    store: &Store,
    options: Option<Options>,
) -> Result<Planned, ProjectError> {
    let files = |error: FsError| ProjectError::Files(error.to_string());
    check_links(target)?;
    if options.is_some_and(|options| options.mode == Mode::Apply) {
        finish_interrupted(target, &environment.agents, store).map_err(files)?;
    }
    let known = (
        Seen::load(&environment.home, &target.root),
        Receipts::load(&environment.home, &target.root),
    );
    let observed = observe(target, &environment.agents, store, known).map_err(files)?;
    let usage =
        options.map_or((Tags::MayMove, LockUse::Follow), |options| (options.tags, options.lock));
    check_lock(target, usage.1)?;
    let plan = plan(target, resolution, &observed, usage);
    Ok(Planned { plan, observed, ignored: Vec::new(), files: Files::new() })
}

/// Checks a lock that must be there: nothing may be locked that is not declared. What is declared and not
/// locked is told skill by skill.
fn check_lock(target: &Target, usage: LockUse) -> Result<(), ProjectError> {
    if usage != LockUse::Require {
        return Ok(());
    }
    let lock = target.lock.as_ref().ok_or(ProjectError::NoLock)?;
    let is_declared = |name: &Identifier| target.skills.iter().any(|skill| skill.name == *name);
    match lock.skills.keys().find(|name| !is_declared(name)) {
        Some(name) => Err(ProjectError::Undeclared(name.clone())),
        None => Ok(()),
    }
}

/// Adds to a plan what the new files say: warnings, errors, commands. Where something is to be written, git
/// must ignore it.
fn complete(
    environment: &Environment,
    target: &Target,
    mut planned: Planned,
    (prepared, store): (&BTreeMap<Key, Result<Arc<Prepared>, SkillError>>, &Store),
    options: Option<Options>,
) -> Result<Planned, ProjectError> {
    let plan = &mut planned.plan;
    for group in plan.skills.iter_mut().filter(|group| group.needs_files()) {
        let declaration = target.skills.iter().find(|skill| skill.name == group.name);
        let found = declaration
            .zip(group.commit.as_ref())
            .and_then(|(declaration, commit)| prepared.get(&key(target, declaration, commit)));
        match found {
            None => {}
            Some(Ok(content)) => {
                let locked = declaration.filter(|_| group.is_locked);
                if let Some(error) =
                    locked.and_then(|skill| wrong_bundle(target, skill, content.bundle))
                {
                    group.refuse(error);
                    continue;
                }
                if group.install.is_some() {
                    group.warnings.extend(content.warnings.clone());
                    if let Some(error) = audit_gate(environment, group, declaration, content) {
                        group.refuse(error);
                        continue;
                    }
                }
                // A marker is believed as far as it fits its commit: what differs is the user's.
                if group.is_unknown {
                    let theirs = group.installed.as_deref().and_then(Commit::new);
                    let theirs = declaration.zip(theirs).and_then(|(declaration, commit)| {
                        prepared.get(&key(target, declaration, &commit))?.as_ref().ok()
                    });
                    let built = std::iter::once(content).chain(theirs);
                    group.edited = !built.into_iter().any(|built| is_built(group, built));
                    if !group.edited {
                        group.label = Label::UpdateAvailable;
                    }
                }
                planned.files.insert(group.name.clone(), Arc::clone(content));
            }
            Some(Err(error)) => group.refuse(error.clone()),
        }
    }
    for group in plan.skills.iter_mut().filter(|group| group.install.is_none()) {
        let declaration = target.skills.iter().find(|skill| skill.name == group.name);
        let bundle = group.bundle.map(|bundle| bundle.to_string()).unwrap_or_default();
        let sources = sources(environment, declaration);
        if let Some(reason) = environment.auditor.revoked(&bundle, &sources) {
            let what = "take it out of Skillfile.json, or choose another version";
            group.warnings.push(format!("`{}` is revoked: {reason}; {what}", group.name));
        }
    }
    // Where an audit refuses all that there was to do, nothing is written at all.
    let is_refused = |group: &Group| matches!(group.error, Some(SkillError::Audit { .. }));
    if plan.skills.iter().any(is_refused) && plan.skills.iter().all(Group::is_empty) {
        plan.env.clear();
    }
    match plan_shims(target, plan, &planned.observed, &planned.files, store) {
        // A look shows what there is of the other skills; nothing is installed while two bring one command.
        Err(ProjectError::Collision(collisions)) if options.is_none() => {
            collisions.iter().for_each(|collision| refuse_all(plan, collision));
            return Ok(planned);
        }
        done => done?,
    }
    plan.warnings.extend(shadowed(environment, target, plan));
    // Somebody has put something where commands are: it must not be the repository.
    let has_bin = planned.observed.bin != ObservedAdapter::default();
    if !plan.is_empty() || has_bin {
        tracked_gate(target)?;
    }
    if let Some(options) = options.filter(|_| !plan.is_empty()) {
        planned.ignored = ignore_gate(target, options)?;
    }
    Ok(planned)
}

/// Returns true if what is there is what a commit gives, by the rules of today or by the first ones.
fn is_built(group: &Group, built: &Prepared) -> bool {
    group.content.is_some_and(|found| {
        found == Digests { content: built.content, bundle: built.context }
            || built.first_content == Some(found.content)
    })
}

/// Says which new commands are never run by their names, since a program of the user's comes first.
fn shadowed(environment: &Environment, target: &Target, plan: &Plan) -> Vec<String> {
    if target.order == CommandOrder::First {
        return Vec::new();
    }
    let path = environment.path.as_deref().unwrap_or_default();
    let of = |shim: &Shim| {
        let skill = shim.skill.as_ref().filter(|_| shim.target.is_some())?;
        let command = shim.command.as_str();
        let other = shadowing(&environment.home, &target.folder(BIN), path, command)?;
        Some(format!(
            "the command `{command}` of `{skill}` is shadowed by {}, which comes first on PATH; \
             `commands_first` in config.json puts commands of skills first",
            other.display()
        ))
    };
    plan.shims.iter().filter_map(of).collect()
}

/// Says what follows from the audit of a skill that is to be installed: an error, or perhaps a warning.
fn audit_gate(
    environment: &Environment,
    group: &mut Group,
    declaration: Option<&Declaration>,
    content: &Prepared,
) -> Option<SkillError> {
    let report = content.audit.as_ref()?;
    let sources = sources(environment, declaration);
    match environment.auditor.rule(report, &sources, group.bundle) {
        Ruling::Go => None,
        Ruling::Warn(reason) => {
            group.warnings.push(reason);
            None
        }
        Ruling::Refuse { reason, hint } => Some(SkillError::Audit { reason, hint }),
    }
}

/// Returns where a skill comes from, where that matters: as it is declared, where its repository is fetched from, and the repository itself.
fn sources(environment: &Environment, declaration: Option<&Declaration>) -> Vec<String> {
    let Some(declaration) = declaration.filter(|_| environment.auditor.asks_for_sources()) else {
        return Vec::new();
    };
    let path = environment.skills_root.join(declaration.source.as_str());
    let own = crate::origin(&path).ok().flatten();
    declaration.git.clone().into_iter().chain(own).chain([path.to_string()]).collect()
}

/// What of a skill's content is the same in every project.
type Key = (Identifier, Identifier, Commit, Option<String>, Option<RelPath>);

fn key(target: &Target, declaration: &Declaration, commit: &Commit) -> Key {
    (
        declaration.name.clone(),
        declaration.source.clone(),
        commit.clone(),
        target.locale.clone(),
        declaration.path.clone(),
    )
}

/// Prepares everything that some project is going to write, each once.
fn prepare_all(
    environment: &Environment,
    targets: &[Target],
    plans: &[Result<Planned, ProjectError>],
    (keep, auditor): (Keep, Option<&Auditor>),
) -> BTreeMap<Key, Result<Arc<Prepared>, SkillError>> {
    let mut wanted: BTreeMap<Key, &Declaration> = BTreeMap::new();
    let mut is_adopting = false;
    for (target, planned) in targets.iter().zip(plans) {
        let Ok(planned) = planned else { continue };
        for group in planned.plan.skills.iter().filter(|group| group.needs_files()) {
            let declaration = target.skills.iter().find(|skill| skill.name == group.name);
            let Some(declaration) = declaration else { continue };
            // What another csk installed is compared with the commit that its marker names.
            let theirs = group.installed.as_deref().filter(|_| group.is_unknown);
            let theirs = theirs.and_then(Commit::new);
            is_adopting |= group.is_unknown;
            for commit in group.commit.iter().chain(&theirs) {
                wanted.insert(key(target, declaration, commit), declaration);
            }
        }
    }
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let cache = Cache::new(&environment.home, keep);
    let except: Vec<AbsPath> = targets
        .iter()
        .map(|target| target.folder(BIN))
        .chain([global_commands(&environment.home)])
        .collect();
    let path = environment.path.as_deref().unwrap_or_default();
    let path = std::env::join_paths(own_entries(&environment.home, path)).unwrap_or_default();
    let sources = Sources {
        skills_root: &environment.skills_root,
        cache: &cache,
        path: Some(&path),
        except: &except,
        auditor,
        is_adopting,
    };
    let prepare_one = |(key, declaration): (Key, &Declaration)| {
        let prepared = prepare(&sources, declaration, &key.2, key.3.as_deref());
        (key, prepared.map(Arc::new))
    };
    wanted.into_par_iter().map(prepare_one).collect()
}

/// Notes who is going to use the store, before anything in it is used.
fn note_consumers(
    environment: &Environment,
    targets: &[Target],
    plans: &[Result<Planned, ProjectError>],
) -> Result<(), FsError> {
    let mut consumers = Consumers::read(&environment.home)?;
    let before = consumers.clone();
    for (target, planned) in targets.iter().zip(plans) {
        // What is installed already counts as well: the list may have been lost.
        if planned.as_ref().is_ok_and(|planned| {
            !planned.plan.is_empty() || !planned.observed.ledger.entries.is_empty()
        }) {
            consumers.0.insert(target.root.clone());
        }
    }
    if consumers != before {
        consumers.write(&environment.home)?;
    }
    if consumers.0.is_empty() { Ok(()) } else { sync(&environment.home, &consumers) }
}

/// Writes the files of commands that some project needs, each once. Who needs one that cannot be written
/// fails.
fn put_runtimes(store: &Store, targets: &[Target], plans: &mut [Result<Planned, ProjectError>]) {
    let mut wanted: BTreeMap<(Identifier, String), Arc<Prepared>> = BTreeMap::new();
    for planned in plans.iter().flatten() {
        for group in planned.plan.skills.iter().filter(|group| group.needs_files()) {
            if let Some(prepared) = planned.files.get(&group.name) {
                let key = (group.name.clone(), prepared.runtime_id.clone());
                wanted.insert(key, Arc::clone(prepared));
            }
        }
    }
    let put = |((skill, id), prepared): ((Identifier, String), Arc<Prepared>)| {
        let (runtime, list) = prepared.runtime.as_ref().zip(prepared.list.as_ref())?;
        // One that is not that of its commit is made again, whatever its own list says.
        let is_there = store.differs(&skill, &id, list).is_none();
        let put = || store.put(&skill, &id, (runtime, list)).transpose();
        let told = if is_there { None } else { put() };
        Some(((skill.clone(), id.clone()), told?))
    };
    let told: BTreeMap<(Identifier, String), Result<AbsPath, SkillError>> =
        wanted.into_par_iter().filter_map(put).collect();
    for (target, entry) in targets.iter().zip(plans) {
        let Ok(planned) = entry else { continue };
        let plan = &mut planned.plan;
        let mut is_refused = false;
        for group in plan.skills.iter_mut().filter(|group| group.needs_files()) {
            let id = planned.files.get(&group.name).map(|prepared| prepared.runtime_id.clone());
            let key = id.map(|id| (group.name.clone(), id));
            match key.and_then(|key| told.get(&key)) {
                None => {}
                Some(Ok(kept)) => {
                    let warning =
                        format!("the files of its commands were edited; they were kept in {kept}");
                    group.warnings.push(warning);
                }
                Some(Err(error)) => {
                    group.refuse(error.clone());
                    is_refused = true;
                }
            }
        }
        // The old version stays, and so do its commands.
        if is_refused {
            (plan.shims, plan.notes) = (Vec::new(), Vec::new());
            if let Err(error) = plan_shims(target, plan, &planned.observed, &planned.files, store) {
                *entry = Err(error);
            }
        }
    }
}

/// Refuses all skills that bring one command.
fn refuse_all(plan: &mut Plan, Collision(brought): &Collision) {
    for (command, name) in brought {
        let other = brought.iter().map(|(_, skill)| skill).find(|skill| *skill != name);
        let group = plan.skills.iter_mut().find(|group| group.name == *name);
        if let Some((group, with)) = group.filter(|group| group.error.is_none()).zip(other) {
            group.refuse(SkillError::Collision { command: command.clone(), with: with.clone() });
        }
    }
}

/// Makes csk's own folder of the project's commands hold what is installed. Those of a skill that failed stay.
fn put_on_path(
    environment: &Environment,
    target: &Target,
    (plan, observed): (&Plan, &Observed),
    applied: &[Applied],
) -> Result<(), FsError> {
    let failed: BTreeSet<&Identifier> =
        applied.iter().filter(|done| done.error.is_some()).map(|done| &done.name).collect();
    let mut kept = BTreeSet::new();
    for name in &failed {
        if let Some(ContextState::Installed { marker, is_receipted: true, .. }) =
            observed.contexts.get(*name)
        {
            kept.extend(marker.command_paths.keys().cloned());
        }
    }
    let wanted = plan.commands.iter().filter(|(_, (skill, _))| !failed.contains(skill));
    let wanted = wanted.map(|(command, (_, to))| (command.clone(), to.clone())).collect();
    put_commands(&environment.home, &target.root, &wanted, &kept)
}

fn project(
    environment: &Environment,
    target: &Target,
    planned: Result<Planned, ProjectError>,
    mode: Mode,
) -> ProjectReport {
    let Planned { plan, mut observed, ignored, files } = match planned {
        Ok(planned) => planned,
        Err(error) => return error.report(target, Vec::new()),
    };
    let applied = match mode {
        Mode::DryRun => Ok(Vec::new()),
        Mode::Apply => {
            // The folder is made for a project that may be on PATH; the global scope has its own.
            let own = commands_folder(&environment.home, &target.root);
            let commands = (target.scope == Scope::Project).then_some(&own);
            let means = Means { prepared: &files, commands, now: &environment.now };
            let applied = apply(target, &plan, &mut observed, means);
            observed.seen.save(&environment.home, &target.root);
            let is_installed = !observed.ledger.entries.is_empty() || !target.skills.is_empty();
            applied.and_then(|applied| {
                if target.scope == Scope::Project && (is_installed || !plan.is_empty()) {
                    put_on_path(environment, target, (&plan, &observed), &applied)?;
                }
                Ok(applied)
            })
        }
    };
    match applied {
        Err(error) => ProjectError::Files(error.to_string()).report(target, ignored),
        Ok(applied) => report::project(target, &plan, ignored, (&applied, &files), mode),
    }
}
