//! Carries out a permitted run. Its start is logged before the program starts, and its end is logged however it ends.

#![expect(clippy::disallowed_methods, reason = "the edge: the clock")]

use std::collections::BTreeSet;
use std::time::Instant;

use jiff::Timestamp;
use sandbox::{ApplyError, Change, ChangeKind, Ended, Network};
use skill::capabilities::Reach;

use crate::decide::permit::Permit;
use crate::record::event::WriteMode;
use crate::record::log::{OpenRun, RunStart};
use crate::record::run_record::Run;
use crate::run::permitted::may_write;
use crate::run::protected_names::ProtectedNames;
use crate::run::run_result::RunResult;
use crate::run::undo::{DIRECT, NO_STATE, UndoJournal};
use crate::run::{Caller, Execution, FailedRun, diff};
use crate::runtime::OpenSkillRuntime;
use crate::{Event, ExecutionRecord, Logging, RuntimeError};

impl OpenSkillRuntime {
    /// Runs what a permit allows.
    pub fn carry_out(
        &mut self,
        permit: Permit,
        caller: &Caller,
    ) -> Result<Execution, RuntimeError> {
        let start = Instant::now();
        let (skill_id, script) =
            (permit.plan().subject.skill_id.clone(), permit.plan().script.clone());
        let prepared = match self.prepare(permit) {
            Ok(prepared) => prepared,
            Err(error) => {
                self.record_refused(skill_id, script, &error)?;
                return Err(error);
            }
        };
        let copied = start.elapsed();
        // From here until the end is logged, a signal stops the run before it stops this process.
        let _entered = caller.cancel.enter();
        let run = Run::new(&prepared, caller)?;
        let direct = self.begin_direct(&run)?;
        let open = self.begin(&run)?;
        let mut protected = ProtectedNames::new(prepared.spec());
        let start = Instant::now();
        let ran = match &prepared.module {
            Some(wasm) => self.module(&prepared, wasm, &caller.cancel),
            None => prepared.run.run(&caller.cancel),
        };
        // Direct writes stay, however the run ended. Only if nothing was started was nothing written.
        let is_started = !matches!(ran, Err(RuntimeError::SandboxUnavailable { .. }));
        if let Some(direct) = direct.filter(|_| is_started) {
            direct.cannot(DIRECT);
        }
        match ran {
            Ok(mut ran) => {
                ran.timings.insert(0, ("copy the skill", copied));
                self.finish(&run, ran, open, &mut protected)
            }
            // A step that failed because it was cancelled is not a failure of the sandbox.
            Err(_) if caller.cancel.is_cancelled() => {
                self.finish(&run, RunResult::cancelled(start.elapsed()), open, &mut protected)
            }
            Err(error) => {
                let failure = run.failure(&self.session.id, &error);
                // The error is returned either way. If the marker stays open, the next process logs it.
                if self.record(&Event::ScriptFailed(Box::new(failure))).is_ok() {
                    close(open);
                }
                Err(error)
            }
        }
    }

    /// Records that a run is about to write to its workspace directly, so that `undo` no longer offers the run before
    /// it.
    fn begin_direct(&self, run: &Run<'_>) -> Result<Option<UndoJournal>, RuntimeError> {
        let workspace = run.prepared.spec().workspace.as_ref();
        let is_direct = run.writes_directly() && run.options.workspace.is_some();
        let place = self.places()?.state.as_ref().zip(workspace).filter(|_| is_direct);
        let begin = |(state, workspace): (_, &sandbox::Workspace)| {
            UndoJournal::direct(state, &workspace.path, run.ids())
        };
        Ok(place.map(begin).transpose()?)
    }

    /// Logs the start of a run. A run that cannot be logged does not start.
    fn begin(&mut self, run: &Run<'_>) -> Result<Option<OpenRun>, RuntimeError> {
        self.begin_run(&RunStart::Script(Box::new(run.start(&self.session.id))))
    }

    /// Logs the start of an execution, and marks it as open until another event ends it.
    pub(crate) fn begin_run(&mut self, start: &RunStart) -> Result<Option<OpenRun>, RuntimeError> {
        let open = match self.config.logging {
            Logging::Off => None,
            Logging::All | Logging::WithoutDiscoveries => {
                Some(self.opened_log()?.begin_run(start, Timestamp::now())?)
            }
        };
        self.notify(&start.event());
        Ok(open)
    }

