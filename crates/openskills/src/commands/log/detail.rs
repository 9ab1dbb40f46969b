//! Formats an event as one line.

use openskills_runtime::log::Entry;
use openskills_runtime::{
    CommandExecution, CommandWrites, Event, ExecutionEnd, PolicyDecision, ScriptExecution,
    ScriptInterruption, ScriptStart,
};
use skill::ByteSize;
use term::counted;

/// A suffix for runs that may have written to the workspace, indexed by `may_have_written`.
const WRITTEN: [&str; 2] = ["", "; the workspace may have been changed"];

/// Returns the table cells of an event: number, time, name, skill and details.
pub(super) fn cells(entry: &Entry) -> Vec<String> {
    let skill = entry.skill().unwrap_or("-");
    vec![
        entry.seq.to_string(),
        entry.time.clone(),
        entry.name.clone(),
        skill.to_owned(),
        detail(entry),
    ]
}

/// Returns the details of an event, without its skill.
pub(super) fn detail(entry: &Entry) -> String {
    match &entry.event {
        Event::Discovered { change, path, .. } => format!("{} {path}", change.as_str()),
        Event::Removed { path, .. } => path.clone(),
        Event::ResourceRead(read) => read.path.clone(),
        Event::Activated(activation) => {
            let repeat = if activation.repeated { " (repeat)" } else { "" };
            format!("{} in {}{repeat}", short(&activation.hash), activation.session_id)
        }
        Event::ActivationFailed(failure) => failure.reason.clone(),
        Event::Deactivated { session_id, .. } => format!("in {session_id}"),
        Event::ScriptStarted(start) => started(start),
        Event::ScriptExecuted(execution) => executed(execution),
        Event::ScriptFailed(failure) => {
            format!(
                "{}: {}{}",
                failure.script,
                failure.reason,
                WRITTEN[usize::from(failure.may_have_written)]
            )
        }
        Event::ScriptInterrupted(interruption) => interrupted(interruption),
        Event::Applied(applied) => {
            let changes = counted(applied.change_count, "change");
            format!("{}: applied {changes} to the workspace", applied.script)
        }
        Event::ApplyFailed(failure) => format!("{}: {}", failure.script, failure.reason),
        Event::ApplyInterrupted(interruption) => format!(
            "{}: the process was killed while applying changes{}",
            interruption.script,
            WRITTEN[usize::from(interruption.may_have_written)]
        ),
        Event::CommandStarted(start) => one_line(&start.command),
        Event::CommandExecuted(execution) => command_executed(execution),
        Event::CommandFailed(failure) => {
            format!("{}: {}", one_line(&failure.command), failure.reason)
        }
        Event::CommandInterrupted(interruption) => format!(
            "{}: process {} was killed{}",
            one_line(&interruption.command),
            interruption.process.pid,
            WRITTEN[usize::from(interruption.may_have_written)]
        ),
        Event::CommandUnconfined(unconfined) => {
            let state = if unconfined.has_run { "ran" } else { "asked" };
            format!(
                "{}: {state} without the sandbox: {}",
                one_line(&unconfined.command),
                unconfined.reason
            )
        }
        Event::Undone { paths, .. } => {
            format!("reverted {} in the workspace", counted(*paths, "path"))
        }
        Event::BeyondLimits { warning, .. } | Event::NotListed { warning, .. } => warning.clone(),
        Event::ServedChanged { path, reason, .. } => format!("{path}: {reason}"),
        Event::Installed(record) => {
            format!("{} from {}", short(&record.installed.digest), record.installed.source)
        }
        Event::Uninstalled(record) => format!("from {}", record.path),
        Event::Called { tool, skill, outcome, .. } => {
            let skill = skill.as_ref().map(|skill| format!(" {skill}")).unwrap_or_default();
            format!("{tool}{skill}: {}", outcome.as_str())
        }
        Event::PolicyDecided(decided) => decision(decided),
        Event::PackagesPrepared(prepared) => {
            let requests = prepared.requests.join(", ");
            format!("{requests} from {} {}", prepared.index, short(&prepared.digest))
        }
        Event::ApprovalGranted(change) | Event::ApprovalRevoked(change) => {
            format!("{} {}", short(&change.bundle_sha256), change.granted.join(", "))
        }
        Event::LogStarted(started) => started
            .previous
            .as_ref()
            .map(|before| format!("after {}", before.folder))
            .unwrap_or_default(),
        Event::LogRecovered(recovered) => {
            format!("dropped an incomplete line of {}", ByteSize(recovered.bytes))
        }
        Event::CheckpointFailed(failure) => format!("{}: {}", failure.destination, failure.reason),
        Event::Unknown => match &entry.unreadable {
            Some(reason) => format!("cannot be read: {reason}"),
            None => "unknown to this version of openskills".to_owned(),
        },
    }
}

fn started(start: &ScriptStart) -> String {
    let in_brackets = |list: &[String]| format!(" ({})", list.join(", "));
    let arguments = Some(&start.arguments).filter(|list| !list.is_empty());
    let arguments = arguments.map(|list| in_brackets(list)).unwrap_or_default();
    let degraded = Some(&start.allow_degraded).filter(|list| !list.is_empty());
    let degraded =
        degraded.map(|list| format!(", without {}", list.join(", "))).unwrap_or_default();
    format!("{}{arguments}{degraded}", start.script)
}

fn executed(execution: &ScriptExecution) -> String {
    let record = &execution.record;
    let how = match execution.ended {
        ExecutionEnd::Interrupted { signal } => {
            let written = WRITTEN[usize::from(execution.may_have_written)];
            format!(", interrupted by signal {signal}{written}")
        }
        ExecutionEnd::Cancelled => {
            format!(", canceled{}", WRITTEN[usize::from(execution.may_have_written)])
        }
        ExecutionEnd::Exited { .. }
        | ExecutionEnd::Signalled { .. }
        | ExecutionEnd::Timeout
        | ExecutionEnd::Memory
        | ExecutionEnd::Trapped
        | ExecutionEnd::Output => String::new(),
    };
    let denied = match record.permissions_denied.len() {
        0 => String::new(),
        count => format!(", {count} denied"),
    };
    let (status, time) = (record.exit_status.as_str(), record.duration_ms);
    format!("{} {status} in {time} ms{how}{denied}", execution.script)
}

fn command_executed(execution: &CommandExecution) -> String {
    let CommandExecution { command, ended, duration_ms, change_count, .. } = execution;
    let changes = match execution.writes {
        CommandWrites::Nothing => String::new(),
        CommandWrites::Applied => format!(", {} applied", counted(*change_count, "change")),
        CommandWrites::Kept => ", changes kept because of a conflict".to_owned(),
        CommandWrites::Dropped => ", changes dropped".to_owned(),
    };
    let left = if execution.left_running { ", processes left running" } else { "" };
    format!("{}: {ended} in {duration_ms} ms{changes}{left}", one_line(command))
}

/// Returns the first line of a command.
fn one_line(command: &str) -> String {
    let mut lines = command.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

fn interrupted(interruption: &ScriptInterruption) -> String {
    let written = WRITTEN[usize::from(interruption.may_have_written)];
    let (script, pid) = (&interruption.script, interruption.process.pid);
    format!("{script}: process {pid} was killed{written}")
}

fn decision(decided: &PolicyDecision) -> String {
    let input = decided.input.as_ref().map(|input| format!(" {input}")).unwrap_or_default();
    format!("{} {}{input}: {}", decided.decision, decided.action, decided.reason)
}

/// Returns the first 12 digits of a digest.
fn short(digest: &str) -> &str {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.get(..12).unwrap_or(hex)
}
