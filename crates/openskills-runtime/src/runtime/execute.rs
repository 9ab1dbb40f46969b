//! Runs a script of a skill.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment, the clock and files")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use sandbox::proxy::Reached;
use sandbox::{Change, ChangeKind, CommitError, Ended, Outcome, SandboxError, Spec};
use skill::Digest;
use skill_fs::{AbsPath, FsError, Kind, Root, WalkLimits, walk};
use skill_state::runtime_place;

use super::OpenSkillRuntime;
use super::guarded::Guarded;
use crate::event::{CommitFailure, Writing};
use crate::exec::{
    Answer, Around, Candidate, Execution, ExecutionOptions, Expected, PrivateCopy, Runs, choose,
    diff, interpreter, is_reached, spec, with_types,
};
use crate::log::redact;
use crate::permit::{Authorization, Permit, Request, Subject};
use crate::state::nowhere;
use crate::{Event, ExecutionRecord, ExitStatus, Places, RuntimeError, ScriptExecution, Skill};

/// How much of a file is read to know how it is run.
const START: u64 = 256;
/// How much of each stream is written to the log.
const LOGGED: usize = 4096;

impl OpenSkillRuntime {
    /// Runs a script of a skill in the sandbox, if that is permitted. It is in the log before its result is returned, and before what it
    /// wrote is committed to the workspace.
    pub fn execute_skill(
        &mut self,
        name: &str,
        options: ExecutionOptions,
    ) -> Result<Execution, RuntimeError> {
        let (name, options) = self.by_command(name, options);
        let permit = self.permit(&name, &options)?;
        self.carry_out(&permit, &options)
    }

    /// A name that is no skill's may be that of a command which csk installed from one.
    fn by_command(&self, name: &str, options: ExecutionOptions) -> (String, ExecutionOptions) {
        let is_skill = self.skill(name).is_ok() || !self.candidates(name).is_empty();
        if is_skill || options.script.is_some() {
            return (name.to_owned(), options);
        }
        let brings = |skill: &&Arc<Skill>| {
            skill.provenance.as_ref().is_some_and(|from| from.commands.contains_key(name))
        };
        let skills = self.list_skills();
        let mut found = skills.iter().filter(brings);
        match (found.next(), found.next()) {
            (Some(skill), None) => {
                (skill.id.clone(), ExecutionOptions { script: Some(name.to_owned()), ..options })
            }
            // None, or one of several: then the skill has to be named.
            _ => (name.to_owned(), options),
        }
    }

