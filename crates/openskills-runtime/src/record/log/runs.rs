//! Executions that have started but not ended according to the log itself. Only these are recorded as interrupted when
//! their marker is abandoned.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};

use serde_json::Value;
use skill_fs::AbsPath;

use super::chain::Chain;
use super::head::open_regular;
use super::line::is_own;
use super::read::log_files;
use super::{Entry, LogError};
use crate::Event;
use crate::record::event::{
    ApplyInterruption, CommandInterruption, CommandStart, ScriptExecution, ScriptInterruption,
    ScriptStart, WriteMode,
};

/// The start of every event of an execution, as it appears in a line. `skill.commit` is from earlier versions.
const KINDS: [&[u8]; 4] = [
    b"\"event\":\"skill.script_",
    b"\"event\":\"skill.appl",
    b"\"event\":\"skill.commit",
    b"\"event\":\"command.",
];

/// Executions that have not ended, by ID.
#[derive(Debug, Default)]
pub(super) struct Runs {
    unfinished: BTreeMap<String, UnfinishedRun>,
    /// Executions that have ended, which may have started in the previous log.
    ended: BTreeSet<String>,
}

/// How far an execution got, and when.
#[derive(Debug, Clone)]
pub(super) enum UnfinishedRun {
    /// It started.
    Running { start: Box<ScriptStart>, at: String },
    /// A command line of an agent started.
    Command { start: Box<CommandStart>, at: String },
    /// It ended, and its changes were about to be applied.
    Applying { end: Box<ScriptExecution>, at: String },
    /// The log has an event of it that this version cannot read, so how far it got is unknown.
    Unreadable { at: String },
}

impl Runs {
    /// Reads the log in `folder`. Lines that were not written with the key are ignored.
    pub(super) fn read(&mut self, folder: &AbsPath, chain: &Chain) -> Result<(), LogError> {
        for file in log_files(folder)? {
            let failed = |source| LogError::Io { path: file.path.to_string(), source };
            let Some(opened) = open_regular(&file.path)? else { continue };
            let mut reader = BufReader::new(opened.take(file.size));
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
                let whole = line.strip_suffix(b"\n").unwrap_or(&line);
                if is_about_a_run(whole) && is_own(whole, chain) {
                    self.see(whole);
                }
                line.clear();
            }
        }
        Ok(())
    }

    /// Processes one line of a log. Lines must come in order.
    pub(super) fn see(&mut self, line: &[u8]) {
        let Ok(entry) = Entry::parse(line) else { return };
        if entry.unreadable.is_some() {
            return self.see_unreadable(&entry);
        }
        let Entry { event, time: at, .. } = entry;
        let ended = match event {
            Event::ScriptStarted(start) => {
                self.unfinished
                    .insert(start.execution_id.clone(), UnfinishedRun::Running { start, at });
                return;
            }
            Event::ScriptExecuted(end) if is_applying(&end) => {
                self.unfinished
                    .insert(end.execution_id.clone(), UnfinishedRun::Applying { end, at });
                return;
            }
            Event::CommandStarted(start) => {
                self.unfinished
                    .insert(start.execution_id.clone(), UnfinishedRun::Command { start, at });
                return;
            }
            Event::CommandExecuted(end) => end.execution_id,
            Event::CommandFailed(failure) => failure.execution_id,
            Event::CommandInterrupted(interruption) => interruption.execution_id,
            Event::ScriptExecuted(end) => end.execution_id,
            Event::ScriptFailed(failure) => failure.execution_id,
            Event::ScriptInterrupted(interruption) => interruption.execution_id,
            Event::Applied(applied) => applied.execution_id,
            Event::ApplyFailed(failure) => failure.execution_id,
            Event::ApplyInterrupted(interruption) => interruption.execution_id,
            Event::Discovered { .. }
            | Event::Removed { .. }
            | Event::Activated(_)
            | Event::Deactivated { .. }
            | Event::ActivationFailed(_)
            | Event::ResourceRead(_)
            | Event::Undone { .. }
            | Event::BeyondLimits { .. }
            | Event::NotListed { .. }
            | Event::ServedChanged { .. }
            | Event::Installed(_)
            | Event::Uninstalled(_)
            | Event::Called { .. }
            | Event::PolicyDecided(_)
            | Event::CommandUnconfined(_)
            | Event::PackagesPrepared(_)
            | Event::ApprovalGranted(_)
            | Event::ApprovalRevoked(_)
            | Event::LogStarted(_)
            | Event::LogRecovered(_)
            | Event::CheckpointFailed(_)
            | Event::Unknown => return,
        };
        self.unfinished.remove(&ended);
        self.ended.insert(ended);
    }

    /// Processes an event with fields that this version does not know. Its name and execution ID are enough to tell a
    /// start from an end.
    fn see_unreadable(&mut self, entry: &Entry) {
        let Some(id) = entry.fields.get("executionId").and_then(Value::as_str) else { return };
        let at = entry.time.clone();
        match entry.name.as_str() {
            // Its changes may still have to be applied.
            "skill.script_started" | "skill.script_executed" | "command.started" => {
                self.unfinished.insert(id.to_owned(), UnfinishedRun::Unreadable { at });
            }
            _ => {
                self.unfinished.remove(id);
                self.ended.insert(id.to_owned());
            }
        }
    }

    /// Adds the runs of the log before this one.
    pub(super) fn after(&mut self, before: Self) {
        for (id, run) in before.unfinished.into_iter().filter(|(id, _)| !self.ended.contains(id)) {
            self.unfinished.entry(id).or_insert(run);
        }
        self.ended.extend(before.ended);
    }

    /// Returns how far an execution got if it has not ended.
    pub(super) fn unfinished(&self, id: &str) -> Option<&UnfinishedRun> {
        self.unfinished.get(id)
    }

    /// Returns a note for every execution that has not ended.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = |(id, run): (&String, &UnfinishedRun)| match run {
            UnfinishedRun::Running { at, .. } | UnfinishedRun::Command { at, .. } => format!(
                "execution {id} started at {at} and has not ended: it is still running, or its process was killed and the log does not say so yet"
            ),
            UnfinishedRun::Applying { at, .. } => format!(
                "execution {id} ended at {at}, but the log does not say whether its changes were applied: that is in progress, or its process was killed"
            ),
            UnfinishedRun::Unreadable { at } => format!(
                "execution {id} has an event from {at} that this version cannot read, so it is unknown whether it ended"
            ),
        };
        self.unfinished.iter().map(note).collect()
    }
}