    /// Logs how a run ended, and then applies its changes if that is allowed.
    fn finish(
        &mut self,
        run: &Run<'_>,
        mut ran: RunResult,
        open: Option<OpenRun>,
        protected: &mut ProtectedNames,
    ) -> Result<Execution, RuntimeError> {
        let Run { permit, options, prepared, .. } = run;
        let layer = ran.layer.take();
        // Changes that cannot be read are reported after the end is logged.
        let (changes, unreadable) = match layer.as_ref().map(sandbox::Layer::changes) {
            Some(Ok(changes)) => (changes, None),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
            None => (Vec::new(), None),
        };
        let mut done = Execution::new(run, ran, changes);
        if let Some((layer, workspace)) =
            layer.as_ref().zip(prepared.spec().workspace.as_ref()).filter(|_| options.dry_run)
        {
            done.diff = Some(diff(&workspace.path, layer, &done.changes));
        }
        if options.dry_run {
            done.note = may_apply(run, &done.changes).err();
            done.withheld = withheld(permit.plan().side_effects.as_deref());
        }
        let is_good = done.ended == Ended::Exited(0) && done.interrupted.is_none();
        let writing = match &layer {
            None if run.writes_directly() => WriteMode::Direct,
            Some(_) if options.dry_run => WriteMode::DryRun,
            // A temporary workspace is removed afterwards, so there is nothing to apply.
            Some(_) if is_good && options.workspace.is_some() => WriteMode::Apply,
            Some(_) | None => WriteMode::Dropped,
        };
        // Log the end before any change takes effect.
        let event = run.executed(&self.session.id, &done, writing);
        self.record(&Event::ScriptExecuted(Box::new(event)))?;
        let unreadable = unreadable.filter(|_| options.workspace.is_some());
        let applied = protected
            .check()
            .and_then(|()| unreadable.map_or(Ok(()), Err))
            .map_err(|message| run.not_applied(message))
            .and_then(|()| match layer.filter(|_| writing == WriteMode::Apply) {
                // If the process is killed from here on, the changes may be partly applied.
                Some(layer) => self.apply(run, &layer, &mut done),
                None => Ok(ApplyOutcome::Nothing),
            });
        self.applied(run, applied, done, open)
    }

    /// Applies the changes of a run and keeps the replaced files for `undo`.
    fn apply(
        &self,
        run: &Run<'_>,
        layer: &sandbox::Layer,
        done: &mut Execution,
    ) -> Result<ApplyOutcome, RuntimeError> {
        may_apply(run, &done.changes).map_err(|message| run.not_applied(message))?;
        let workspace = run.prepared.spec().workspace.as_ref();
        let place = self.places()?.state.as_ref().zip(workspace);
        let is_worth =
            !done.changes.is_empty() && done.changes.iter().all(|one| one.refused.is_none());
        let journal = match place.filter(|_| is_worth) {
            Some((state, workspace)) => {
                Some(UndoJournal::changes(state, &workspace.path, &done.changes, run.ids())?)
            }
            None => None,
        };
        let applied = apply(run, layer, done);
        // The changes are applied, even if they cannot be undone. If they were not applied, the record of the previous
        // run stays.
        match (&applied, journal) {
            (Ok(ApplyOutcome::All), Some(journal)) => done.cannot_undo = journal.applied().err(),
            (Ok(ApplyOutcome::All), None) => done.cannot_undo = Some(NO_STATE.to_owned()),
            (Err(RuntimeError::PartlyApplied { .. }), Some(journal)) => {
                journal.cannot("its changes were only partly applied");
            }
            (Ok(ApplyOutcome::Nothing | ApplyOutcome::CalledOff) | Err(_), _) => {}
        }
        done.can_undo = matches!(applied, Ok(ApplyOutcome::All)) && done.cannot_undo.is_none();
        applied
    }

    /// Logs whether the changes were applied. By now that cannot change any more, so if the log cannot be written, this
    /// is only noted; the marker stays open and the next process logs it.
    fn applied(
        &mut self,
        run: &Run<'_>,
        applied: Result<ApplyOutcome, RuntimeError>,
        mut done: Execution,
        open: Option<OpenRun>,
    ) -> Result<Execution, RuntimeError> {
        let session = &self.session.id;
        let event = match &applied {
            Ok(ApplyOutcome::Nothing) => {
                close(open);
                return Ok(done);
            }
            Ok(ApplyOutcome::All) => Event::Applied(run.applied(session, &done)),
            Ok(ApplyOutcome::CalledOff) => {
                let signal = run.caller.cancel.signal();
                (done.interrupted, done.ended) = (signal, Ended::Cancelled);
                Event::ApplyFailed(run.apply_cancelled(session, signal))
            }
            Err(error) => Event::ApplyFailed(run.apply_failure(session, error)),
        };
        match self.record(&event) {
            Ok(()) => close(open),
            Err(error) => {
                done.add_note(&format!("cannot log whether the changes were applied: {error}"));
            }
        }
        // The caller gets the output and the record, whether or not the changes were applied.
        done.not_applied = applied.err().map(Box::new);
        Ok(done)
    }
}

/// Removes the marker of a run, because its end is logged.
pub(crate) fn close(open: Option<OpenRun>) {
    if let Some(open) = open {
        open.close();
    }
}

