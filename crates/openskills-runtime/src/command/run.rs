//! Runs a permitted command line, applies what it wrote, and records it.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use sandbox::{
    Applied, ApplyError, BackgroundId, Captured, Change, Conflict, Ended, Layer, ProcessId,
    Violation,
};
use skill::Digest;
use skill::capabilities::{CapabilityKind, Permission, Reach};
use skill_fs::{AbsPath, FsError, Lock, LockError, make_private_folder};

use super::background::{self, BackgroundRecord, LaterChanges, milliseconds};
use super::git_settings::git_settings;
use super::kept::{self, KeptChanges, change_lines, conflict_lines};
use super::runs_later::runs_later;
use super::session_folders::SessionFolders;
use super::spec::{CommandInputs, spec};
use super::toolchains::SearchPath;
use crate::decide::command::{ApplyTime, CommandPermit};
use crate::record::event::{
    CommandExecution, CommandFailure, CommandSkill, CommandStart, CommandWrites,
};
use crate::record::log::{OpenRun, RunStart, redact};
use crate::record::process::ProcessIdentity;
use crate::run::carry_out::close;
use crate::run::run_folder::{self, RunFolder};
use crate::run::{
    Cancel, FinishedCommand, PermittedCommand, ProvidedToCommand, overlaps, own_folders, real_home,
};
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::{Event, RuntimeError};

/// How much of a command line the log keeps, in bytes.
const MAX_LINE: usize = 16 << 10;
/// How many changes and refusals the log keeps of a command.
const MAX_LOGGED: usize = 100;
/// The folder of the locks of workspaces, in the state folder.
const LOCKS: &str = "workspaces";

/// The result of a command line.
#[derive(Debug)]
pub struct CommandResult {
    /// How it ended.
    pub ended: Ended,
    /// The signal that this process received and that stopped it; none of its changes were applied.
    pub interrupted: Option<i32>,
    /// Its output, if it was captured.
    pub stdout: Captured,
    /// Its errors, if they were captured.
    pub stderr: Captured,
    /// The folder that it ended in, if that is in the workspace.
    pub cwd: Option<PathBuf>,
    /// What happened to its changes.
    pub writes: CommandWrites,
    /// Its changes.
    pub changes: Vec<Change>,
    /// Changed files that programs outside of the sandbox may run later.
    pub runs_later: Vec<String>,
    /// The changes that are kept because of a conflict.
    pub kept: Option<KeptChanges>,
    /// Blocked system calls.
    pub violations: Vec<Violation>,
    /// Hosts that it tried to reach, and whether that was allowed.
    pub reached: Vec<sandbox::proxy::ProxyRequest>,
    /// Whether it left processes running.
    pub left_running: bool,
    /// How long it took.
    pub duration: Duration,
}

impl CommandResult {
    /// Returns the changes that were refused.
    pub fn refused(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.refused.is_some())
    }
}

/// A command line that is ready to start.
struct PreparedCommand {
    command: PermittedCommand,
    /// The last folder, as a file of this machine.
    last_folder: PathBuf,
    begun: Instant,
    /// The same by the clock that file times use.
    begun_at: SystemTime,
    /// Contains its writes.
    layer: PathBuf,
    /// The folder of its record, if later commands of the session see its writes while it runs.
    record: Option<AbsPath>,
    /// Locked until it has ended.
    _held: RunFolder,
}

impl PreparedCommand {
    fn workspace(&self) -> &Path {
        &self.command.permit().plan().workspace
    }
}

/// The result of applying the writes of a command line.
struct AppliedWrites {
    writes: CommandWrites,
    changes: Vec<Change>,
    kept: Option<KeptChanges>,
    /// What was applied, for what its background processes write later.
    applied: Option<Applied>,
}

