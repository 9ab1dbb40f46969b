//! Runs an install for any number of projects: clones missing repositories and resolves; then, under the process lock,
//! observes, prepares, plans and applies. A failing project never stops another.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use skill::Identifier;
use skill_fs::FsError;

use super::contents::prepare_contents;
use super::fill_store::{StoreResults, fill_store};
use super::gate::{Gated, gate_project, revoked};
use super::hook::{commands_folder, sync, write_commands};
use super::locking::check_lock;
use super::observe::ProjectMemory;
use super::plan::{Facts, PlanInput, SkillContent, SkillContents, SkillPlan};
use super::project_checks::{check_links, command_conflicts, unignored_by_plan, write_ignore};
use super::relock::update_lockfile;
use super::report::PlanResults;
use super::sources::check_root;
use super::{
    Applied, ApplyContext, CacheMode, Consumers, ContextState, Environment, IgnorePolicy,
    IgnoreRules, InstallOptions, LockfileMode, Mode, Observed, Plan, ProjectError, ProjectReport,
    Resolution, ResolveRules, RunError, SkillError, Store, Target, Upgrade, apply,
    finish_interrupted, observe, plan, report, resolve,
};
use crate::operations::audit::Auditor;
use crate::operations::gc::{has_garbage, mark_garbage};
use crate::operations::{Caller, collect};
use crate::{Progress, Scope, Work};

/// Installs into every target and returns a report for each.
pub fn install(
    environment: &Environment,
    targets: &[Target],
    options: InstallOptions,
    progress: &dyn Progress,
) -> Result<Vec<ProjectReport>, RunError> {
    let InstallOptions { rules, mode, ignore, network } = options;
    check_root(environment, targets)?;
    let (failed, _lock) = environment.begin(targets, mode, network, progress)?;
    let run = Run::new(environment, targets, &failed, rules);
    let keep = if mode == Mode::Apply { CacheMode::ReadWrite } else { CacheMode::ReadOnly };
    let mut projects = run.observe_all(targets, mode);
    run.prepare_all(&mut projects, keep, Some(&environment.auditor));
    let mut projects: Vec<Result<PlannedProject<'_>, ProjectError>> =
        projects.into_par_iter().map(|project| run.planned(project?, ignore)).collect();
    let mut stored = StoreResults::default();
    if mode == Mode::Apply {
        write_ignores(&mut projects);
        record_consumers(environment, &projects)?;
        if projects.iter().flatten().any(|planned| !planned.plan.get().is_empty()) {
            mark_garbage(&environment.home)?;
        }
        stored = fill_store(&run.store, projects.iter().flatten().map(|one| one.plan.get()));
        store_verdicts(environment, &projects);
        projects = projects
            .into_par_iter()
            .map(|planned| run.without_failed(planned?, &stored, ignore))
            .collect();
    }
    let work: Vec<_> = targets.iter().zip(projects).collect();
    let reports: Vec<ProjectReport> = work
        .into_par_iter()
        .map(|(target, planned)| {
            let is_busy = planned.as_ref().is_ok_and(|planned| !planned.plan.get().is_empty());
            let work = Work::Project { alias: &target.alias };
            let _running = is_busy.then(|| progress.begin(work));
            let mut report = match planned {
                Ok(planned) => run.execute(planned, &stored, mode),
                Err(error) => error.report(target, IgnoreRules::default()),
            };
            match (mode, rules.lock) {
                (Mode::DryRun, _) | (_, LockfileMode::Require) => {}
                (_, LockfileMode::Follow) => {
                    update_lockfile(environment, target, &mut report, &Upgrade::Needed);
                }
                (_, LockfileMode::Refresh) => {
                    update_lockfile(environment, target, &mut report, &Upgrade::All);
                }
            }
            report
        })
        .collect();
    if mode == Mode::Apply {
        run.store.save();
        // Only a change can leave garbage: this one, or an interrupted one.
        if has_garbage(&environment.home) {
            collect(&environment.home, &environment.projects, Mode::Apply, Caller::Install)?;
        }
    }
    Ok(reports)
}