/// Returns the declared side effects that a dry run prevents. File changes are shown; anything sent or started
/// elsewhere does not happen.
fn withheld(side_effects: Option<&[&'static str]>) -> Vec<&'static str> {
    match side_effects {
        None => vec!["unknown"],
        Some(effects) => {
            let is_held = |effect: &&&str| matches!(**effect, "network" | "external");
            effects.iter().filter(is_held).copied().collect()
        }
    }
}

impl Execution {
    fn new(run: &Run<'_>, ran: RunResult, changes: Vec<Change>) -> Self {
        let record: ExecutionRecord = run.record(&ran, &changes);
        let causes = causes(run, &ran);
        let RunResult { outcome, reached, wasm, timings, .. } = ran;
        let output = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
        Self {
            json: serde_json::from_str(output.trim()).ok(),
            output,
            written: [outcome.stdout.total, outcome.stderr.total],
            stdout: outcome.stdout.bytes,
            stderr: outcome.stderr.bytes,
            ended: outcome.ended,
            interrupted: run.caller.cancel.signal(),
            record,
            violations: outcome.violations,
            changes,
            diff: None,
            note: None,
            applied: false,
            can_undo: false,
            cannot_undo: (run.writes_directly() && run.options.workspace.is_some())
                .then(|| DIRECT.to_owned()),
            not_applied: None,
            causes,
            interpreter: run.prepared.interpreter.clone(),
            withheld: Vec::new(),
            enforced: outcome.enforced,
            tier: outcome.tier,
            wasm,
            limits: run.prepared.spec().limits,
            timings,
            reached,
            not_granted: run.permit.not_granted().to_vec(),
            review: run.permit.review().map(str::to_owned),
            secrets: run.secrets.clone(),
        }
    }
}

/// Returns the likely causes of a failed run.
fn causes(run: &Run<'_>, ran: &RunResult) -> Vec<String> {
    let denied: BTreeSet<String> =
        ran.reached.iter().filter(|one| !one.allowed).map(|one| one.host.clone()).collect();
    let declared: Vec<String> = match &run.permit.plan().declared.network {
        Some(Reach::Only(hosts)) => hosts.iter().map(ToString::to_string).collect(),
        Some(Reach::Everything) | None => Vec::new(),
    };
    FailedRun {
        audience: run.caller.audience,
        approve: &run.permit.approve_command(&run.caller.discovery_flags),
        stderr: &String::from_utf8_lossy(&ran.outcome.stderr.bytes),
        ended: ran.outcome.ended,
        is_socket_blocked: ran.outcome.violations.iter().any(|one| one.call == "socket"),
        declared: &declared,
        wall: run.prepared.spec().limits.wall,
        interpreter: run.prepared.interpreter.as_deref(),
        unused: &run.prepared.unused,
        memory: run.prepared.spec().limits.memory,
        is_dry: run.options.dry_run,
        has_network: run.prepared.spec().network != Network::None,
        denied: &denied.into_iter().collect::<Vec<_>>(),
        may_write: may_write(run.prepared.spec().workspace.as_ref()),
        is_workspace_empty: run.options.workspace.is_none(),
    }
    .causes()
}

/// What happened to the changes of a run.
enum ApplyOutcome {
    /// There were no changes.
    Nothing,
    /// All changes are in the workspace.
    All,
    /// The run was cancelled before any change was applied.
    CalledOff,
}

/// Applies the changes of a run. A signal cancels this only until the first change is made; after that all of them are.
fn apply(
    run: &Run<'_>,
    layer: &sandbox::Layer,
    done: &mut Execution,
) -> Result<ApplyOutcome, RuntimeError> {
    if done.changes.is_empty() {
        return Ok(ApplyOutcome::Nothing);
    }
    match layer.apply_unless_cancelled(&done.changes, &|| run.caller.cancel.is_cancelled()) {
        Ok(()) => {}
        Err(ApplyError::Cancelled) => return Ok(ApplyOutcome::CalledOff),
        Err(error @ ApplyError::LeftoversKept { .. }) => done.note = Some(error.to_string()),
        Err(error @ ApplyError::PartlyApplied { .. }) => {
            let skill = run.permit.plan().subject.skill_id.clone();
            return Err(RuntimeError::PartlyApplied { skill, message: error.to_string() });
        }
        Err(error) => return Err(run.not_applied(error.to_string())),
    }
    done.applied = true;
    Ok(ApplyOutcome::All)
}

/// Checks that the changes contain no unapproved deletion. Deletions need approval at every trust level.
fn may_apply(run: &Run<'_>, changes: &[Change]) -> Result<(), String> {
    let gone = changes.iter().find(|change| change.kind == ChangeKind::Deleted);
    match gone.filter(|_| !run.permit.may_delete()) {
        Some(change) => Err(format!(
            "it would delete `{}`, which was not approved; to allow it, run: {}",
            change.path.display(),
            run.permit.approve_deletions_command(&run.caller.discovery_flags)
        )),
        None => Ok(()),
    }
}
