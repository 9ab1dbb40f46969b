//! Executions that the log itself knows of as not ended: what a marker may be the reason to record.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};

use skill_fs::AbsPath;

use super::chain::Chain;
use super::head::open_regular;
use super::line::is_own;
use super::read::log_files;
use super::{Entry, LogError};
use crate::Event;
use crate::record::event::{CommitInterruption, ScriptInterruption, Writing};
use crate::record::process::ProcessIdentity;

/// What every event of an execution has in its line, as it is written.
const KINDS: [&[u8]; 2] = [b"\"event\":\"skill.script_", b"\"event\":\"skill.commit"];

/// Executions without an end, by their ids.
#[derive(Debug, Default)]
pub(super) struct Runs {
    unended: BTreeMap<String, Unended>,
    /// Those that ended, which may have begun in a log before.
    ended: BTreeSet<String>,
}

/// How far an execution came.
#[derive(Debug, Clone)]
pub(super) enum Unended {
    /// It began: its `skill.script_started`.
    Running(Entry),
    /// It ended, and what it wrote was to be applied: its `skill.script_executed`.
    Committing(Entry),
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
        let Some(id) = entry.text("executionId").map(str::to_owned) else { return };
        match entry.event.as_str() {
            "skill.script_started" => {
                self.unended.insert(id, Unended::Running(entry));
            }
            "skill.script_executed" if is_commit(&entry) => {
                self.unended.insert(id, Unended::Committing(entry));
            }
            "skill.script_executed"
            | "skill.script_failed"
            | "skill.script_interrupted"
            | "skill.committed"
            | "skill.commit_failed"
            | "skill.commit_interrupted" => {
                self.unended.remove(&id);
                self.ended.insert(id);
            }
            _ => {}
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
        let told = |(id, run): (&String, &Unended)| match run {
            Unended::Running(start) => format!(
                "the execution {id} began at {} and has no end: it still runs, or its process was killed and that is not recorded yet",
                start.time
            ),
            Unended::Committing(end) => format!(
                "the execution {id} ended at {}, and how its changes were applied is not recorded: that is being done, or its process was killed",
                end.time
            ),
        };
        self.unended.iter().map(told).collect()
    }
}

impl Unended {
    /// Returns the event that ends it, if its process is gone; `None` while that runs.
    pub(super) fn interrupted(&self) -> Option<Event> {
        let text = |entry: &Entry, key: &str| entry.text(key).unwrap_or_default().to_owned();
        match self {
            Self::Running(start) => {
                let process = start.fields.get("process").cloned().unwrap_or_default();
                let process: ProcessIdentity = serde_json::from_value(process).ok()?;
                if process.is_running() {
                    return None;
                }
                let is_direct = start.text("writes") == Some("direct");
                let writes = if is_direct { Writing::Direct } else { Writing::Dropped };
                Some(Event::ScriptInterrupted(Box::new(ScriptInterruption {
                    execution_id: text(start, "executionId"),
                    skill_id: text(start, "skillId"),
                    session_id: text(start, "sessionId"),
                    task_id: start.text("taskId").map(str::to_owned),
                    script: text(start, "script"),
                    started_at: start.time.clone(),
                    writes,
                    may_have_written: writes.may_have_written(),
                    process,
                })))
            }
            Self::Committing(end) => Some(Event::CommitInterrupted(CommitInterruption {
                execution_id: text(end, "executionId"),
                skill_id: text(end, "skillId"),
                session_id: text(end, "sessionId"),
                script: text(end, "script"),
                change_count: change_count(end),
                may_have_written: true,
            })),
        }
    }
}

/// Returns true if a line may be about an execution: a quick look, before it is read.
pub(super) fn is_about_a_run(line: &[u8]) -> bool {
    KINDS.iter().any(|kind| memchr::memmem::find(line, kind).is_some())
}

fn is_commit(executed: &Entry) -> bool {
    executed.text("writes") == Some("commit") && change_count(executed) > 0
}

fn change_count(executed: &Entry) -> u64 {
    executed.fields.get("changeCount").and_then(serde_json::Value::as_u64).unwrap_or_default()
}