/// Returns the state of every target without changing anything.
pub fn status(environment: &Environment, targets: &[Target]) -> Vec<Result<Plan, ProjectError>> {
    let run = Run::new(environment, targets, &BTreeMap::new(), ResolveRules::STATUS);
    let mut projects = run.observe_all(targets, Mode::DryRun);
    // Nothing is installed, so nothing is audited.
    run.prepare_all(&mut projects, CacheMode::ReadOnly, None);
    let show = |project: ObservedProject<'_>| {
        let mut plan = run.plan(&project);
        let conflicts = command_conflicts(environment, project.target, &project.observed, &plan)?;
        plan.warnings.extend(conflicts.shadowed);
        conflicts.tracked.map_or(Ok(plan), |path| Err(ProjectError::Tracked(path)))
    };
    projects.into_par_iter().map(|project| show(project?)).collect()
}

/// What all projects of one run share.
struct Run<'a> {
    environment: &'a Environment,
    store: Store,
    resolution: Resolution,
    rules: ResolveRules,
}

/// A project whose state was read.
struct ObservedProject<'a> {
    target: &'a Target,
    observed: Observed,
    /// The prepared content of the skills that need any.
    contents: BTreeMap<Identifier, Result<SkillContent, SkillError>>,
    /// Why skills are revoked.
    revoked: BTreeMap<Identifier, String>,
}

/// A project with its plan.
struct PlannedProject<'a> {
    project: ObservedProject<'a>,
    plan: Gated<Plan>,
    /// Ignore rules that were added.
    ignored: IgnoreRules,
}

impl<'a> Run<'a> {
    fn new(
        environment: &'a Environment,
        targets: &[Target],
        failed: &BTreeMap<Identifier, SkillError>,
        rules: ResolveRules,
    ) -> Self {
        let resolution = resolve(&environment.skills_root, targets, failed);
        Self { environment, store: Store::new(&environment.home), resolution, rules }
    }

    /// Observes every project. Completes interrupted installs first, unless this is a dry run.
    fn observe_all<'t>(
        &self,
        targets: &'t [Target],
        mode: Mode,
    ) -> Vec<Result<ObservedProject<'t>, ProjectError>> {
        let Environment { home, agents, .. } = self.environment;
        let files = |error: FsError| ProjectError::Files(error.to_string());
        let observe_one = |target: &'t Target| {
            check_links(target)?;
            if mode == Mode::Apply {
                finish_interrupted(target, agents, &self.store).map_err(files)?;
            }
            let memory = ProjectMemory::load(home, &target.root);
            let observed = observe(target, agents, &self.store, memory).map_err(files)?;
            check_lock(target, self.rules.lock)?;
            let (contents, revoked) = (BTreeMap::new(), BTreeMap::new());
            Ok(ObservedProject { target, observed, contents, revoked })
        };
        targets.par_iter().map(observe_one).collect()
    }

    /// Prepares new content for all projects, each once.
    fn prepare_all(
        &self,
        projects: &mut [Result<ObservedProject<'_>, ProjectError>],
        keep: CacheMode,
        auditor: Option<&Auditor>,
    ) {
        let facts: Vec<Facts<'_>> =
            projects.iter().flatten().map(|project| self.facts(project)).collect();
        let prepared = prepare_contents(self.environment, &facts, keep, auditor);
        projects.par_iter_mut().flatten().for_each(|project| {
            let facts = self.facts(project);
            let contents = prepared.of(self.environment, auditor, &facts);
            let revoked = revoked(self.environment, &facts);
            (project.contents, project.revoked) = (contents, revoked);
        });
    }

    fn facts<'p>(&'p self, project: &'p ObservedProject<'_>) -> Facts<'p> {
        let ObservedProject { target, observed, .. } = project;
        Facts { target, resolution: &self.resolution, observed, rules: self.rules }
    }

    fn plan(&self, project: &ObservedProject<'_>) -> Plan {
        plan(&PlanInput {
            facts: self.facts(project),
            contents: SkillContents::New(&project.contents),
            revoked: &project.revoked,
            store: self.store.layout(),
        })
    }

    /// Plans a project and checks the plan at the gate.
    fn planned<'t>(
        &self,
        project: ObservedProject<'t>,
        ignore: IgnorePolicy,
    ) -> Result<PlannedProject<'t>, ProjectError> {
        let plan = self.plan(&project);
        let conflicts =
            command_conflicts(self.environment, project.target, &project.observed, &plan)?;
        let open = unignored_by_plan(project.target, &plan)?;
        let plan = gate_project(plan, conflicts, open, ignore)?;
        let ignored = plan.get().ignore.clone();
        Ok(PlannedProject { project, plan, ignored })
    }

    /// Plans again without the skills whose command files could not be written: their old versions and commands stay.
    fn without_failed<'t>(
        &self,
        planned: PlannedProject<'t>,
        stored: &StoreResults,
        ignore: IgnorePolicy,
    ) -> Result<PlannedProject<'t>, ProjectError> {
        let failure =
            |skill: &SkillPlan| Some((skill.name.clone(), stored.failure(skill)?.clone()));
        let failed: Vec<_> = planned.plan.get().skills.iter().filter_map(failure).collect();
        if failed.is_empty() {
            return Ok(planned);
        }
        let mut project = planned.project;
        project.contents.extend(failed.into_iter().map(|(name, error)| (name, Err(error))));
        // By now the ignore rules are in effect.
        let replanned = self.planned(project, ignore)?;
        Ok(PlannedProject { ignored: planned.ignored, ..replanned })
    }

    /// Applies a plan, unless this is a dry run, and returns the report.
    fn execute(
        &self,
        planned: PlannedProject<'_>,
        stored: &StoreResults,
        mode: Mode,
    ) -> ProjectReport {
        let PlannedProject { project: ObservedProject { target, mut observed, .. }, plan, ignored } =
            planned;
        let applied = match mode {
            Mode::DryRun => Ok(Vec::new()),
            Mode::Apply => self.apply(target, &plan, &mut observed),
        };
        match applied {
            Err(error) => ProjectError::Files(error.to_string()).report(target, ignored),
            Ok(applied) => {
                let done = PlanResults { applied: &applied, stored, ignored, mode };
                report::project(target, plan.get(), done)
            }
        }
    }

    fn apply(
        &self,
        target: &Target,
        plan: &Gated<Plan>,
        observed: &mut Observed,
    ) -> Result<Vec<Applied>, FsError> {
        let home = &self.environment.home;
        // Only projects need a folder for PATH; the global scope has its own.
        let own = commands_folder(home, &target.root);
        let commands = (target.scope == Scope::Project).then_some(&own);
        let context = ApplyContext { commands, now: &self.environment.now };
        let applied = apply(target, plan, observed, context);
        observed.seen.save(home, &target.root);
        let applied = applied?;
        let is_installed = !observed.ledger.entries.is_empty() || !target.skills.is_empty();
        if target.scope == Scope::Project && (is_installed || !plan.get().is_empty()) {
            self.link_commands(target, plan.get(), observed, &applied)?;
        }
        Ok(applied)
    }

    /// Makes csk's own command folder match the installed commands. Commands of failed skills stay.
    fn link_commands(
        &self,
        target: &Target,
        plan: &Plan,
        observed: &Observed,
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
        write_commands(&self.environment.home, &target.root, &wanted, &kept)
    }
}

