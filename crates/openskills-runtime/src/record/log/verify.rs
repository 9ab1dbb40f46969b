//! Verifies that a log has not been altered, as far as that can be proven.

use std::io::Read;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::IgnoredAny;

use super::chain::{Chain, Hex, text};
use super::head::{Head, open_regular};
use super::history::Links;
use super::line::{Linked, follows, is_own, linked};
use super::read::{LogFile, Snapshot, Source};
use super::runs::{Runs, is_about_a_run};
use super::{Checkpoints, Entry, Key, LogError};
use crate::{Event, PreviousLog};

/// How many bytes to process at once.
const CHUNK: u64 = 8 << 20;
/// Maximum length of a line.
const MAX_LINE: usize = 64 << 20;
/// Maximum number of problems to report. The first ones matter most.
pub(super) const MAX_PROBLEMS: usize = 100;

/// Result of verifying a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogReport {
    /// True if no problems were found.
    pub valid: bool,
    /// Number of events.
    pub events: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// Number of files.
    pub files: usize,
    /// Whether the chain uses a key. Without one, a completely rewritten log is not detected.
    pub keyed: bool,
    /// Whether the end was compared with the head, which is not possible for a single file.
    pub end_checked: bool,
    /// Number of checkpoints of this log that it was compared with; absent if none were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<usize>,
    /// Number of archives that were verified as well.
    pub archives: usize,
    /// The problems found, in order.
    pub problems: Vec<LogProblem>,
    /// Remarks that are not problems in themselves: executions that have not ended, archives that are missing.
    pub notes: Vec<String>,
}

/// A problem in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogProblem {
    /// Number of the event concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The file.
    pub file: String,
    /// Line in the file; absent if the problem concerns the end of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Description of the problem.
    pub message: String,
}

/// A log that was verified on its own.
pub(super) struct Checked {
    pub(super) report: LogReport,
    pub(super) head: Option<Head>,
    pub(super) previous: Option<PreviousLog>,
    /// The digests of the events that checkpoints refer to.
    pub(super) links: Links,
    /// Number of its last event.
    pub(super) end: u64,
    pub(super) runs: Runs,
}

/// Verifies every line of a log, without its archives or checkpoints.
pub fn verify(source: &Source, key: Option<&Key>) -> Result<LogReport, LogError> {
    Ok(check(source, &Chain::new(key.cloned()), None)?.report)
}

/// Verifies every line of one log.
pub(super) fn check(
    source: &Source,
    chain: &Chain,
    checkpoints: Option<&Checkpoints>,
) -> Result<Checked, LogError> {
    let Snapshot { files, head } = source.snapshot()?;
    let wanted = checkpoints.iter().flat_map(|found| &found.all).map(|(_, one)| one.events);
    let keyed = matches!(chain, Chain::Keyed(_));
    let mut check = Check {
        chain,
        report: LogReport { files: files.len(), keyed, ..LogReport::default() },
        before: None,
        last: None,
        started: None,
        follows: None,
        file: String::new(),
        line: 0,
        is_single: matches!(source, Source::File(_)),
        end: head.as_ref().map(|head| head.events),
        wanted: wanted.map(|events| (events, None)).collect(),
        runs: Runs::default(),
    };
    if let Some(head) = head.as_ref().filter(|head| head.chain != chain.name()) {
        let wanted = if keyed {
            "it was written without a key"
        } else {
            "pass its key with --key-file FILE"
        };
        let message = format!("the log is chained with {}; {wanted}", head.chain);
        check.in_head(None, message);
        return Ok(check.done(head.clone().into()));
    }
    for file in &files {
        check.file(file)?;
    }
    match &head {
        Some(head) => check.head(head, &files),
        None if !check.is_single && !files.is_empty() => {
            check.in_head(
                None,
                "the file is missing, so the end of the log cannot be verified".to_owned(),
            );
        }
        None => {}
    }
    Ok(check.done(head))
}

