//! Carries out what a permit lets run: its start is in the log before the program starts, its end whatever ends it.

#![expect(clippy::disallowed_methods, reason = "the edge: the clock")]

use std::collections::BTreeSet;
use std::time::Instant;

use jiff::Timestamp;
use sandbox::{Change, ChangeKind, CommitError, Ended, Network};
use skill::capabilities::Reach;

use crate::decide::permit::Permit;
use crate::record::event::Writing;
use crate::record::log::OpenRun;
use crate::record::run_record::Run;
use crate::run::permitted::may_write;
use crate::run::protected_names::ProtectedNames;
use crate::run::ran::Ran;
use crate::run::undo::{DIRECT, Keeping, NO_STATE};
use crate::run::{Caller, Execution, Failed, diff};
use crate::runtime::OpenSkillRuntime;
use crate::{Event, ExecutionRecord, Logging, RuntimeError};

impl OpenSkillRuntime {
    /// Runs what a permit lets run.
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
        // From here until its end is recorded, a signal ends the run before it ends this process.
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
        // What it wrote directly stays, however it ended; only where nothing was started nothing was written.
        let is_started = !matches!(ran, Err(RuntimeError::SandboxUnavailable { .. }));
        if let Some(direct) = direct.filter(|_| is_started) {
            direct.cannot(DIRECT);
        }
        match ran {
            Ok(mut ran) => {
                ran.timings.insert(0, ("copy the skill", copied));
                self.finish(&run, ran, open, &mut protected)
            }
            // A step of it that was ended from outside has failed, and that is no failure of the sandbox.
            Err(_) if caller.cancel.is_cancelled() => {
                self.finish(&run, Ran::cancelled(start.elapsed()), open, &mut protected)
            }
            Err(error) => {
                let failure = run.failure(&self.session.id, &error);
                // What went wrong is told either way. A marker that stays open is recorded by the next process.
                if self.record(&Event::ScriptFailed(Box::new(failure))).is_ok() {
                    close(open);
                }
                Err(error)
            }
        }
    }

    /// Notes that a run is about to write to its workspace directly: the run before it is not the last one any more.
    fn begin_direct(&self, run: &Run<'_>) -> Result<Option<Keeping>, RuntimeError> {
        let workspace = run.prepared.spec().workspace.as_ref();
        let is_direct = run.writes_directly() && run.options.workspace.is_some();
        let place = self.places()?.state.as_ref().zip(workspace).filter(|_| is_direct);
        let begin = |(state, workspace): (_, &sandbox::Workspace)| {
            Keeping::direct(state, &workspace.path, run.ids())
        };
        Ok(place.map(begin).transpose()?)
    }

    /// Records that a run starts. What cannot be recorded does not start.
    fn begin(&mut self, run: &Run<'_>) -> Result<Option<OpenRun>, RuntimeError> {
        let start = run.start(&self.session.id);
        let open = match self.config.logging {
            Logging::Off => None,
            Logging::All | Logging::WithoutDiscoveries => {
                Some(self.opened_log()?.begin_run(start.clone(), Timestamp::now())?)
            }
        };
        self.tell(&Event::ScriptStarted(Box::new(start)));
        Ok(open)
    }

    /// Records how a run ended, and then applies what it wrote, if it may be.
    fn finish(
        &mut self,
        run: &Run<'_>,
        mut ran: Ran,
        open: Option<OpenRun>,
        protected: &mut ProtectedNames,
    ) -> Result<Execution, RuntimeError> {
        let Run { permit, options, prepared, .. } = run;
        let layer = ran.layer.take();
        // What cannot even be looked at is told after it is in the log.
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
            done.note = may_commit(run, &done.changes).err();
            done.held_back = held_back(permit.plan().side_effects.as_deref());
        }
        let is_good = done.ended == Ended::Exited(0) && done.interrupted.is_none();
        let fate = match &layer {
            None if run.writes_directly() => Writing::Direct,
            Some(_) if options.dry_run => Writing::DryRun,
            // An empty workspace of its own is gone afterwards: nothing of it stays.
            Some(_) if is_good && options.workspace.is_some() => Writing::Commit,
            Some(_) | None => Writing::Dropped,
        };
        // It is in the log before anything of it stays.
        let event = run.executed(&self.session.id, &done, fate);
        self.record(&Event::ScriptExecuted(Box::new(event)))?;
        let unreadable = unreadable.filter(|_| options.workspace.is_some());
        let committed = protected
            .check()
            .and_then(|()| unreadable.map_or(Ok(()), Err))
            .map_err(|message| run.not_committed(message))
            .and_then(|()| match layer.filter(|_| fate == Writing::Commit) {
                // A kill from here on may leave a part of it in the workspace.
                Some(layer) => self.commit(run, &layer, &mut done),
                None => Ok(Commit::Nothing),
            });
        self.applied(run, committed, done, open)
    }

    /// Commits what a run wrote, with what it replaces kept to be put back.
    fn commit(
        &self,
        run: &Run<'_>,
        layer: &sandbox::Layer,
        done: &mut Execution,
    ) -> Result<Commit, RuntimeError> {
        may_commit(run, &done.changes).map_err(|message| run.not_committed(message))?;
        let workspace = run.prepared.spec().workspace.as_ref();
        let place = self.places()?.state.as_ref().zip(workspace);
        let is_worth =
            !done.changes.is_empty() && done.changes.iter().all(|one| one.refused.is_none());
        let keeping = match place.filter(|_| is_worth) {
            Some((state, workspace)) => {
                Some(Keeping::changes(state, &workspace.path, &done.changes, run.ids())?)
            }
            None => None,
        };
        let committed = commit(run, layer, done);
        // It is committed; that it cannot be taken back changes nothing of that. What was not leaves the record of the run before.
        match (&committed, keeping) {
            (Ok(Commit::All), Some(keeping)) => done.cannot_undo = keeping.committed().err(),
            (Ok(Commit::All), None) => done.cannot_undo = Some(NO_STATE.to_owned()),
            (Err(RuntimeError::PartlyCommitted { .. }), Some(keeping)) => {
                keeping.cannot("its changes were applied in part");
            }
            (Ok(Commit::Nothing | Commit::CalledOff) | Err(_), _) => {}
        }
        done.can_undo = matches!(committed, Ok(Commit::All)) && done.cannot_undo.is_none();
        committed
    }

    /// Records what became of the changes. They are in the workspace already, or not, so a log that cannot be written is told and
    /// changes nothing; a marker that stays open is then recorded by the next process.
    fn applied(
        &mut self,
        run: &Run<'_>,
        committed: Result<Commit, RuntimeError>,
        mut done: Execution,
        open: Option<OpenRun>,
    ) -> Result<Execution, RuntimeError> {
        let session = &self.session.id;
        let event = match &committed {
            Ok(Commit::Nothing) => {
                close(open);
                return Ok(done);
            }
            Ok(Commit::All) => Event::Committed(run.committed(session, &done)),
            Ok(Commit::CalledOff) => {
                let signal = run.caller.cancel.signal();
                (done.interrupted, done.ended) = (signal, Ended::Cancelled);
                Event::CommitFailed(run.called_off(session, signal))
            }
            Err(error) => Event::CommitFailed(run.commit_failure(session, error)),
        };
        match self.record(&event) {
            Ok(()) => close(open),
            Err(error) => {
                done.add_note(&format!("what became of the changes is not in the log: {error}"));
            }
        }
        // What it wrote and what is recorded of it is the caller's, whatever became of its changes.
        done.not_committed = committed.err().map(Box::new);
        Ok(done)
    }
}

