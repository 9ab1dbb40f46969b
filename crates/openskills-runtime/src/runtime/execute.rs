//! Runs a script of a skill.

#![expect(
    clippy::disallowed_methods,
    reason = "the edge: the clock, and sandbox::start behind a permit"
)]

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sandbox::proxy::Reached;
use sandbox::{Change, ChangeKind, CommitError, Ended, Outcome, SandboxError, Spec, Writes};
use skill::Digest;

use super::OpenSkillRuntime;
use super::again::wasm_event;
use super::guarded::Guarded;
use super::prepare::Prepared;
use crate::event::{CommitFailure, Writing};
use crate::exec::{Answer, Execution, ExecutionOptions, WasmRun, diff, granted};
use crate::log::redact;
use crate::permit::{Authorization, Permit, Request};
use crate::{Event, ExecutionRecord, ExitStatus, RuntimeError, ScriptExecution, Skill};

/// How much of each stream is written to the log.
const LOGGED: usize = 4096;

impl OpenSkillRuntime {
    /// Runs a script of a skill in the sandbox, if that is permitted.
    pub fn execute_skill(
        &mut self,
        name: &str,
        options: ExecutionOptions,
    ) -> Result<Execution, RuntimeError> {
        let permit = self.permit(name, &options)?;
        self.carry_out(&permit, &options)
    }

    /// Returns the skill and the script that a name means: one that is no skill's may be that of a command which csk installed.
    fn by_command(&self, name: &str, script: Option<&str>) -> (String, Option<String>) {
        let is_skill = self.skill(name).is_ok() || !self.candidates(name).is_empty();
        if is_skill || script.is_some() {
            return (name.to_owned(), script.map(str::to_owned));
        }
        let brings = |skill: &&Arc<Skill>| {
            skill.provenance.as_ref().is_some_and(|from| from.commands.contains_key(name))
        };
        let skills = self.list_skills();
        let mut found = skills.iter().filter(brings);
        match (found.next(), found.next()) {
            (Some(skill), None) => (skill.id.clone(), Some(name.to_owned())),
            // None, or one of several: then the skill has to be named.
            _ => (name.to_owned(), None),
        }
    }