/// Adds missing ignore rules to each project, so that git ignores csk's files from the start.
fn write_ignores(projects: &mut [Result<PlannedProject<'_>, ProjectError>]) {
    for entry in projects {
        if let Ok(planned) = entry
            && let Err(error) = write_ignore(planned.project.target, planned.plan.get())
        {
            *entry = Err(error);
        }
    }
}

/// Records which projects use the store before anything in it is used.
fn record_consumers(
    environment: &Environment,
    projects: &[Result<PlannedProject<'_>, ProjectError>],
) -> Result<(), FsError> {
    let mut consumers = Consumers::read(&environment.home)?;
    let before = consumers.clone();
    for planned in projects.iter().flatten() {
        // Existing installs count as well, since the list may have been lost.
        let PlannedProject { project: ObservedProject { target, observed, .. }, plan, .. } =
            planned;
        if !plan.get().is_empty() || !observed.ledger.entries.is_empty() {
            consumers.0.insert(target.root.clone());
        }
    }
    if consumers != before {
        consumers.write(&environment.home)?;
    }
    if consumers.0.is_empty() { Ok(()) } else { sync(&environment.home, &consumers) }
}

/// Stores the audit verdicts for the next run.
fn store_verdicts(
    environment: &Environment,
    projects: &[Result<PlannedProject<'_>, ProjectError>],
) {
    let plans = projects.iter().flatten().map(|planned| planned.plan.get());
    for content in plans.flat_map(|plan| &plan.skills).filter_map(SkillPlan::content) {
        // The verdict on a rendered text is not the verdict on the commit.
        if let Some(report) = content.audit.as_ref().filter(|_| !content.is_rendered) {
            environment.auditor.store(report);
        }
    }
}