impl OpenSkillRuntime {
    /// Runs a command line in the sandbox with this process's standard streams, applies what it wrote, and records it.
    pub fn run_command(
        &mut self,
        permit: CommandPermit,
        cancel: &Cancel,
    ) -> Result<CommandResult, RuntimeError> {
        let id = execution_id()?;
        let start = self.command_start(&permit, &id);
        // What earlier commands left running may have written since.
        self.apply_background(&permit.plan().workspace)?;
        let prepared = match self.prepare_command(permit, &start) {
            Ok(prepared) => prepared,
            Err(error) => {
                self.record(&Event::CommandFailed(Box::new(failure(&start, &error))))?;
                return Err(error);
            }
        };
        // From here until the end is logged, a signal stops the command before it stops this process.
        let _entered = cancel.enter();
        let open = self.begin_run(&RunStart::Command(Box::new(start.clone())))?;
        let started = |process| self.record_running(&start, &prepared, process);
        let done = prepared
            .command
            .run(cancel, started)
            .and_then(|finished| self.finish_command(&start, &prepared, finished, cancel));
        match done {
            Ok(result) => {
                self.record_command(&start, &result.0, result.1, open)?;
                Ok(result.0)
            }
            Err(error) => {
                let failed = Event::CommandFailed(Box::new(failure(&start, &error)));
                // The error is returned either way. If the marker stays open, the next process logs it.
                if self.record(&failed).is_ok() {
                    close(open);
                }
                Err(error)
            }
        }
    }

    fn prepare_command(
        &self,
        permit: CommandPermit,
        start: &CommandStart,
    ) -> Result<PreparedCommand, RuntimeError> {
        let places = self.places()?;
        let cache = places.cache.as_ref().ok_or_else(no_state_folder)?;
        let base = cache.join(run_folder::FOLDER);
        run_folder::sweep(&base);
        let held = RunFolder::new(&base)?;
        let wrong = |message: String| RuntimeError::Setup { message, hint: None };
        let folders = SessionFolders::of(places, &permit.plan().workspace, &self.session.id)?;
        let home = real_home(places.home.as_ref())
            .ok_or_else(|| wrong("cannot locate the home folder: HOME is not set".to_owned()))?;
        let own = own_folders(places);
        let path = places.variables.get("PATH").unwrap_or_default();
        let is_allowed = |path: &Path| {
            fs::canonicalize(path)
                .is_ok_and(|real| !overlaps(&real, &own) && !home.starts_with(&real))
        };
        let search = SearchPath::find(path, &permit.plan().workspace, is_allowed);
        let record = match permit.plan().applies {
            ApplyTime::AtEnd => None,
            ApplyTime::WhileRunning => {
                Some(background::folder_of(cache, &self.session.id, &start.execution_id)?)
            }
        };
        let layer = match &record {
            Some(folder) => background::layer_of(folder).as_path().to_owned(),
            None => held.path().join("layer"),
        };
        let failed = |source| FsError::Io { path: layer.display().to_string(), source };
        fs::create_dir(&layer).map_err(failed)?;
        let layer = fs::canonicalize(&layer).map_err(failed)?;
        let last_folder = format!(".openskills-{}", start.execution_id);
        let joins = self.background_to_join(&permit.plan().workspace, &access(start))?;
        let git = git_settings(places);
        let inputs = CommandInputs {
            folders: &folders,
            home: &home,
            search: &search,
            variables: &places.variables,
            git: &git,
            layer: &layer,
            last_folder: &Path::new("/tmp").join(&last_folder),
            joins,
        };
        let spec = spec(&permit, &inputs).map_err(wrong)?;
        let provided = ProvidedToCommand {
            toolchains: search.reads.clone(),
            private: vec![folders.home.clone(), folders.temporary.clone()],
            home: home.clone(),
            own,
            joins,
        };
        let last_folder = folders.temporary.join(last_folder);
        let command = PermittedCommand::new(permit, spec, &provided)?;
        let (begun, begun_at) = (Instant::now(), SystemTime::now());
        Ok(PreparedCommand { command, last_folder, begun, begun_at, layer, record, _held: held })
    }

    /// Records a command that the agent runs in the background, so that later commands see what it writes.
    fn record_running(
        &self,
        start: &CommandStart,
        prepared: &PreparedCommand,
        process: Option<BackgroundId>,
    ) -> Result<(), RuntimeError> {
        let Some(folder) = &prepared.record else { return Ok(()) };
        let record = BackgroundRecord {
            process,
            waiting: ProcessId::of(std::process::id().cast_signed()),
            command: start.command.clone(),
            workspace: prepared.workspace().to_owned(),
            access: access(start),
            started_ms: milliseconds(prepared.begun_at),
            applied: Applied::default(),
        };
        background::record(folder, &prepared.layer, &record)
    }

