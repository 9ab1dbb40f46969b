//! Proves that a log is what was written, as far as that can be proven.

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
use crate::{Event, LogBefore};

/// How much is looked at at once.
const CHUNK: u64 = 8 << 20;
/// The longest line there can be.
const MAX_LINE: usize = 64 << 20;
/// How many problems are told; the first ones say it all.
pub(super) const MAX_PROBLEMS: usize = 100;

/// What a look at a log found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogReport {
    /// Whether nothing is wrong.
    pub valid: bool,
    /// How many events there are.
    pub events: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many files they are in.
    pub files: usize,
    /// Whether the chain is made with a key: only then it shows a log that was written anew as a whole.
    pub keyed: bool,
    /// Whether the end was compared with the head; not so for a single file.
    pub end_checked: bool,
    /// How many checkpoints of this log were compared with it; absent if none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<usize>,
    /// How many archives that it follows were checked as well.
    pub archives: usize,
    /// What is wrong, in order.
    pub problems: Vec<LogProblem>,
    /// What is not wrong by itself: executions without an end, archives that are elsewhere.
    pub notes: Vec<String>,
}

/// Something that is wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogProblem {
    /// The number of the event that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The file.
    pub file: String,
    /// The line of the file; absent where it is about the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong.
    pub message: String,
}

/// A log that was looked at by itself.
pub(super) struct Checked {
    pub(super) report: LogReport,
    pub(super) head: Option<Head>,
    pub(super) before: Option<LogBefore>,
    /// The digests of the events that checkpoints know of.
    pub(super) links: Links,
    /// The number of its last event.
    pub(super) end: u64,
    pub(super) runs: Runs,
}

/// Looks at every line of a log, and at nothing else.
pub fn verify(source: &Source, key: Option<&Key>) -> Result<LogReport, LogError> {
    Ok(check(source, &Chain::new(key.cloned()), None)?.report)
}

/// Looks at every line of one log.
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
        let wanted =
            if keyed { "it was made without a key" } else { "it needs its key: --key-file FILE" };
        let message = format!("the log is chained by {}; {wanted}", head.chain);
        check.in_head(None, message);
        return Ok(check.done(head.clone().into()));
    }
    for file in &files {
        check.file(file)?;
    }
    match &head {
        Some(head) => check.head(head, &files),
        None if !check.is_single && !files.is_empty() => {
            check.in_head(None, "it is gone, so the end cannot be checked".to_owned());
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
        Checked { report, head, before: follows, links: wanted, end, runs }
    }

    fn in_head(&mut self, seq: Option<u64>, message: String) {
        let file = super::head::FILE.to_owned();
        self.report.problems.push(LogProblem { seq, file, line: None, message });
    }

    /// Compares everything that the head says with the files: whoever reads the log goes by it.
    fn head(&mut self, head: &Head, files: &[LogFile]) {
        self.report.end_checked = true;
        let seen = self.before.map_or(0, |(seq, _)| seq);
        if seen < head.events {
            let cut = if seen + 1 == head.events {
                format!("event {} was cut off", head.events)
            } else {
                format!("events {} to {} were cut off", seen + 1, head.events)
            };
            return self.in_head(Some(seen + 1), cut);
        }
        if !is_sealed(self.chain, head, self.last.as_ref().map(|last| last.line.as_slice())) {
            let what = if head.events == 0 {
                "head.json was not written by this log".to_owned()
            } else {
                format!("event {} was changed, or head.json was", head.events)
            };
            return self.in_head(Some(head.events), what);
        }
        // A gap in the files is told of already, and moves the end.
        let is_whole = self.report.problems.is_empty() && head.events > 0;
        if let Some(last) = self.last.as_ref().filter(|_| is_whole) {
            let found = (last.first, last.end, last.line.len() as u64);
            if found != (head.first, head.size, head.last) {
                let what = "head.json names another end than the files have".to_owned();
                return self.in_head(Some(head.events), what);
            }
        }
        // A file that begins behind the end is what a killed process left; the next append takes it over.
        let is_next = |file: &&LogFile| file.first > head.first && file.first != head.events + 1;
        if let Some(file) = files.iter().find(is_next) {
            let what = format!("{} is behind the end that head.json names", file.path);
            return self.in_head(Some(file.first), what);
        }
        let id = self.started.as_deref().filter(|_| !head.id.is_empty());
        if id.is_some_and(|id| id != head.id) {
            self.in_head(Some(1), "head.json has the id of another log".to_owned());
        }
    }
}