/// Takes the marker of a run away: how it ended is in the log.
fn close(open: Option<OpenRun>) {
    if let Some(open) = open {
        open.close();
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

impl Execution {
    fn new(run: &Run<'_>, ran: Ran, changes: Vec<Change>) -> Self {
        let record: ExecutionRecord = run.record(&ran, &changes);
        let causes = causes(run, &ran);
        let Ran { outcome, reached, wasm, timings, .. } = ran;
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
            committed: false,
            can_undo: false,
            cannot_undo: (run.writes_directly() && run.options.workspace.is_some())
                .then(|| DIRECT.to_owned()),
            not_committed: None,
            causes,
            interpreter: run.prepared.interpreter.clone(),
            held_back: Vec::new(),
            enforced: outcome.enforced,
            tier: outcome.tier,
            wasm,
            limits: run.prepared.spec().limits,
            timings,
            reached,
            left_out: run.permit.left_out().to_vec(),
            review: run.permit.review().map(str::to_owned),
            secrets: run.secrets.clone(),
        }
    }
}

/// Returns why a run most likely failed.
fn causes(run: &Run<'_>, ran: &Ran) -> Vec<String> {
    let denied: BTreeSet<String> =
        ran.reached.iter().filter(|one| !one.allowed).map(|one| one.host.clone()).collect();
    let declared: Vec<String> = match &run.permit.plan().declared.network {
        Some(Reach::Only(hosts)) => hosts.iter().map(ToString::to_string).collect(),
        Some(Reach::Everything) | None => Vec::new(),
    };
    Failed {
        reader: run.caller.reader,
        approve: &run.permit.approve_command(&run.caller.look),
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

/// What became of what a run wrote.
enum Commit {
    /// There was nothing to apply.
    Nothing,
    /// All of it is in the workspace.
    All,
    /// The run was cancelled before anything of it was.
    CalledOff,
}

/// Commits what a run wrote, if it may be. A signal counts until the first change is made; then all of them are.
fn commit(
    run: &Run<'_>,
    layer: &sandbox::Layer,
    done: &mut Execution,
) -> Result<Commit, RuntimeError> {
    if done.changes.is_empty() {
        return Ok(Commit::Nothing);
    }
    match layer.commit_unless(&done.changes, &|| run.caller.cancel.is_cancelled()) {
        Ok(()) => {}
        Err(CommitError::CalledOff) => return Ok(Commit::CalledOff),
        Err(error @ CommitError::Kept { .. }) => done.note = Some(error.to_string()),
        Err(error @ CommitError::Partly { .. }) => {
            let skill = run.permit.plan().subject.skill_id.clone();
            return Err(RuntimeError::PartlyCommitted { skill, message: error.to_string() });
        }
        Err(error) => return Err(run.not_committed(error.to_string())),
    }
    done.committed = true;
    Ok(Commit::All)
}

/// Deletions need the user's word, in every trust level.
fn may_commit(run: &Run<'_>, changes: &[Change]) -> Result<(), String> {
    let gone = changes.iter().find(|change| change.kind == ChangeKind::Deleted);
    match gone.filter(|_| !run.permit.may_delete()) {
        Some(change) => Err(format!(
            "{} would be deleted, which was not approved; to let it: {} --deletions",
            change.path.display(),
            run.permit.approve_command(&run.caller.look)
        )),
        None => Ok(()),
    }
}
