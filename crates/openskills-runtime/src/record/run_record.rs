//! What is recorded of a run: events at its start and its end, without the secrets that it was given.

#![expect(clippy::disallowed_methods, reason = "the edge: the clock")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::iter;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sandbox::proxy::Reached;
use sandbox::{Captured, Change, Ended, Network, Outcome, Writes};
use sandbox_wasm::is_component;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use skill::capabilities::{CapabilityKind, Permission, Reach};
use skill_state::{ANY_HOST, DELETIONS, DIRECT_WRITES};

use crate::RuntimeError;
use crate::decide::permit::Permit;
use crate::record::event::{
    CommitFailure, Committed, ExecutionEnd, ExecutionRecord, ExitStatus, ScriptExecution,
    ScriptFailure, ScriptStart, Writing,
};
use crate::record::log::{REDACTED, Redactor, is_secret_name, redact};
use crate::record::process::ProcessIdentity;
use crate::run::module::{ModuleLocation, location};
use crate::run::prepare::Prepared;
use crate::run::ran::Ran;
use crate::run::repeat::wasm_event;
use crate::run::undo::RunIds;
use crate::run::{Caller, Execution, Input, Invocation};

/// How much of each stream is written to the log.
const LOGGED: usize = 4096;
/// How much of the arguments is.
const MAX_ARGUMENTS: usize = 64 << 10;

/// A run that is carried out.
pub(crate) struct Run<'a> {
    /// Its random id.
    pub(crate) id: String,
    pub(crate) permit: &'a Permit,
    pub(crate) options: &'a Invocation,
    pub(crate) prepared: &'a Prepared,
    pub(crate) caller: &'a Caller,
    /// Secrets that it was given: variables, arguments and fields of its input that are so by their name or form.
    pub(crate) secrets: Redactor,
    /// The same and the values of all granted variables: the log needs none of them.
    given_values: Redactor,
    started: SystemTime,
}