    /// Plans a run and gets leave for it: by what was approved, for once, or by asking.
    pub fn permit(
        &mut self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<Permit, RuntimeError> {
        let plan = self.plan_run(name, options.script.as_deref(), options.asked.clone())?;
        let once = if options.once {
            Some(self.request(&plan)?.map_err(|refusal| refusal.error())?.grant)
        } else {
            None
        };
        let request = match self.authorize(plan.clone(), once)? {
            Authorization::Permit(permit) => return Ok(*permit),
            Authorization::Refusal(refusal) => return Err(refusal.error()),
            Authorization::Ask(request) => request,
        };
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

    /// Runs what a permit lets run.
    fn carry_out(
        &mut self,
        permit: &Permit,
        options: &ExecutionOptions,
    ) -> Result<Execution, RuntimeError> {
        let Prepared { spec, script, _held } = self.prepare(permit, options)?;
        let id = permit.plan().subject.skill_id.clone();
        let mut guarded = Guarded::new(&spec);
        let started = SystemTime::now();
        let mut running = sandbox::start(&spec).map_err(|error| unavailable(&id, error))?;
        let layer = running.take_layer();
        let network = permit.powers().network.clone();
        let reachings = running.take_proxy().map(|listener| {
            // A host is granted for the web; other services of it are not.
            let allow =
                move |host: &str, port: u16| matches!(port, 80 | 443) && is_reached(&network, host);
            sandbox::proxy::serve(listener, Arc::new(allow))
        });
        let outcome = running.wait().map_err(|error| unavailable(&id, error))?;
        let reached = reachings.map(|reachings| reachings.all()).unwrap_or_default();
        let not_committed = |message: String| RuntimeError::Commit { skill: id.clone(), message };
        // What cannot even be looked at is told after it is in the log.
        let (changes, unreadable) = match layer.as_ref().map(sandbox::Layer::changes) {
            Some(Ok(changes)) => (changes, None),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
            None => (Vec::new(), None),
        };
        let record = record(permit, options, &outcome, started);
        let mut done = Execution::new(outcome, record, changes, reached);
        if let Some((layer, workspace)) =
            layer.as_ref().zip(spec.workspace.as_ref()).filter(|_| options.dry_run)
        {
            done.diff = Some(diff(&workspace.path, layer, &done.changes));
        }
        if options.dry_run {
            done.note = may_commit(permit, &done.changes).err();
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
        let event = ScriptExecution { writes: fate, ..self.event(permit, options, &script, &done) };
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
                script,
                reason: error.to_string().chars().take(LOGGED).collect(),
            };
            let _ = self.record(&Event::CommitFailed(failure));
            return Err(error);
        }
        Ok(done)
    }

    /// Copies what was permitted, chooses what of it runs, and says with which powers.
    fn prepare(
        &self,
        permit: &Permit,
        options: &ExecutionOptions,
    ) -> Result<Prepared, RuntimeError> {
        let subject = &permit.plan().subject;
        let skill = self.skill(&subject.skill_id)?;
        let wrong =
            |message: String| RuntimeError::Script { skill: subject.skill_id.clone(), message };
        let places = self.places()?;
        let (root, expected, named) = self.what_runs(skill, subject, options.script.as_deref())?;
        let base =
            places.cache.as_ref().or(places.state.as_ref()).ok_or_else(nowhere)?.join("runs");
        if options.dry_run && options.asked.direct_writes {
            return Err(wrong("a dry run cannot write directly".to_owned()));
        }
        sweep(&base);
        let copy = PrivateCopy::new(&root, &base, expected)?;
        let copied = Root::open(&copy.root)?;
        let mut chosen = choose(&candidates(&copied)?, named.as_deref()).map_err(wrong)?;
        let failed = |source| FsError::Io { path: base.to_string(), source };
        let scratch =
            tempfile::Builder::new().prefix("work-").tempdir_in(base.as_path()).map_err(failed)?;
        let home = places.home.as_ref().map(AbsPath::as_path);
        let own = own_places(places);
        let workspace = match &options.workspace {
            Some(path) => real_workspace(&places.cwd.as_path().join(path), home, &own)?,
            None => std::fs::canonicalize(scratch.path()).map_err(failed)?,
        };
        let avoid = [Path::new(skill.path()), copy.root.as_path(), workspace.as_path()];
        let mut found = match &chosen.runs {
            Runs::By { interpreter: name, .. } => Some(interpreter(name, &avoid).map_err(wrong)?),
            Runs::Itself => None,
        };
        if let Some(found) = &found {
            with_types(&mut chosen, found.types).map_err(wrong)?;
        }
        // An interpreter may live in a folder with much else; never are our own files granted with it.
        if let Some(found) = &mut found {
            found.folders.retain(|folder| {
                !touches(folder, &own) && home.is_none_or(|home| !home.starts_with(folder))
            });
        }
        let script = copy.root.join(&chosen.path);
        let around = Around {
            skill: copy.root.as_path(),
            script: script.as_path(),
            runs: &chosen.runs,
            interpreter: found.as_ref(),
            workspace: &workspace,
            home,
            env: &std::env::vars_os().collect::<Vec<_>>(),
        };
        let mut spec = spec(permit, options, &around).map_err(wrong)?;
        spec.read.retain(|path| path == copy.root.as_path() || !touches(path, &own));
        Ok(Prepared { spec, script: chosen.path, _held: (copy, scratch) })
    }

    /// Finds the folder that something of is run: the skill's own, or that of a command which csk installed from it.
    fn what_runs(
        &self,
        skill: &Skill,
        subject: &Subject,
        named: Option<&str>,
    ) -> Result<(Root, Expected, Option<String>), RuntimeError> {
        let wrong = |message: &str| RuntimeError::Script {
            skill: subject.skill_id.clone(),
            message: message.to_owned(),
        };
        let from =
            skill.provenance.as_deref().filter(|from| from.has_receipt && !subject.is_drifted);
        let command = from.zip(named).and_then(|(from, named)| {
            let path = from.commands.get(named)?;
            Some((from, path.clone(), from.runtime.as_ref()?))
        });
        if let Some((from, path, (name, list))) = command {
            let home =
                self.places()?.csk_home.as_ref().ok_or_else(|| wrong("csk has no home here"))?;
            let root = Root::open(&runtime_place(home, name, &from.commit))?;
            return Ok((root, Expected::Runtime(*list), Some(path.to_string())));
        }
        let root = crate::load::open(skill)?.ok_or_else(|| wrong("it has no script to run"))?;
        Ok((root, Expected::Bundle(subject.folder), named.map(str::to_owned)))
    }

    fn event(
        &self,
        permit: &Permit,
        options: &ExecutionOptions,
        script: &str,
        done: &Execution,
    ) -> ScriptExecution {
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
            script: script.to_owned(),
            hash: subject.content.to_string(),
            bundle_sha256: subject.bundle.to_string(),
            enforced: done.enforced.iter().map(ToString::to_string).collect(),
            violations: done.violations.iter().map(|violation| violation.call.clone()).collect(),
            reached: first(done.reached.iter().map(reached)),
            changes: first(done.changes.iter().map(change)),
            change_count: done.changes.len(),
            writes: Writing::Dropped,
            record: done.record.clone(),
        }
    }
}