impl Check<'_> {
    fn done(mut self, head: Option<Head>) -> Checked {
        self.report.valid = self.report.problems.is_empty();
        let end = self.before.map_or(0, |(seq, _)| seq);
        let Self { report, follows, wanted, runs, .. } = self;
        Checked { report, head, previous: follows, links: wanted, end, runs }
    }

    fn in_head(&mut self, seq: Option<u64>, message: String) {
        let file = super::head::FILE.to_owned();
        self.report.problems.push(LogProblem { seq, file, line: None, message });
    }

    /// Compares every field of the head with the files, since readers rely on them.
    fn head(&mut self, head: &Head, files: &[LogFile]) {
        self.report.end_checked = true;
        let seen = self.before.map_or(0, |(seq, _)| seq);
        if seen < head.events {
            let cut = if seen + 1 == head.events {
                format!("event {} was removed from the end", head.events)
            } else {
                format!("events {} to {} were removed from the end", seen + 1, head.events)
            };
            return self.in_head(Some(seen + 1), cut);
        }
        if !is_sealed(self.chain, head, self.last.as_ref().map(|last| last.line.as_slice())) {
            let what = if head.events == 0 {
                "head.json does not belong to this log".to_owned()
            } else {
                format!("event {} or head.json was changed", head.events)
            };
            return self.in_head(Some(head.events), what);
        }
        // A gap in the files was reported already, and it moves the end.
        let is_whole = self.report.problems.is_empty() && head.events > 0;
        if let Some(last) = self.last.as_ref().filter(|_| is_whole) {
            let found = (last.first, last.end, last.line.len() as u64);
            if found != (head.first, head.size, head.last) {
                let what = "head.json does not match the end of the files".to_owned();
                return self.in_head(Some(head.events), what);
            }
        }
        // A file that starts after the end was left by a killed process; the next append continues it.
        let is_next = |file: &&LogFile| file.first > head.first && file.first != head.events + 1;
        if let Some(file) = files.iter().find(is_next) {
            let what = format!("`{}` is past the end recorded in head.json", file.path);
            return self.in_head(Some(file.first), what);
        }
        let id = self.started.as_deref().filter(|_| !head.id.is_empty());
        if id.is_some_and(|id| id != head.id) {
            self.in_head(Some(1), "head.json contains the ID of another log".to_owned());
        }
    }
}

/// Returns true if the seal of the head matches the last event. A missing last event was reported already.
fn is_sealed(chain: &Chain, head: &Head, last: Option<&[u8]>) -> bool {
    let last = match (head.events, last) {
        (0, _) => b"",
        (_, None) => return true,
        (_, Some(last)) => last,
    };
    text(&chain.seal(head, last)) == head.seal
}

/// The last event that the head covers, as found in the files.
struct Last {
    /// Its line, line break included.
    line: Vec<u8>,
    /// Number of the first event in its file, taken from the file name.
    first: u64,
    /// Where its line ends in that file.
    end: u64,
}

struct Check<'a> {
    chain: &'a Chain,
    report: LogReport,
    /// Number and digest of the previous event.
    before: Option<(u64, Hex)>,
    last: Option<Last>,
    /// The ID in the first event.
    started: Option<String>,
    /// The reference to the previous log in the first event.
    follows: Option<PreviousLog>,
    file: String,
    line: u64,
    is_single: bool,
    /// Number of the last event that the head covers.
    end: Option<u64>,
    /// The events that checkpoints refer to, with their digests once they are found.
    wanted: Links,
    runs: Runs,
}

/// A parsed line.
struct ParsedLine {
    /// Digest of the line.
    link: Hex,
    /// `None` if the line is not an event.
    linked: Option<ParsedEvent>,
}

/// The fields of an event that the chain needs.
struct ParsedEvent {
    seq: u64,
    prev: String,
    /// Whether it was written with the key.
    is_own: bool,
    is_about_a_run: bool,
}