    /// Applies the rest of what a command in the background wrote.
    fn finish_running(
        &self,
        start: &CommandStart,
        prepared: &PreparedCommand,
        folder: &AbsPath,
    ) -> Result<AppliedWrites, RuntimeError> {
        let (LaterChanges { changes, conflicts }, record) = self.finish_background(folder)?;
        if !conflicts.is_empty() {
            let kept = self.keep(start, prepared, &conflicts, &changes)?;
            let writes = CommandWrites::Kept;
            return Ok(AppliedWrites { writes, changes, kept: Some(kept), applied: None });
        }
        let is_nothing = record.applied == Applied::default();
        let writes = if is_nothing { CommandWrites::Nothing } else { CommandWrites::Applied };
        Ok(AppliedWrites { writes, changes, kept: None, applied: Some(record.applied) })
    }

    /// Keeps the changes of a command because of conflicts.
    fn keep(
        &self,
        start: &CommandStart,
        prepared: &PreparedCommand,
        conflicts: &[Conflict],
        changes: &[Change],
    ) -> Result<KeptChanges, RuntimeError> {
        let cache = self.places()?.cache.as_ref().ok_or_else(no_state_folder)?;
        let changes = kept::allowed(changes);
        let kept = KeptChanges {
            id: start.execution_id.clone(),
            session_id: start.session_id.clone(),
            command: start.command.clone(),
            workspace: prepared.workspace().to_owned(),
            conflicts: conflict_lines(conflicts),
            changes: change_lines(&changes),
            change_count: changes.len(),
        };
        kept::keep(cache, &prepared.layer, kept)
    }

    /// Applies the writes of a command line that ended, and hands over what it left running.
    fn finish_command(
        &self,
        start: &CommandStart,
        prepared: &PreparedCommand,
        finished: FinishedCommand,
        cancel: &Cancel,
    ) -> Result<(CommandResult, Vec<String>), RuntimeError> {
        let FinishedCommand { outcome, layer, reached, left } = finished;
        let workspace = &prepared.command.permit().plan().workspace;
        let written = match (&layer, outcome.ended) {
            _ if let Some(folder) = &prepared.record => {
                self.finish_running(start, prepared, folder)?
            }
            // Its changes are applied whatever its exit code is, as without a sandbox, unless it was stopped.
            (Some(layer), Ended::Exited(_) | Ended::Signalled(_)) if !cancel.is_cancelled() => {
                self.apply_writes(start, prepared, layer, workspace)?
            }
            (Some(_), _) => AppliedWrites {
                writes: CommandWrites::Dropped,
                changes: Vec::new(),
                kept: None,
                applied: None,
            },
            (None, _) => AppliedWrites {
                writes: CommandWrites::Nothing,
                changes: Vec::new(),
                kept: None,
                applied: None,
            },
        };
        let left_running = match left {
            // What conflicts is kept, so nothing may go on writing to it.
            Some(left) if written.kept.is_none() && !cancel.is_cancelled() => {
                let cache = self.places()?.cache.as_ref().ok_or_else(no_state_folder)?;
                let folder = background::folder_of(cache, &self.session.id, &start.execution_id)?;
                let record = BackgroundRecord {
                    process: Some(left.id()),
                    waiting: None,
                    command: start.command.clone(),
                    workspace: workspace.clone(),
                    access: access(start),
                    started_ms: milliseconds(prepared.begun_at),
                    applied: written.applied.unwrap_or_default(),
                };
                background::record(&folder, &prepared.layer, &record)?;
                left.detach(prepared.command.permit().plan().owner).map_err(|error| {
                    RuntimeError::Setup {
                        message: format!("cannot keep the command's processes running: {error}"),
                        hint: None,
                    }
                })?;
                true
            }
            Some(_) | None => false,
        };
        if let Some(folder) = prepared.record.as_ref().filter(|_| !left_running) {
            background::forget(folder)?;
        }
        let later: Vec<String> = written
            .changes
            .iter()
            .filter(|change| change.refused.is_none() && runs_later(&change.path))
            .map(|change| change.path.display().to_string())
            .collect();
        let enforced = outcome.enforced.iter().map(ToString::to_string).collect();
        let result = CommandResult {
            ended: outcome.ended,
            interrupted: cancel.signal(),
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            cwd: last_folder(&prepared.last_folder, workspace),
            writes: written.writes,
            changes: written.changes,
            runs_later: later,
            kept: written.kept,
            violations: outcome.violations,
            reached,
            left_running,
            duration: prepared.begun.elapsed(),
        };
        Ok((result, enforced))
    }