/// Everything that a run needs.
struct Prepared {
    spec: Spec,
    /// What runs, seen from the skill.
    script: String,
    /// The copy of the skill, and an empty workspace: they are there as long as this is.
    _held: (PrivateCopy, tempfile::TempDir),
}

impl Execution {
    fn new(
        outcome: Outcome,
        record: ExecutionRecord,
        changes: Vec<Change>,
        reached: Vec<Reached>,
    ) -> Self {
        let output = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
        Self {
            json: serde_json::from_str(output.trim()).ok(),
            output,
            stdout: outcome.stdout.bytes,
            stderr: outcome.stderr.bytes,
            ended: outcome.ended,
            record,
            violations: outcome.violations,
            changes,
            diff: None,
            note: None,
            committed: false,
            enforced: outcome.enforced,
            tier: outcome.tier,
            reached,
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

/// Lists the files of a skill with how each begins.
fn candidates(root: &Root) -> Result<Vec<Candidate>, RuntimeError> {
    let mut all = Vec::new();
    for entry in walk(root, &WalkLimits::SKILL)? {
        if let Kind::File { executable, .. } = entry.kind {
            use std::io::Read;

            let mut start = Vec::new();
            let read = root.file(&entry.path)?.take(START).read_to_end(&mut start);
            read.map_err(|source| FsError::Io { path: entry.path.to_string(), source })?;
            all.push(Candidate { path: entry.path.to_string(), is_executable: executable, start });
        }
    }
    Ok(all)
}

/// Removes what killed runs left, a day ago or longer. It is ours alone.
fn sweep(base: &AbsPath) {
    const OLD: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);
    let Ok(entries) = std::fs::read_dir(base.as_path()) else { return };
    for entry in entries.filter_map(Result::ok) {
        let age = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .map(|modified| modified.elapsed());
        if age.is_ok_and(|age| age.is_ok_and(|age| age > OLD)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns the folders in which openskills and csk keep what no script may touch.
fn own_places(places: &Places) -> Vec<PathBuf> {
    let all = [
        &places.config,
        &places.state,
        &places.cache,
        &places.data,
        &places.csk_home,
        &places.claude,
    ];
    let all = all.into_iter().flatten().map(|place| place.as_path().to_owned());
    all.flat_map(|place| [std::fs::canonicalize(&place).unwrap_or_else(|_| place.clone()), place])
        .collect()
}

/// Returns true if a folder is one of those, or in one, or holds one.
fn touches(folder: &Path, own: &[PathBuf]) -> bool {
    own.iter().any(|own| own.starts_with(folder) || folder.starts_with(own))
}

/// Returns the real path of a workspace, unless it is more than anybody means.
fn real_workspace(
    path: &Path,
    home: Option<&Path>,
    own: &[PathBuf],
) -> Result<PathBuf, RuntimeError> {
    let setup = |message: String| RuntimeError::Setup {
        message,
        hint: Some("name the folder of a project: --workspace DIR".to_owned()),
    };
    let real = std::fs::canonicalize(path)
        .map_err(|error| setup(format!("{}: {error}", path.display())))?;
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    let is_too_much = real.parent().is_none() || home.is_some_and(|home| home.starts_with(&real));
    if !real.is_dir() {
        return Err(setup(format!("{} is not a folder", path.display())));
    }
    if is_too_much {
        return Err(setup(format!("{} holds more than a project", path.display())));
    }
    if touches(&real, own) {
        return Err(setup(format!(
            "{} holds files of openskills or csk, or is one of their folders",
            path.display()
        )));
    }
    Ok(real)
}

fn unavailable(skill: &str, error: SandboxError) -> RuntimeError {
    match error {
        SandboxError::Unavailable { missing, why, fix } => RuntimeError::SandboxUnavailable {
            missing: missing.iter().map(ToString::to_string).collect(),
            why,
            fix,
        },
        other => RuntimeError::Script { skill: skill.to_owned(), message: other.to_string() },
    }
}

/// Returns the record for the audit.
fn record(
    permit: &Permit,
    options: &ExecutionOptions,
    outcome: &Outcome,
    started: SystemTime,
) -> ExecutionRecord {
    let milliseconds =
        |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let input = options.input.as_ref().map(ToString::to_string).unwrap_or_default();
    let output = [outcome.stdout.bytes.as_slice(), b"\0", &outcome.stderr.bytes].concat();
    let cut = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LOGGED)]).into_owned();
        redact(&text).into_owned()
    };
    let mut used = vec!["read: the skill's folder".to_owned(), "write: the workspace".to_owned()];
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
            | Ended::Output
            | Ended::Cancelled => ExitStatus::Failed,
        },
        stdout: cut(&outcome.stdout.bytes),
        stderr: cut(&outcome.stderr.bytes),
    }
}
