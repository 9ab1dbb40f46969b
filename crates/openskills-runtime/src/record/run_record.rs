//! The events of a run, with the secrets that it was given redacted.

#![expect(clippy::disallowed_methods, reason = "the edge: the clock")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::iter;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sandbox::proxy::ProxyRequest;
use sandbox::{Captured, Change, Ended, Network, Outcome, Writes};
use sandbox_wasm::is_component;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use skill::capabilities::{CapabilityKind, Permission, Reach};
use skill_state::{ANY_HOST, DELETIONS, DIRECT_WRITES};

use crate::RuntimeError;
use crate::decide::permit::Permit;
use crate::record::event::{
    Applied, ApplyFailure, ExecutionEnd, ExecutionRecord, ExitStatus, ScriptExecution,
    ScriptFailure, ScriptStart, WriteMode,
};
use crate::record::log::{REDACTED, Redactor, is_secret_name, redact};
use crate::record::process::ProcessIdentity;
use crate::run::module::{ModuleLocation, location};
use crate::run::prepare::Prepared;
use crate::run::repeat::wasm_event;
use crate::run::run_result::RunResult;
use crate::run::undo::RunIds;
use crate::run::{Caller, Execution, Input, Invocation};

/// How much of each output stream is logged.
const MAX_OUTPUT: usize = 4096;
/// How much of the arguments is logged.
const MAX_ARGUMENTS: usize = 64 << 10;

/// A run in progress.
pub(crate) struct Run<'a> {
    /// Random ID of the execution.
    pub(crate) id: String,
    pub(crate) permit: &'a Permit,
    pub(crate) options: &'a Invocation,
    pub(crate) prepared: &'a Prepared,
    pub(crate) caller: &'a Caller,
    /// Secrets that it was given: variables, arguments and input fields that are secret by name or form.
    pub(crate) secrets: Redactor,
    /// The same, plus the values of all granted variables: none of them belong in the log.
    given_values: Redactor,
    started: SystemTime,
}

impl<'a> Run<'a> {
    pub(crate) fn new(prepared: &'a Prepared, caller: &'a Caller) -> Result<Self, RuntimeError> {
        let permit = prepared.run.permit();
        let options = &permit.plan().invocation;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| RuntimeError::Setup {
            message: format!("cannot generate a random ID: {error}"),
            hint: None,
        })?;
        let names = match &permit.capabilities().env {
            Reach::Only(names) => names.clone(),
            // Declaring all variables grants none in particular.
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

    /// Returns true if it writes to the workspace while it runs.
    pub(crate) fn writes_directly(&self) -> bool {
        match self.prepared.spec().workspace.as_ref().map(|workspace| workspace.writes) {
            Some(Writes::Direct) => true,
            Some(Writes::Layer | Writes::Never) | None => false,
        }
    }

    /// Returns the IDs of the skill and the execution.
    pub(crate) fn ids(&self) -> RunIds<'_> {
        RunIds { skill_id: &self.permit.plan().subject.skill_id, execution_id: &self.id }
    }

    /// Returns the error for changes that were not applied.
    pub(crate) fn not_applied(&self, message: String) -> RuntimeError {
        RuntimeError::Apply { skill: self.permit.plan().subject.skill_id.clone(), message }
    }