    /// Plans a run and gets leave for it: by what was approved, for once, or by asking.
    pub fn permit(
        &mut self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<Permit, RuntimeError> {
        let (name, script) = self.by_command(name, options.script.as_deref());
        let plan = self.plan_run(&name, script.as_deref(), options.asked.clone())?;
        let once = if options.once {
            // A flag confirms what the user named, and nothing that the skill only declares.
            Some(self.request(&plan)?.map_err(|refusal| refusal.error())?.named)
        } else {
            None
        };
        let request = match self.authorize(plan.clone(), once)? {
            Authorization::Permit(permit) => return Ok(*permit),
            Authorization::Refusal(refusal) => return Err(refusal.error()),
            Authorization::Ask(request) => request,
        };
        // A slip in a name is told before anybody is asked for anything.
        self.check_script(&plan.subject, plan.script.as_deref())?;
        let Some(approver) = self.config.approver.clone() else {
            return Err(needs_approval(&request));
        };
        let once = match approver.ask(&request) {
            Answer::No => return Err(needs_approval(&request)),
            Answer::Once(grant) => Some(grant),
            Answer::Always => {
                self.approve(&request, None)?;
                None
            }
        };
        match self.authorize(plan, once)? {
            Authorization::Permit(permit) => Ok(*permit),
            Authorization::Refusal(refusal) => Err(refusal.error()),
            Authorization::Ask(request) => Err(needs_approval(&request)),
        }
    }

    /// Runs what a permit lets run. It is in the log before its result is returned, and before what it wrote is applied to the
    /// workspace.
    pub fn carry_out(
        &mut self,
        permit: &Permit,
        options: &ExecutionOptions,
    ) -> Result<Execution, RuntimeError> {
        let start = Instant::now();
        let prepared = self.prepare(permit, options)?;
        let copied = start.elapsed();
        let Prepared { spec, script, .. } = &prepared;
        let id = permit.plan().subject.skill_id.clone();
        let mut guarded = Guarded::new(spec);
        let started = SystemTime::now();
        let mut ran = match &prepared.module {
            Some(wasm) => self.module(permit, options, &prepared, wasm)?,
            None => program(permit, options, spec)?,
        };
        ran.timings.insert(0, ("copy the skill", copied));
        let layer = ran.layer.take();
        let not_committed = |message: String| RuntimeError::Commit { skill: id.clone(), message };
        // What cannot even be looked at is told after it is in the log.
        let (changes, unreadable) = match layer.as_ref().map(sandbox::Layer::changes) {
            Some(Ok(changes)) => (changes, None),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
            None => (Vec::new(), None),
        };
        let record = record(permit, options, spec, &ran.outcome, started);
        let mut done = Execution::new(ran, spec, record, changes);
        done.left_out = permit.left_out().to_vec();
        done.review = permit.review().map(str::to_owned);
        if let Some((layer, workspace)) =
            layer.as_ref().zip(spec.workspace.as_ref()).filter(|_| options.dry_run)
        {
            done.diff = Some(diff(&workspace.path, layer, &done.changes));
        }
        if options.dry_run {
            done.note = may_commit(permit, &done.changes).err();
            done.held_back = held_back(permit.plan().side_effects.as_deref());
        }
        let is_good = done.ended == Ended::Exited(0);
        let fate = match &layer {
            None if permit.may_write_directly() => Writing::Direct,
            Some(_) if options.dry_run => Writing::DryRun,
            // An empty workspace of its own is gone afterwards: nothing of it stays.
            Some(_) if is_good && options.workspace.is_some() => Writing::Commit,
            Some(_) | None => Writing::Dropped,
        };
        // It is in the log before anything of it stays.
        let event =
            ScriptExecution { writes: fate, ..self.event(permit, options, &prepared, &done) };
        self.record(&Event::ScriptExecuted(Box::new(event)))?;
        let unreadable = unreadable.filter(|_| options.workspace.is_some());
        let committed = guarded
            .check()
            .and_then(|()| unreadable.map_or(Ok(()), Err))
            .map_err(not_committed)
            .and_then(|()| match layer.filter(|_| fate == Writing::Commit) {
                Some(layer) => commit(permit, &layer, &mut done, &id),
                None => Ok(()),
            });
        if let Err(error) = committed {
            // What went wrong is told either way.
            let failure = CommitFailure {
                skill_id: id,
                session_id: self.session.id.clone(),
                script: script.clone(),
                reason: error.to_string().chars().take(LOGGED).collect(),
            };
            let _ = self.record(&Event::CommitFailed(failure));
            return Err(error);
        }
        Ok(done)
    }

    fn event(
        &self,
        permit: &Permit,
        options: &ExecutionOptions,
        prepared: &Prepared,
        done: &Execution,
    ) -> ScriptExecution {
        let Prepared { spec, script, .. } = prepared;
        let wasm = done.wasm.as_ref();
        let subject = &permit.plan().subject;
        let reached = |one: &Reached| {
            let let_through = if one.allowed { "allowed" } else { "denied" };
            format!("{}:{} {let_through}", one.host, one.port)
        };
        let change = |change: &Change| format!("{} {}", change.kind.as_str(), change.shown());
        ScriptExecution {
            skill_id: subject.skill_id.clone(),
            source: subject.source,
            session_id: self.session.id.clone(),
            task_id: options.task_id.clone(),
            script: script.clone(),
            hash: subject.content.to_string(),
            bundle_sha256: subject.bundle.to_string(),
            enforced: done.enforced.iter().map(ToString::to_string).collect(),
            violations: done.violations.iter().map(|violation| violation.call.clone()).collect(),
            reached: first(done.reached.iter().map(reached)),
            changes: first(done.changes.iter().map(change)),
            change_count: done.changes.len(),
            writes: Writing::Dropped,
            wasm: wasm.map(|wasm| wasm_event(permit, options, spec, done.ended, wasm)),
            record: done.record.clone(),
        }
    }
}

/// Returns what a dry run does not show, by what the skill says of itself: files that it changes are seen, what it sends or starts elsewhere is not done.
fn held_back(side_effects: Option<&[&'static str]>) -> Vec<&'static str> {
    match side_effects {
        None => vec!["unknown"],
        Some(effects) => {
            let is_held = |effect: &&&str| matches!(**effect, "network" | "external");
            effects.iter().filter(is_held).copied().collect()
        }
    }
}

/// What a run leaves.
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    /// What it wrote to its workspace.
    pub(super) layer: Option<sandbox::Layer>,
    /// What it asked the proxy for.
    pub(super) reached: Vec<Reached>,
    pub(super) wasm: Option<WasmRun>,
    pub(super) timings: Timings,
}

/// What was done, and how long it took.
pub(super) type Timings = Vec<(&'static str, Duration)>;

impl Ran {
    pub(super) fn new(outcome: Outcome) -> Self {
        Self { outcome, layer: None, reached: Vec::new(), wasm: None, timings: Vec::new() }
    }
}

/// Runs a program in the sandbox, with its way to the network where it has one.
pub(super) fn program(
    permit: &Permit,
    options: &ExecutionOptions,
    spec: &Spec,
) -> Result<Ran, RuntimeError> {
    let failed = |error| unavailable(&permit.plan().subject.skill_id, error);
    let start = Instant::now();
    let mut running = sandbox::start(spec).map_err(failed)?;
    options.cancel.watch(running.canceller());
    let set_up = ("start the sandbox", start.elapsed());
    let layer = running.take_layer();
    let network = permit.powers().network.clone();
    let reachings = running.take_proxy().map(|listener| {
        let allow = move |host: &str, port: u16| granted(&network, host, port);
        sandbox::proxy::serve(listener, Arc::new(allow))
    });
    let start = Instant::now();
    let outcome = running.wait().map_err(failed)?;
    let timings = vec![set_up, ("run the program", start.elapsed())];
    let reached = reachings.map(|reachings| reachings.all()).unwrap_or_default();
    Ok(Ran { layer, reached, timings, ..Ran::new(outcome) })
}

impl Execution {
    fn new(ran: Ran, spec: &Spec, record: ExecutionRecord, changes: Vec<Change>) -> Self {
        let Ran { outcome, reached, wasm, timings, .. } = ran;
        let output = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
        Self {
            json: serde_json::from_str(output.trim()).ok(),
            output,
            written: [outcome.stdout.total, outcome.stderr.total],
            stdout: outcome.stdout.bytes,
            stderr: outcome.stderr.bytes,
            ended: outcome.ended,
            record,
            violations: outcome.violations,
            changes,
            diff: None,
            note: None,
            committed: false,
            held_back: Vec::new(),
            enforced: outcome.enforced,
            tier: outcome.tier,
            wasm,
            limits: spec.limits,
            timings,
            reached,
            left_out: Vec::new(),
            review: None,
        }
    }
}

/// Returns the first of many texts: a script decides how many there are, and how long.
fn first(all: impl Iterator<Item = String>) -> Vec<String> {
    const MOST: usize = 500;
    let mut left = 64 << 10;
    let fits = |text: &String| {
        let is_left = text.len() <= left;
        left = left.saturating_sub(text.len());
        is_left
    };
    all.take(MOST).take_while(fits).collect()
}

/// Commits what a run wrote, if it may be.
fn commit(
    permit: &Permit,
    layer: &sandbox::Layer,
    done: &mut Execution,
    id: &str,
) -> Result<(), RuntimeError> {
    let skill = id.to_owned();
    if done.changes.is_empty() {
        return Ok(());
    }
    may_commit(permit, &done.changes)
        .map_err(|message| RuntimeError::Commit { skill: skill.clone(), message })?;
    match layer.commit(&done.changes) {
        Ok(()) => {}
        Err(error @ CommitError::Kept { .. }) => done.note = Some(error.to_string()),
        Err(error @ CommitError::Partly { .. }) => {
            return Err(RuntimeError::PartlyCommitted { skill, message: error.to_string() });
        }
        Err(error) => return Err(RuntimeError::Commit { skill, message: error.to_string() }),
    }
    done.committed = true;
    Ok(())
}

/// Deletions need the user's word, in every tier.
fn may_commit(permit: &Permit, changes: &[Change]) -> Result<(), String> {
    let gone = changes.iter().find(|change| change.kind == ChangeKind::Deleted);
    match gone.filter(|_| !permit.may_delete()) {
        Some(change) => Err(format!(
            "{} would be deleted, which was not approved; add --deletions to the approval",
            change.path.display()
        )),
        None => Ok(()),
    }
}

fn needs_approval(request: &Request) -> RuntimeError {
    RuntimeError::NeedsApproval {
        message: format!(
            "`{}` does not run yet: {}",
            request.subject.skill_id,
            request.reasons.join("; ")
        ),
        hint: Some(format!("approve it: {}", request.command(""))),
    }
}

fn unavailable(skill: &str, error: SandboxError) -> RuntimeError {
    match error {
        SandboxError::Unavailable { missing, why, fix } => RuntimeError::SandboxUnavailable {
            missing: missing.iter().map(ToString::to_string).collect(),
            why,
            fix,
        },
        other => {
            RuntimeError::Script { skill: skill.to_owned(), message: other.to_string(), hint: None }
        }
    }
}

/// Returns the record for the audit.
fn record(
    permit: &Permit,
    options: &ExecutionOptions,
    spec: &Spec,
    outcome: &Outcome,
    started: SystemTime,
) -> ExecutionRecord {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let input = options.input.as_ref().map(ToString::to_string).unwrap_or_default();
    let output = [outcome.stdout.bytes.as_slice(), b"\0", &outcome.stderr.bytes].concat();
    let cut = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LOGGED)]).into_owned();
        redact(&text).into_owned()
    };
    let mut used = vec!["read: the skill's folder".to_owned()];
    used.extend(spec.workspace.as_ref().map(|workspace| match workspace.writes {
        Writes::Never => "read: the workspace".to_owned(),
        Writes::Layer | Writes::Direct => "write: the workspace".to_owned(),
    }));
    if !permit.powers().network.is_nothing() {
        used.push("network: by the proxy".to_owned());
    }
    ExecutionRecord {
        skill_id: permit.plan().subject.skill_id.clone(),
        version: permit.plan().version.clone(),
        input_hash: Digest::of(input.as_bytes()).to_string(),
        output_hash: Digest::of(&output).to_string(),
        start_time_ms: milliseconds(started.duration_since(UNIX_EPOCH).unwrap_or_default()),
        duration_ms: milliseconds(outcome.duration),
        permissions_used: used,
        exit_status: match outcome.ended {
            Ended::Exited(0) => ExitStatus::Success,
            Ended::Timeout => ExitStatus::Timeout,
            Ended::Exited(_)
            | Ended::Signalled(_)
            | Ended::Memory
            | Ended::Trapped
            | Ended::Output
            | Ended::Cancelled => ExitStatus::Failed,
        },
        stdout: cut(&outcome.stdout.bytes),
        stderr: cut(&outcome.stderr.bytes),
    }
}