impl Check<'_> {
    fn file(&mut self, file: &LogFile) -> Result<(), LogError> {
        let failed = |source| LogError::Io { path: file.path.to_string(), source };
        (self.file, self.line) = (file.path.to_string(), 0);
        let Some(opened) = open_regular(&file.path)? else { return Ok(()) };
        let mut reader = opened.take(file.size);
        let mut bytes = Vec::new();
        let mut offset = 0;
        loop {
            let read = (&mut reader).take(CHUNK).read_to_end(&mut bytes).map_err(failed)?;
            let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
            self.lines(&bytes[..end], file.first, offset);
            offset += end as u64;
            bytes.drain(..end);
            if read == 0 || bytes.len() > MAX_LINE {
                break;
            }
        }
        // What a killed process left after the end is continued or noted by the next append, so it is not a problem in
        // itself.
        let is_behind = self.end.is_some_and(|end| self.before.is_some_and(|(seq, _)| seq >= end));
        if !bytes.is_empty() && !is_behind {
            self.line += 1;
            self.problem(None, "the line is incomplete".to_owned());
        }
        self.report.bytes += file.size;
        Ok(())
    }

    /// Verifies whole lines that start at `offset` of the file whose first event is `first`.
    fn lines(&mut self, bytes: &[u8], first: u64, mut offset: u64) {
        let mut lines = Vec::new();
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            lines.push(&bytes[start..at]);
            start = at + 1;
        }
        let chain = self.chain;
        let read = |line: &&[u8]| {
            let is_json = serde_json::from_slice::<IgnoredAny>(line).is_ok();
            let linked = linked(line).filter(|_| is_json).map(|Linked { seq, prev }| ParsedEvent {
                seq,
                prev: prev.to_owned(),
                is_own: is_own(line, chain),
                is_about_a_run: is_about_a_run(line),
            });
            ParsedLine { link: chain.link(line), linked }
        };
        let seen: Vec<ParsedLine> = lines.par_iter().with_min_len(256).map(read).collect();
        for (ParsedLine { link, linked }, line) in seen.into_iter().zip(&lines) {
            self.line += 1;
            offset += line.len() as u64 + 1;
            match linked {
                Some(ParsedEvent { seq, prev, is_own, is_about_a_run }) => {
                    if !is_own {
                        let message = format!("event {seq} was not written with the key");
                        self.problem(Some(seq), message);
                    }
                    if self.end == Some(seq) {
                        let line = [line, b"\n".as_slice()].concat();
                        self.last = Some(Last { line, first, end: offset });
                    }
                    if seq == 1 {
                        self.begins(line);
                    }
                    if is_about_a_run {
                        self.runs.see(line);
                    }
                    if let Some(wanted) = self.wanted.get_mut(&seq) {
                        *wanted = Some(link);
                    }
                    self.event(&Linked { seq, prev: &prev }, link);
                }
                None => self.problem(None, "the line is not a valid event".to_owned()),
            }
        }
    }

    /// Reads the references to this log and the previous one from the first event.
    fn begins(&mut self, line: &[u8]) {
        let Ok(Entry { event: Event::LogStarted(started), .. }) = Entry::parse(line) else {
            return;
        };
        self.started = Some(started.id);
        self.follows = started.previous;
    }

    fn event(&mut self, event: &Linked<'_>, link: Hex) {
        let seq = event.seq;
        self.report.events += 1;
        // A single file may start anywhere.
        let is_part = self.before.is_none() && self.is_single && seq > 1;
        let (expected, prev) = self.before.map_or_else(
            || (1, self.chain.link(b"")),
            |(before, link)| (before.saturating_add(1), link),
        );
        if seq > expected && !is_part {
            let missing = if seq - 1 == expected {
                format!("event {expected} is missing")
            } else {
                format!("events {expected} to {} are missing", seq - 1)
            };
            self.problem(Some(expected), missing);
        } else if seq < expected {
            self.problem(Some(seq), format!("event {seq} comes after event {}", expected - 1));
        } else if !is_part && !follows(event, self.chain, &prev) {
            let message = match (event.prev.split_once(':'), self.before) {
                (Some((name, _)), _) if name != self.chain.name() => {
                    format!("event {seq} is chained with {name} instead of {}", self.chain.name())
                }
                (_, None) => "event 1 was changed".to_owned(),
                (_, Some((before, _))) => {
                    format!(
                        "event {before} was changed: event {seq} records a different digest for it"
                    )
                }
            };
            self.problem(Some(if self.before.is_some() { seq - 1 } else { seq }), message);
        }
        self.before = Some((seq, link));
    }

    fn problem(&mut self, seq: Option<u64>, message: String) {
        if self.report.problems.len() < MAX_PROBLEMS {
            let (file, line) = (self.file.clone(), Some(self.line));
            self.report.problems.push(LogProblem { seq, file, line, message });
        }
    }
}