    /// Applies the writes of a command line, one command at a time. What is refused is left out; if something else
    /// changed the same files meanwhile, everything is kept.
    fn apply_writes(
        &self,
        start: &CommandStart,
        prepared: &PreparedCommand,
        layer: &Layer,
        workspace: &Path,
    ) -> Result<AppliedWrites, RuntimeError> {
        let failed = |error: ApplyError| RuntimeError::Setup {
            message: format!("cannot apply what the command wrote: {error}"),
            hint: None,
        };
        let changes = layer.changes().map_err(failed)?;
        let allowed = kept::allowed(&changes);
        // Processes in the background may go on writing, so note first what is about to be applied.
        let seen = layer.seen(&allowed).map_err(failed)?;
        if allowed.is_empty() {
            let (writes, applied) = (CommandWrites::Nothing, Some(seen));
            return Ok(AppliedWrites { writes, changes, kept: None, applied });
        }
        let _lock = self.lock_workspace(workspace)?;
        let conflicts = layer.conflicts(&allowed).map_err(failed)?;
        if !conflicts.is_empty() {
            let kept = self.keep(start, prepared, &conflicts, &changes)?;
            return Ok(AppliedWrites {
                writes: CommandWrites::Kept,
                changes,
                kept: Some(kept),
                applied: None,
            });
        }
        kept::apply(layer, &allowed).map_err(failed)?;
        let applied = layer.applied(seen).map_err(failed)?;
        Ok(AppliedWrites {
            writes: CommandWrites::Applied,
            changes,
            kept: None,
            applied: Some(applied),
        })
    }

    /// Waits until no other command applies changes to a workspace.
    pub(super) fn lock_workspace(&self, workspace: &Path) -> Result<Lock, RuntimeError> {
        let state = self.places()?.state.as_ref().ok_or_else(no_state_folder)?;
        let folder = state.join(LOCKS);
        make_private_folder(&folder)?;
        let name = Digest::of(workspace.as_os_str().as_encoded_bytes()).short();
        let path: AbsPath = folder.join(format!("{name}.lock"));
        Lock::acquire(&path, Lock::TIMEOUT).map_err(|error| match error {
            LockError::File(error) => error.into(),
            LockError::Held { .. } => RuntimeError::Setup {
                message: format!(
                    "another command has been applying changes to `{}` for too long",
                    workspace.display()
                ),
                hint: Some(format!("if none is running, remove `{path}`")),
            },
        })
    }

    fn command_start(&self, permit: &CommandPermit, id: &str) -> CommandStart {
        let plan = permit.plan();
        CommandStart {
            execution_id: id.to_owned(),
            session_id: self.session.id.clone(),
            tool_use_id: plan.tool_use_id.clone(),
            command: cut(&redact(&plan.line)),
            cwd: plan.cwd.display().to_string(),
            workspace: plan.workspace.display().to_string(),
            skills: permit
                .skills()
                .iter()
                .map(|skill| CommandSkill {
                    skill_id: skill.id.clone(),
                    hash: skill.content.to_string(),
                    bundle_sha256: skill.bundle.to_string(),
                })
                .collect(),
            granted: granted(permit),
            process: ProcessIdentity::own(),
        }
    }