impl<'a> Run<'a> {
    pub(crate) fn new(prepared: &'a Prepared, caller: &'a Caller) -> Result<Self, RuntimeError> {
        let permit = prepared.run.permit();
        let options = &permit.plan().invocation;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| RuntimeError::Setup {
            message: format!("no random number can be had: {error}"),
            hint: None,
        })?;
        let names = match &permit.capabilities().env {
            Reach::Only(names) => names.clone(),
            // To declare all of them grants none in particular.
            Reach::Everything => BTreeSet::new(),
        };
        let given: Vec<(&str, &str)> = prepared
            .spec()
            .env
            .iter()
            .filter_map(|(name, value)| name.to_str().zip(value.to_str()))
            .filter(|(name, _)| names.contains(*name))
            .collect();
        let is_secret =
            |(name, value): &&(&str, &str)| is_secret_name(name) || redact(value) != *value;
        let mut secrets: Vec<String> =
            given.iter().filter(is_secret).map(|(_, value)| (*value).to_owned()).collect();
        secrets.extend(secret_arguments(&options.args));
        options.input.iter().for_each(|input| secret_fields(input.value(), &mut secrets));
        let values = given.iter().map(|(_, value)| *value);
        let all = Redactor::new(values.chain(secrets.iter().map(String::as_str)));
        Ok(Self {
            id: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            permit,
            options,
            prepared,
            caller,
            secrets: Redactor::new(secrets.iter().map(String::as_str)),
            given_values: all,
            started: SystemTime::now(),
        })
    }

    /// Returns true if it writes files of the workspace while it runs.
    pub(crate) fn writes_directly(&self) -> bool {
        match self.prepared.spec().workspace.as_ref().map(|workspace| workspace.writes) {
            Some(Writes::Direct) => true,
            Some(Writes::Layer | Writes::Never) | None => false,
        }
    }

    /// Returns the skill and the run, by their ids.
    pub(crate) fn ids(&self) -> RunIds<'_> {
        RunIds { skill_id: &self.permit.plan().subject.skill_id, execution_id: &self.id }
    }

    /// Returns the error of changes that were not applied.
    pub(crate) fn not_committed(&self, message: String) -> RuntimeError {
        RuntimeError::Commit { skill: self.permit.plan().subject.skill_id.clone(), message }
    }

    /// Returns the event before the program starts.
    pub(crate) fn start(&self, session: &str) -> ScriptStart {
        let subject = &self.permit.plan().subject;
        ScriptStart {
            execution_id: self.id.clone(),
            skill_id: subject.skill_id.clone(),
            source: subject.source,
            session_id: session.to_owned(),
            task_id: self.caller.task_id.clone(),
            script: self.clean(&self.prepared.script),
            arguments: self.arguments(),
            input_hash: self.input_hash(),
            hash: subject.content.to_string(),
            bundle_sha256: subject.bundle.to_string(),
            granted: self.granted(),
            allow_degraded: self.allow_degraded(),
            writes: match &self.prepared.spec().workspace {
                _ if self.writes_directly() => Writing::Direct,
                Some(_) if self.options.dry_run => Writing::DryRun,
                Some(_) if self.options.workspace.is_some() => Writing::Pending,
                Some(_) | None => Writing::Dropped,
            },
            process: ProcessIdentity::own(),
        }
    }

    /// Returns the event of a program that was not started, or whose sandbox failed.
    pub(crate) fn failure(&self, session: &str, error: &RuntimeError) -> ScriptFailure {
        ScriptFailure {
            execution_id: self.id.clone(),
            skill_id: self.permit.plan().subject.skill_id.clone(),
            session_id: session.to_owned(),
            task_id: self.caller.task_id.clone(),
            script: self.clean(&self.prepared.script),
            code: error.code().to_owned(),
            reason: self.cut(&error.to_string()),
            may_have_written: self.writes_directly(),
        }
    }

    /// Returns the event of changes that were not applied.
    pub(crate) fn commit_failure(&self, session: &str, error: &RuntimeError) -> CommitFailure {
        CommitFailure {
            execution_id: self.id.clone(),
            skill_id: self.permit.plan().subject.skill_id.clone(),
            session_id: session.to_owned(),
            script: self.clean(&self.prepared.script),
            reason: self.cut(&error.to_string()),
            signal: None,
        }
    }

    /// Returns the event of changes that were called off before any was applied.
    pub(crate) fn called_off(&self, session: &str, signal: Option<i32>) -> CommitFailure {
        let why = signal.map_or_else(
            || "the run was cancelled".to_owned(),
            |signal| format!("signal {signal} came"),
        );
        CommitFailure {
            execution_id: self.id.clone(),
            skill_id: self.permit.plan().subject.skill_id.clone(),
            session_id: session.to_owned(),
            script: self.clean(&self.prepared.script),
            reason: format!("{why} before anything was applied"),
            signal,
        }
    }

    /// Returns the event of changes that were applied.
    pub(crate) fn committed(&self, session: &str, done: &Execution) -> Committed {
        Committed {
            execution_id: self.id.clone(),
            skill_id: self.permit.plan().subject.skill_id.clone(),
            session_id: session.to_owned(),
            script: self.clean(&self.prepared.script),
            change_count: done.changes.len(),
        }
    }

    /// Returns the event of a program that ran.
    pub(crate) fn executed(
        &self,
        session: &str,
        done: &Execution,
        writes: Writing,
    ) -> ScriptExecution {
        let subject = &self.permit.plan().subject;
        let reached = |one: &Reached| {
            let let_through = if one.allowed { "allowed" } else { "denied" };
            self.clean(&format!("{}:{} {let_through}", one.host, one.port))
        };
        let change =
            |change: &Change| self.clean(&format!("{} {}", change.kind.as_str(), change.shown()));
        let wasm = done.wasm.as_ref();
        ScriptExecution {
            execution_id: self.id.clone(),
            skill_id: subject.skill_id.clone(),
            source: subject.source,
            session_id: session.to_owned(),
            task_id: self.caller.task_id.clone(),
            script: self.clean(&self.prepared.script),
            hash: subject.content.to_string(),
            bundle_sha256: subject.bundle.to_string(),
            enforced: done.enforced.iter().map(ToString::to_string).collect(),
            violations: done.violations.iter().map(|violation| violation.call.clone()).collect(),
            reached: first(done.reached.iter().map(reached)),
            changes: first(done.changes.iter().map(change)),
            change_count: done.changes.len(),
            ended: end(done),
            writes,
            may_have_written: writes.may_have_written(),
            wasm: wasm.map(|wasm| wasm_event(&self.prepared.run, self.caller, done.ended, wasm)),
            record: done.record.clone(),
        }
    }

    /// Returns the record for the audit.
    pub(crate) fn record(&self, ran: &Ran, changes: &[Change]) -> ExecutionRecord {
        let Outcome { stdout, stderr, duration, ended, .. } = &ran.outcome;
        let plan = self.permit.plan();
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let output = [stdout.bytes.as_slice(), b"\0", &stderr.bytes].concat();
        ExecutionRecord {
            skill_id: plan.subject.skill_id.clone(),
            version: plan.version.clone(),
            arguments: self.arguments(),
            input_hash: self.input_hash(),
            output_hash: skill::Digest::of(&output).to_string(),
            start_time_ms: milliseconds(started),
            duration_ms: milliseconds(*duration),
            permissions_granted: self.granted(),
            permissions_denied: self.denied(ran, changes),
            allow_degraded: self.allow_degraded(),
            exit_status: match ended {
                _ if self.caller.cancel.signal().is_some() => ExitStatus::Failed,
                Ended::Exited(0) => ExitStatus::Success,
                Ended::Timeout => ExitStatus::Timeout,
                Ended::Exited(_)
                | Ended::Signalled(_)
                | Ended::Memory
                | Ended::Trapped
                | Ended::Output
                | Ended::Cancelled => ExitStatus::Failed,
            },
            stdout: self.cut_stream(stdout),
            stderr: self.cut_stream(stderr),
        }
    }

    fn clean(&self, text: &str) -> String {
        self.given_values.redact(text).into_owned()
    }

    /// Takes secrets out, and only then cuts: half a secret is not known for one.
    fn cut(&self, text: &str) -> String {
        let clean = self.given_values.redact(text);
        clean[..clean.floor_char_boundary(LOGGED)].to_owned()
    }

    /// The same for what was cut already, where too much was written.
    fn cut_stream(&self, stream: &Captured) -> String {
        let whole = self.given_values.whole(&stream.bytes, stream.total);
        self.cut(&String::from_utf8_lossy(whole))
    }

    fn arguments(&self) -> Vec<String> {
        let all: Vec<String> =
            self.options.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let mut left = MAX_ARGUMENTS;
        let fits = |text: &String| {
            let is_left = text.len() <= left;
            left = left.saturating_sub(text.len());
            is_left
        };
        self.given_values.redact_arguments(&all).into_iter().take_while(fits).collect()
    }

    fn input_hash(&self) -> String {
        let arguments = self.options.args.iter().map(|arg| arg.as_encoded_bytes());
        input_hash(arguments, self.options.input.as_ref().map(Input::as_str))
    }

    fn allow_degraded(&self) -> Vec<String> {
        self.permit.allow_degraded().iter().map(ToString::to_string).collect()
    }

    /// Returns what it was granted, as the sandbox's specification has it and not as it was requested.
    fn granted(&self) -> Vec<String> {
        let all = CapabilityKind::ALL.into_iter().flat_map(|kind| {
            self.granted_of(kind).into_iter().map(move |what| Permission::new(kind, what))
        });
        first(all.map(|permission| self.clean(&permission.to_string())))
    }

    fn granted_of(&self, kind: CapabilityKind) -> Vec<String> {
        let (spec, capabilities) = (self.prepared.spec(), self.permit.capabilities());
        match kind {
            CapabilityKind::Read => {
                // WASI has no way to give a file.
                let is_given = |path: &&PathBuf| self.prepared.module.is_none() || path.is_dir();
                let others = spec.read.iter().filter(|path| **path != self.prepared.skill);
                let others = others.filter(is_given).map(|path| path.display().to_string());
                let own = iter::once("the skill's folder".to_owned());
                own.chain(others).chain(self.workspace_of(kind)).collect()
            }
            CapabilityKind::Write => {
                let writes = spec.workspace.as_ref().map(|workspace| workspace.writes);
                let may_write = match writes {
                    Some(Writes::Layer | Writes::Direct) => true,
                    Some(Writes::Never) | None => false,
                };
                let may_delete =
                    self.permit.may_delete() && may_write && self.options.workspace.is_some();
                let deletions = may_delete.then(|| DELETIONS.to_owned());
                self.workspace_of(kind).into_iter().chain(deletions).collect()
            }
            // A dry run reaches no host.
            CapabilityKind::Network => match &capabilities.network {
                _ if spec.network == Network::None || !self.can_connect() => Vec::new(),
                Reach::Everything => vec![ANY_HOST.to_owned()],
                Reach::Only(hosts) => hosts.iter().map(ToString::to_string).collect(),
            },
            // A variable that is not set is not given; to declare all of them grants none in particular.
            CapabilityKind::Env => match &capabilities.env {
                Reach::Only(names) => {
                    let is_set =
                        |name: &&String| spec.env.iter().any(|(set, _)| set == name.as_str());
                    names.iter().filter(is_set).cloned().collect()
                }
                Reach::Everything => Vec::new(),
            },
            // The sandbox holds neither programs nor tools: policy does, and its decisions are events of their own. There are no secrets to
            // hand out.
            CapabilityKind::Exec | CapabilityKind::Tools | CapabilityKind::Secrets => Vec::new(),
        }
    }

    /// Returns what it was granted of files beside the skill's own: those of a workspace that somebody named, or an empty folder that is gone
    /// afterwards. In the latter there is nothing to read, and a module in this process is not given it.
    fn workspace_of(&self, kind: CapabilityKind) -> Option<String> {
        let writes = self.prepared.spec().workspace.as_ref()?.writes;
        let is_named = self.options.workspace.is_some();
        let is_here = self.prepared.module.is_some()
            && location(&self.prepared.run) == ModuleLocation::InProcess;
        let (granted, what) = match writes {
            Writes::Never if is_named => (CapabilityKind::Read, "the workspace"),
            Writes::Layer if is_named => (CapabilityKind::Write, "the workspace"),
            Writes::Direct if is_named => (CapabilityKind::Write, DIRECT_WRITES),
            Writes::Layer | Writes::Direct if !is_here => {
                (CapabilityKind::Write, "a temporary folder")
            }
            Writes::Layer | Writes::Direct | Writes::Never => return None,
        };
        (granted == kind).then(|| what.to_owned())
    }

    /// Returns true if what runs could open a connection at all.
    fn can_connect(&self) -> bool {
        self.prepared.module.as_deref().is_none_or(is_component)
    }

    /// Returns what it tried and was denied.
    fn denied(&self, ran: &Ran, changes: &[Change]) -> Vec<String> {
        let denied = |kind: CapabilityKind, what: String| Permission::new(kind, what).to_string();
        // A system call may be part of more than one capability.
        let calls: BTreeSet<String> = ran
            .outcome
            .violations
            .iter()
            .map(|violation| {
                // The kernel keeps the beginning of a name.
                let process = self.given_values.redact_cut(&violation.process);
                format!("system call: {} ({process})", violation.call)
            })
            .collect();
        let more = Some(ran.outcome.more_violations).filter(|more| *more > 0);
        let more = more.map(|more| format!("system call: {more} more"));
        let hosts = ran.reached.iter().filter(|one| !one.allowed);
        let hosts: BTreeSet<String> = hosts
            .map(|one| denied(CapabilityKind::Network, format!("{}:{}", one.host, one.port)))
            .collect();
        let writes = changes.iter().filter_map(|change| {
            let reason = change.refused.as_ref()?;
            Some(denied(CapabilityKind::Write, format!("{}: {reason}", change.shown())))
        });
        let all = calls.into_iter().chain(more).chain(hosts).chain(writes);
        first(all.map(|text| self.clean(&text)))
    }
}

