//! Executions that the log itself knows of as not ended: what a marker may be the reason to record.

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
    CommitInterruption, ScriptExecution, ScriptInterruption, ScriptStart, Writing,
};

/// What every event of an execution has in its line, as it is written.
const KINDS: [&[u8]; 2] = [b"\"event\":\"skill.script_", b"\"event\":\"skill.commit"];

/// Executions without an end, by their ids.
#[derive(Debug, Default)]
pub(super) struct Runs {
    unended: BTreeMap<String, Unended>,
    /// Those that ended, which may have begun in a log before.
    ended: BTreeSet<String>,
}

/// How far an execution came, and when it came there.
#[derive(Debug, Clone)]
pub(super) enum Unended {
    /// It began.
    Running { start: Box<ScriptStart>, at: String },
    /// It ended, and what it wrote was to be applied.
    Committing { end: Box<ScriptExecution>, at: String },
    /// An event of it is in the log that this version cannot read: how far it came is not known, so nothing is concluded.
    Unreadable { at: String },
}

impl Runs {
    /// Reads the log in `folder`. What one without the key wrote says nothing.
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

    /// Takes one line of a log into account; they come in order.
    pub(super) fn see(&mut self, line: &[u8]) {
        let Ok(entry) = Entry::parse(line) else { return };
        if entry.unreadable.is_some() {
            return self.see_unreadable(&entry);
        }
        let Entry { event, time: at, .. } = entry;
        let ended = match event {
            Event::ScriptStarted(start) => {
                self.unended.insert(start.execution_id.clone(), Unended::Running { start, at });
                return;
            }
            Event::ScriptExecuted(end) if is_commit(&end) => {
                self.unended.insert(end.execution_id.clone(), Unended::Committing { end, at });
                return;
            }
            Event::ScriptExecuted(end) => end.execution_id,
            Event::ScriptFailed(failure) => failure.execution_id,
            Event::ScriptInterrupted(interruption) => interruption.execution_id,
            Event::Committed(committed) => committed.execution_id,
            Event::CommitFailed(failure) => failure.execution_id,
            Event::CommitInterrupted(interruption) => interruption.execution_id,
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
            | Event::ApprovalGranted(_)
            | Event::ApprovalRevoked(_)
            | Event::LogStarted(_)
            | Event::LogRecovered(_)
            | Event::CheckpointFailed(_)
            | Event::Unknown => return,
        };
        self.unended.remove(&ended);
        self.ended.insert(ended);
    }

    /// Takes an event into account whose fields this version does not know: its name and its execution are enough to tell a beginning
    /// from an end.
    fn see_unreadable(&mut self, entry: &Entry) {
        let Some(id) = entry.fields.get("executionId").and_then(Value::as_str) else { return };
        let at = entry.time.clone();
        match entry.name.as_str() {
            // What an execution wrote may still be to be applied.
            "skill.script_started" | "skill.script_executed" => {
                self.unended.insert(id.to_owned(), Unended::Unreadable { at });
            }
            _ => {
                self.unended.remove(id);
                self.ended.insert(id.to_owned());
            }
        }
    }

    /// Takes the log before this one into account.
    pub(super) fn after(&mut self, before: Self) {
        for (id, run) in before.unended.into_iter().filter(|(id, _)| !self.ended.contains(id)) {
            self.unended.entry(id).or_insert(run);
        }
        self.ended.extend(before.ended);
    }

    /// Returns how far an execution came that has not ended.
    pub(super) fn unended(&self, id: &str) -> Option<&Unended> {
        self.unended.get(id)
    }

    /// Returns what there is to say of every execution without an end.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = |(id, run): (&String, &Unended)| match run {
            Unended::Running { at, .. } => format!(
                "the execution {id} began at {at} and has no end: it still runs, or its process was killed and that is not recorded yet"
            ),
            Unended::Committing { at, .. } => format!(
                "the execution {id} ended at {at}, and how its changes were applied is not recorded: that is being done, or its process was killed"
            ),
            Unended::Unreadable { at } => format!(
                "the execution {id} has an event of {at} that this version cannot read; whether it ended is not known"
            ),
        };
        self.unended.iter().map(note).collect()
    }
}

impl Unended {
    /// Returns the event that ends it, if its process is gone; `None` while that runs.
    pub(super) fn interrupted(&self) -> Option<Event> {
        match self {
            Self::Running { start, .. } if start.process.is_running() => None,
            Self::Running { start, at } => {
                let writes = match start.writes {
                    Writing::Direct => Writing::Direct,
                    Writing::Commit | Writing::DryRun | Writing::Dropped | Writing::Pending => {
                        Writing::Dropped
                    }
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
            Self::Unreadable { .. } => None,
            Self::Committing { end, .. } => Some(Event::CommitInterrupted(CommitInterruption {
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

/// Returns true if a line may be about an execution: a quick look, before it is read.
pub(super) fn is_about_a_run(line: &[u8]) -> bool {
    KINDS.iter().any(|kind| memchr::memmem::find(line, kind).is_some())
}

fn is_commit(executed: &ScriptExecution) -> bool {
    executed.writes == Writing::Commit && executed.change_count > 0
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
    fn what_cannot_be_read_is_neither_forgotten_nor_ended() {
        let mut runs = Runs::default();
        runs.see(&line("skill.script_started", r#","writes":"another way""#));
        let run = runs.unended("x").expect("it began");
        assert!(run.interrupted().is_none(), "nothing is concluded of it");
        assert!(runs.notes()[0].contains("this version cannot read"), "{:?}", runs.notes());
        runs.see(&line("skill.script_failed", r#","kind":7"#));
        assert!(runs.unended("x").is_none(), "its end is known by its name");
    }
}