    fn record_command(
        &mut self,
        start: &CommandStart,
        result: &CommandResult,
        enforced: Vec<String>,
        open: Option<OpenRun>,
    ) -> Result<(), RuntimeError> {
        let refused = |change: &Change| {
            format!("{}: {}", change.shown(), change.refused.as_deref().unwrap_or_default())
        };
        let reached = |one: &sandbox::proxy::ProxyRequest| {
            let verdict = if one.allowed { "allowed" } else { "denied" };
            redact(&format!("{}:{} {verdict}", one.host, one.port)).into_owned()
        };
        let mut changes = change_lines(&result.changes);
        changes.truncate(MAX_LOGGED);
        self.record(&Event::CommandExecuted(Box::new(CommandExecution {
            execution_id: start.execution_id.clone(),
            session_id: start.session_id.clone(),
            tool_use_id: start.tool_use_id.clone(),
            command: start.command.clone(),
            ended: ended(result.ended),
            duration_ms: u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
            enforced,
            violations: result.violations.iter().map(|one| one.call.clone()).collect(),
            reached: result.reached.iter().take(MAX_LOGGED).map(reached).collect(),
            writes: result.writes,
            changes: changes.iter().map(|line| redact(line).into_owned()).collect(),
            change_count: result.changes.len(),
            refused: result.refused().take(MAX_LOGGED).map(refused).collect(),
            runs_later: result.runs_later.iter().take(MAX_LOGGED).cloned().collect(),
            kept: result.kept.as_ref().map(|kept| kept.id.clone()),
            left_running: result.left_running,
        })))?;
        close(open);
        Ok(())
    }
}

/// Describes what a command line may do. Only commands that may do the same share a network.
fn access(start: &CommandStart) -> Vec<String> {
    let skills = start.skills.iter().map(|skill| format!("{} {}", skill.skill_id, skill.hash));
    skills.chain(start.granted.iter().cloned()).collect()
}

/// Returns a random ID for an execution.
fn execution_id() -> Result<String, RuntimeError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| RuntimeError::Setup {
        message: format!("cannot generate a random ID: {error}"),
        hint: None,
    })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn failure(start: &CommandStart, error: &RuntimeError) -> CommandFailure {
    CommandFailure {
        execution_id: start.execution_id.clone(),
        session_id: start.session_id.clone(),
        tool_use_id: start.tool_use_id.clone(),
        command: start.command.clone(),
        code: error.code().to_owned(),
        reason: cut(&redact(&error.to_string())),
    }
}

/// Returns what a command line may do beyond working in the workspace, one line each.
fn granted(permit: &CommandPermit) -> Vec<String> {
    let capabilities = permit.capabilities();
    let mut all = Vec::new();
    if let Reach::Only(places) = &capabilities.read {
        all.extend(places.iter().map(|place| Permission::new(CapabilityKind::Read, place)));
    }
    match &capabilities.network {
        Reach::Everything => {
            all.push(Permission::new(CapabilityKind::Network, skill_state::ANY_HOST));
        }
        Reach::Only(hosts) => {
            all.extend(hosts.iter().map(|host| Permission::new(CapabilityKind::Network, host)));
        }
    }
    if let Reach::Only(names) = &capabilities.env {
        all.extend(names.iter().map(|name| Permission::new(CapabilityKind::Env, name)));
    }
    all.iter().map(ToString::to_string).collect()
}

fn ended(ended: Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("exit code {code}"),
        Ended::Signalled(signal) => format!("signal {signal}"),
        Ended::Timeout => "timed out".to_owned(),
        Ended::Memory => "out of memory".to_owned(),
        Ended::Trapped => "trapped".to_owned(),
        Ended::Output => "too much output".to_owned(),
        Ended::Cancelled => "canceled".to_owned(),
    }
}

/// Reads the folder that a command line ended in. The command wrote the file, so it is only believed about folders of
/// the workspace.
fn last_folder(file: &Path, workspace: &Path) -> Option<PathBuf> {
    let is_small =
        fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() < 8192);
    let text = is_small.then(|| fs::read_to_string(file).ok()).flatten();
    let _ = fs::remove_file(file);
    let folder = fs::canonicalize(text?.trim_end_matches('\n')).ok()?;
    (folder.is_dir() && folder.starts_with(workspace)).then_some(folder)
}

/// Truncates a text for the log.
fn cut(text: &str) -> String {
    let mut end = text.len().min(MAX_LINE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