/// Returns the arguments that an option says are secrets: `--password x`, `--token=x`.
fn secret_arguments(arguments: &[OsString]) -> Vec<String> {
    let given: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let clean = Redactor::default().redact_arguments(&given);
    let secret = |(given, clean): (&String, &String)| {
        let before = clean.strip_suffix(REDACTED)?;
        Some(given.strip_prefix(before)?.to_owned())
    };
    given.iter().zip(&clean).filter_map(secret).collect()
}

/// Finds texts of an input whose names say that they are secrets.
fn secret_fields(input: &Value, found: &mut Vec<String>) {
    match input {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if is_secret_name(name) => found.push(text.clone()),
                    other => secret_fields(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| secret_fields(item, found)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the digest of arguments and input: each argument with its length before it, then the input as it was written.
pub(crate) fn input_hash<'a>(
    arguments: impl Iterator<Item = &'a [u8]>,
    input: Option<&str>,
) -> String {
    let mut sha = Sha256::new();
    for argument in arguments {
        sha.update(b"argument\n");
        sha.update((argument.len() as u64).to_be_bytes());
        sha.update(argument);
    }
    sha.update(b"input\n");
    if let Some(input) = input {
        sha.update(input);
    }
    let digest: [u8; 32] = sha.finalize().into();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn end(done: &Execution) -> ExecutionEnd {
    match (done.interrupted, done.ended) {
        (Some(signal), _) => ExecutionEnd::Interrupted { signal },
        (None, Ended::Exited(code)) => ExecutionEnd::Exited { code },
        (None, Ended::Signalled(signal)) => ExecutionEnd::Signalled { signal },
        (None, Ended::Timeout) => ExecutionEnd::Timeout,
        (None, Ended::Memory) => ExecutionEnd::Memory,
        (None, Ended::Trapped) => ExecutionEnd::Trapped,
        (None, Ended::Output) => ExecutionEnd::Output,
        (None, Ended::Cancelled) => ExecutionEnd::Cancelled,
    }
}

/// Returns the first of many texts: a script decides how many there are, and how long.
fn first(all: impl Iterator<Item = String>) -> Vec<String> {
    const MAX_TEXTS: usize = 500;
    let mut left = 64 << 10;
    let fits = |text: &String| {
        let is_left = text.len() <= left;
        left = left.saturating_sub(text.len());
        is_left
    };
    all.take(MAX_TEXTS).take_while(fits).collect()
}