impl UnfinishedRun {
    /// Returns the event that ends the execution, or `None` while its process is running.
    pub(super) fn interrupted(&self) -> Option<Event> {
        match self {
            Self::Running { start, .. } if start.process.is_running() => None,
            Self::Running { start, at } => {
                let writes = match start.writes {
                    WriteMode::Direct => WriteMode::Direct,
                    WriteMode::Apply
                    | WriteMode::DryRun
                    | WriteMode::Dropped
                    | WriteMode::Pending => WriteMode::Dropped,
                };
                Some(Event::ScriptInterrupted(Box::new(ScriptInterruption {
                    execution_id: start.execution_id.clone(),
                    skill_id: start.skill_id.clone(),
                    session_id: start.session_id.clone(),
                    task_id: start.task_id.clone(),
                    script: start.script.clone(),
                    started_at: at.clone(),
                    writes,
                    may_have_written: writes.may_have_written(),
                    process: start.process.clone(),
                })))
            }
            Self::Command { start, .. } if start.process.is_running() => None,
            Self::Command { start, at } => {
                Some(Event::CommandInterrupted(Box::new(CommandInterruption {
                    execution_id: start.execution_id.clone(),
                    session_id: start.session_id.clone(),
                    tool_use_id: start.tool_use_id.clone(),
                    command: start.command.clone(),
                    started_at: at.clone(),
                    // It may have been killed while its changes were applied.
                    may_have_written: true,
                    process: start.process.clone(),
                })))
            }
            Self::Unreadable { .. } => None,
            Self::Applying { end, .. } => Some(Event::ApplyInterrupted(ApplyInterruption {
                execution_id: end.execution_id.clone(),
                skill_id: end.skill_id.clone(),
                session_id: end.session_id.clone(),
                script: end.script.clone(),
                change_count: end.change_count as u64,
                may_have_written: true,
            })),
        }
    }
}

/// Returns true if a line may be about an execution. A cheap check before the line is parsed.
pub(super) fn is_about_a_run(line: &[u8]) -> bool {
    KINDS.iter().any(|kind| memchr::memmem::find(line, kind).is_some())
}

fn is_applying(executed: &ScriptExecution) -> bool {
    executed.writes == WriteMode::Apply && executed.change_count > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, fields: &str) -> Vec<u8> {
        let (prev, time) = ("0".repeat(64), "2026-01-02T03:04:05Z");
        format!(r#"{{"seq":2,"prev":"sha256:{prev}","time":"{time}","event":"{name}","executionId":"x"{fields}}}"#)
            .into_bytes()
    }

    #[test]
    fn an_unreadable_event_starts_or_ends_a_run_by_its_name() {
        let mut runs = Runs::default();
        runs.see(&line("skill.script_started", r#","writes":"unknown""#));
        let run = runs.unfinished("x").expect("it has started");
        assert!(run.interrupted().is_none(), "nothing is concluded from it");
        assert!(runs.notes()[0].contains("this version cannot read"), "{:?}", runs.notes());
        runs.see(&line("skill.script_failed", r#","kind":7"#));
        assert!(runs.unfinished("x").is_none(), "its name says that it ended");
    }
}