/// Returns true if the head is of this end. A last event that is missing was told of already.
fn is_sealed(chain: &Chain, head: &Head, last: Option<&[u8]>) -> bool {
    let last = match (head.events, last) {
        (0, _) => b"",
        (_, None) => return true,
        (_, Some(last)) => last,
    };
    text(&chain.seal(head, last)) == head.seal
}

/// The last event that the head knows of, as it was found.
struct Last {
    /// Its line, with its line break.
    line: Vec<u8>,
    /// The first event of its file, by the file's name.
    first: u64,
    /// Where its line ends in that file.
    end: u64,
}

struct Check<'a> {
    chain: &'a Chain,
    report: LogReport,
    /// The number of the event before, and what the next one must hold of it.
    before: Option<(u64, Hex)>,
    last: Option<Last>,
    /// The id in the first event.
    started: Option<String>,
    /// What the first event says of the log before.
    follows: Option<LogBefore>,
    file: String,
    line: u64,
    is_single: bool,
    /// The number of the last event that the head knows of.
    end: Option<u64>,
    /// Events that checkpoints know of, and their digests as they are found.
    wanted: Links,
    runs: Runs,
}

/// A line that was looked at.
struct SeenLine {
    /// Its own digest.
    link: Hex,
    /// What the chain needs of it; absent if it is no event.
    linked: Option<SeenEvent>,
}

/// What the chain needs of an event.
struct SeenEvent {
    seq: u64,
    prev: String,
    /// Whether one who has the key wrote it.
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
        let mut place = 0;
        loop {
            let read = (&mut reader).take(CHUNK).read_to_end(&mut bytes).map_err(failed)?;
            let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
            self.lines(&bytes[..end], file.first, place);
            place += end as u64;
            bytes.drain(..end);
            if read == 0 || bytes.len() > MAX_LINE {
                break;
            }
        }
        // What a killed process left behind the end is taken over or noted by the next event: it is not wrong by itself.
        let is_behind = self.end.is_some_and(|end| self.before.is_some_and(|(seq, _)| seq >= end));
        if !bytes.is_empty() && !is_behind {
            self.line += 1;
            self.problem(None, "the line has no end".to_owned());
        }
        self.report.bytes += file.size;
        Ok(())
    }

    /// Looks at whole lines, which stand at `place` of the file whose first event is `first`.
    fn lines(&mut self, bytes: &[u8], first: u64, mut place: u64) {
        let mut lines = Vec::new();
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            lines.push(&bytes[start..at]);
            start = at + 1;
        }
        let chain = self.chain;
        let read = |line: &&[u8]| {
            let is_json = serde_json::from_slice::<IgnoredAny>(line).is_ok();
            let linked = linked(line).filter(|_| is_json).map(|Linked { seq, prev }| SeenEvent {
                seq,
                prev: prev.to_owned(),
                is_own: is_own(line, chain),
                is_about_a_run: is_about_a_run(line),
            });
            SeenLine { link: chain.link(line), linked }
        };
        let seen: Vec<SeenLine> = lines.par_iter().with_min_len(256).map(read).collect();
        for (SeenLine { link, linked }, line) in seen.into_iter().zip(&lines) {
            self.line += 1;
            place += line.len() as u64 + 1;
            match linked {
                Some(SeenEvent { seq, prev, is_own, is_about_a_run }) => {
                    if !is_own {
                        let message = format!("event {seq} was not written by one who has the key");
                        self.problem(Some(seq), message);
                    }
                    if self.end == Some(seq) {
                        let line = [line, b"\n".as_slice()].concat();
                        self.last = Some(Last { line, first, end: place });
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
                None => self.problem(None, "the line is no event".to_owned()),
            }
        }
    }

    /// Reads what the first event says of this log and of the one before.
    fn begins(&mut self, line: &[u8]) {
        let Ok(Entry { event: Event::LogStarted(started), .. }) = Entry::parse(line) else {
            return;
        };
        self.started = Some(started.id);
        self.follows = started.before;
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
            self.problem(Some(seq), format!("event {seq} stands after event {}", expected - 1));
        } else if !is_part && !follows(event, self.chain, &prev) {
            let message = match (event.prev.split_once(':'), self.before) {
                (Some((name, _)), _) if name != self.chain.name() => {
                    format!("event {seq} is chained by {name}, not by {}", self.chain.name())
                }
                (_, None) => "event 1 was changed".to_owned(),
                (_, Some((before, _))) => {
                    format!("event {before} was changed: event {seq} holds another digest of it")
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