    /// Returns the event that precedes the start of the program.
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
                _ if self.writes_directly() => WriteMode::Direct,
                Some(_) if self.options.dry_run => WriteMode::DryRun,
                Some(_) if self.options.workspace.is_some() => WriteMode::Pending,
                Some(_) | None => WriteMode::Dropped,
            },
            process: ProcessIdentity::own(),
        }
    }

    /// Returns the event for a program that could not be started, or whose sandbox failed.
    pub(crate) fn failure(&self, session: &str, error: &RuntimeError) -> ScriptFailure {
        ScriptFailure {
            execution_id: self.id.clone(),
            skill_id: self.permit.plan().subject.skill_id.clone(),
            session_id: session.to_owned(),
            task_id: self.caller.task_id.clone(),
            script: self.clean(&self.prepared.script),
            code: error.code().to_owned(),
            reason: self.truncated(&error.to_string()),
            may_have_written: self.writes_directly(),
        }
    }

    /// Returns the event for changes that could not be applied.
    pub(crate) fn apply_failure(&self, session: &str, error: &RuntimeError) -> ApplyFailure {
        ApplyFailure {
            execution_id: self.id.clone(),
            skill_id: self.permit.plan().subject.skill_id.clone(),
            session_id: session.to_owned(),
            script: self.clean(&self.prepared.script),
            reason: self.truncated(&error.to_string()),
            signal: None,
        }
    }

    /// Returns the event for changes that were cancelled before any of them was applied.
    pub(crate) fn apply_cancelled(&self, session: &str, signal: Option<i32>) -> ApplyFailure {
        let cause = signal.map_or_else(
            || "the run was canceled".to_owned(),
            |signal| format!("received signal {signal}"),
        );
        ApplyFailure {
            execution_id: self.id.clone(),
            skill_id: self.permit.plan().subject.skill_id.clone(),
            session_id: session.to_owned(),
            script: self.clean(&self.prepared.script),
            reason: format!("{cause} before anything was applied"),
            signal,
        }
    }

    /// Returns the event for changes that were applied.
    pub(crate) fn applied(&self, session: &str, done: &Execution) -> Applied {
        Applied {
            execution_id: self.id.clone(),
            skill_id: self.permit.plan().subject.skill_id.clone(),
            session_id: session.to_owned(),
            script: self.clean(&self.prepared.script),
            change_count: done.changes.len(),
        }
    }

    /// Returns the event for a program that ran.
    pub(crate) fn executed(
        &self,
        session: &str,
        done: &Execution,
        writes: WriteMode,
    ) -> ScriptExecution {
        let subject = &self.permit.plan().subject;
        let reached = |one: &ProxyRequest| {
            let verdict = if one.allowed { "allowed" } else { "denied" };
            self.clean(&format!("{}:{} {verdict}", one.host, one.port))
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

    /// Returns the record for audits.
    pub(crate) fn record(&self, ran: &RunResult, changes: &[Change]) -> ExecutionRecord {
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
            stdout: self.truncated_stream(stdout),
            stderr: self.truncated_stream(stderr),
        }
    }

    fn clean(&self, text: &str) -> String {
        self.given_values.redact(text).into_owned()
    }

    /// Redacts first and truncates afterwards, because half a secret would not be recognized.
    fn truncated(&self, text: &str) -> String {
        let clean = self.given_values.redact(text);
        clean[..clean.floor_char_boundary(MAX_OUTPUT)].to_owned()
    }

    /// Does the same for output that may have been truncated already.
    fn truncated_stream(&self, stream: &Captured) -> String {
        let whole = self.given_values.whole(&stream.bytes, stream.total);
        self.truncated(&String::from_utf8_lossy(whole))
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

    /// Returns what it was granted according to the sandbox's specification, which may be less than what was requested.
    fn granted(&self) -> Vec<String> {
        let all = CapabilityKind::ALL.into_iter().flat_map(|kind| {
            self.granted_of(kind).into_iter().map(move |what| Permission::new(kind, what))
        });
        let packages = self.permit.packages().iter();
        let packages = packages.map(|set| format!("packages: {}", set.summary()));
        let all = all.map(|permission| permission.to_string()).chain(packages);
        first(all.map(|permission| self.clean(&permission)))
    }

    fn granted_of(&self, kind: CapabilityKind) -> Vec<String> {
        let (spec, capabilities) = (self.prepared.spec(), self.permit.capabilities());
        match kind {
            CapabilityKind::Read => {
                // WASI cannot grant a single file.
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
            // A dry run has no network.
            CapabilityKind::Network => match &capabilities.network {
                _ if spec.network == Network::None || !self.can_connect() => Vec::new(),
                Reach::Everything => vec![ANY_HOST.to_owned()],
                Reach::Only(hosts) => hosts.iter().map(ToString::to_string).collect(),
            },
            // Variables that are not set are not passed, and declaring all variables grants none in particular.
            CapabilityKind::Env => match &capabilities.env {
                Reach::Only(names) => {
                    let is_set =
                        |name: &&String| spec.env.iter().any(|(set, _)| set == name.as_str());
                    names.iter().filter(is_set).cloned().collect()
                }
                Reach::Everything => Vec::new(),
            },
            // The sandbox does not restrict programs or tools. Policy does, and its decisions are separate events.
            // There are no secrets to grant.
            CapabilityKind::Exec | CapabilityKind::Tools | CapabilityKind::Secrets => Vec::new(),
        }
    }

    /// Returns which files it was granted besides the skill's own: those of a workspace that the user passed, or an
    /// empty folder that is removed afterwards. The latter has nothing to read, and a module in this process does not
    /// get one.
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

    /// Returns true if the program can open connections at all.
    fn can_connect(&self) -> bool {
        self.prepared.module.as_deref().is_none_or(is_component)
    }

    /// Returns what it tried and was denied.
    fn denied(&self, ran: &RunResult, changes: &[Change]) -> Vec<String> {
        let denied = |kind: CapabilityKind, what: String| Permission::new(kind, what).to_string();
        // A system call may belong to more than one capability, so it is listed as such.
        let calls: BTreeSet<String> = ran
            .outcome
            .violations
            .iter()
            .map(|violation| {
                // The kernel truncates process names.
                let process = self.given_values.redact_truncated(&violation.process);
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

/// Returns the arguments that are secret because of their option: `--password x`, `--token=x`.
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

/// Collects the strings of an input whose field names say that they are secret.
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

/// Returns the digest of arguments and input: each argument preceded by its length, then the input text.
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

/// Returns the first entries of a list whose number and length are up to a script.
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
