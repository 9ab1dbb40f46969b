//! Verifies a log together with its history: the archives that it continues and the checkpoints of all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use skill_fs::AbsPath;

use super::archive::{head_text, is_archive};
use super::chain::{Chain, text};
use super::checkpoint::Checkpoint;
use super::head::{FILE, Head};
use super::read::Source;
use super::runs::Runs;
use super::verify::{Checked, LogProblem, LogReport, MAX_PROBLEMS, check};
use super::{Checkpoints, Key, LogError};
use crate::PreviousLog;

/// What to verify a log against.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyOptions<'a> {
    /// The key of the log, then those of archives that used a different one.
    pub keys: &'a [Key],
    /// Checkpoints stored elsewhere.
    pub checkpoints: Option<&'a Checkpoints>,
    /// Folders that archives were moved to: each is an archive, or contains some.
    pub archives: &'a [AbsPath],
    /// Whether a log must exist. If one with a key or checkpoints is missing, it was removed.
    pub must_exist: bool,
}

/// Verifies every line of a log, and compares the log with checkpoints stored elsewhere.
pub fn verify_against(
    source: &Source,
    key: Option<&Key>,
    checkpoints: Option<&Checkpoints>,
) -> Result<LogReport, LogError> {
    let keys: Vec<Key> = key.into_iter().cloned().collect();
    verify_with(source, &VerifyOptions { keys: &keys, checkpoints, ..VerifyOptions::default() })
}

/// Verifies every line of a log and of the archives that it continues, and compares all of them with checkpoints.
pub fn verify_with(source: &Source, options: &VerifyOptions<'_>) -> Result<LogReport, LogError> {
    let chain = Chain::new(options.keys.first().cloned());
    let own = check(source, &chain, options.checkpoints)?;
    let is_there = own.head.is_some() || own.report.files > 0;
    let mut history = History { options, report: own.report, runs: own.runs, seen: HashMap::new() };
    let must_exist = options.must_exist || !options.keys.is_empty();
    match source {
        Source::Folder(folder) | Source::Copy(folder) if !is_there => {
            if must_exist || options.checkpoints.is_some() {
                let what = "no log found: it was removed, or nothing has been written yet";
                history.problem(folder.to_string(), None, what.to_owned());
            }
        }
        Source::Folder(folder) | Source::Copy(folder) => {
            history.archives(own.previous, folder);
        }
        Source::File(_) => {}
    }
    if let Some(checkpoints) = options.checkpoints {
        let seen = CheckedLog { chain, links: own.links, end: own.end };
        let own = OwnLog { head: own.head.as_ref(), seen, is_there };
        history.compare(checkpoints, source, own);
    }
    let History { mut report, runs, .. } = history;
    report.notes.extend(runs.notes());
    report.valid = report.problems.is_empty();
    Ok(report)
}

/// Digests of the events that checkpoints refer to, as found in the log.
pub(super) type Links = HashMap<u64, Option<super::chain::Hex>>;

struct History<'a> {
    options: &'a VerifyOptions<'a>,
    report: LogReport,
    runs: Runs,
    /// The logs that were verified, by ID.
    seen: HashMap<String, CheckedLog>,
}

/// The parts of a verified log that checkpoints are compared with.
struct CheckedLog {
    chain: Chain,
    links: Links,
    /// Number of its last event.
    end: u64,
}

/// The log itself, as opposed to its archives.
struct OwnLog<'a> {
    head: Option<&'a Head>,
    seen: CheckedLog,
    is_there: bool,
}

impl History<'_> {
    fn problem(&mut self, file: String, line: Option<u64>, message: String) {
        if self.report.problems.len() < MAX_PROBLEMS {
            self.report.problems.push(LogProblem { seq: None, file, line, message });
        }
    }

    /// Follows the references from each log to the previous one.
    fn archives(&mut self, before: Option<PreviousLog>, folder: &AbsPath) {
        let mut visited = HashSet::new();
        let mut next = before;
        while let Some(before) = next.take() {
            let name = before.folder.clone();
            let found = match self.find(&before, folder) {
                PreviousLogLookup::Found(found) => found,
                PreviousLogLookup::Mismatch(found) => {
                    let what = "this is not the log that was archived here: head.json differs";
                    self.problem(found.to_string(), None, what.to_owned());
                    continue;
                }
                PreviousLogLookup::Headless => {
                    let note = format!(
                        "`{name}` had no head.json when it was archived, so it was not verified"
                    );
                    self.report.notes.push(note);
                    continue;
                }
                PreviousLogLookup::Missing => {
                    let id = before.id.as_deref().unwrap_or("in an earlier format");
                    let note = format!(
                        "log {id} was archived in `{name}`, which is missing and was not verified; if it was moved, pass its folder with --archive DIR"
                    );
                    self.report.notes.push(note);
                    continue;
                }
            };
            if !visited.insert(found.to_string()) {
                break;
            }
            match self.archive(&found) {
                Ok(before) => next = before,
                Err(error) => self.problem(found.to_string(), None, error.to_string()),
            }
        }
    }

    /// Verifies one archive. Returns its reference to the log before it.
    fn archive(&mut self, folder: &AbsPath) -> Result<Option<PreviousLog>, LogError> {
        let source = Source::Copy(folder.clone());
        let is_plain = Head::load(folder)?.is_some_and(|head| head.chain == Chain::Plain.name());
        let keyed = self.options.keys.iter().cloned().map(Chain::Keyed);
        let mut chains: Vec<Chain> = if is_plain { Vec::new() } else { keyed.collect() };
        if chains.is_empty() {
            chains.push(Chain::Plain);
        }
        let mut best: Option<(Chain, Checked)> = None;
        for chain in chains {
            let checked = check(&source, &chain, self.options.checkpoints)?;
            let is_good = checked.report.valid;
            if is_good || best.is_none() {
                best = Some((chain, checked));
            }
            if is_good {
                break;
            }
        }
        let Some((chain, checked)) = best else { return Ok(None) };
        let Checked { report, head, previous, links, end, runs } = checked;
        for problem in report.problems {
            let is_head = problem.file == FILE;
            let file = if is_head { folder.join(FILE).to_string() } else { problem.file };
            self.problem(file, problem.line, problem.message);
        }
        self.report.archives += 1;
        self.runs.after(runs);
        if let Some(head) = head.filter(|head| !head.id.is_empty()) {
            self.seen.insert(head.id, CheckedLog { chain, links, end });
        }
        Ok(previous)
    }

    /// Finds the log that another one continues: its head must be the one recorded in that log's first event.
    fn find(&self, before: &PreviousLog, folder: &AbsPath) -> PreviousLogLookup {
        let Some(head) = &before.head else { return PreviousLogLookup::Headless };
        let is_name = !before.folder.is_empty() && !before.folder.contains(['/', '\\', '\0']);
        let is_name = is_name && before.folder != "." && before.folder != "..";
        let mut candidates: Vec<AbsPath> = Vec::new();
        let parent = folder.parent().filter(|_| is_archive(folder));
        if is_name {
            candidates.push(folder.join(&before.folder));
            candidates.extend(parent.map(|parent| parent.join(&before.folder)));
            candidates.extend(self.options.archives.iter().map(|path| path.join(&before.folder)));
        }
        candidates.extend(self.options.archives.iter().cloned());
        let there: Vec<(AbsPath, String)> = candidates
            .into_iter()
            .filter_map(|path| head_text(&path).map(|text| (path, text)))
            .collect();
        if let Some((path, _)) = there.iter().find(|(_, text)| text == head) {
            return PreviousLogLookup::Found(path.clone());
        }
        let same_name =
            there.into_iter().find(|(path, _)| path.file_name() == Some(&before.folder));
        same_name.map_or(PreviousLogLookup::Missing, |(path, _)| PreviousLogLookup::Mismatch(path))
    }

    /// Compares the log and its archives with checkpoints. A log that is shorter than one of its checkpoints, differs
    /// from it or is missing has been altered.
    fn compare(&mut self, checkpoints: &Checkpoints, source: &Source, own: OwnLog<'_>) {
        let OwnLog { head, seen, is_there } = own;
        let file = &checkpoints.file;
        for line in &checkpoints.malformed {
            let what = "cannot parse this checkpoint";
            self.problem(file.clone(), Some(*line), what.to_owned());
        }
        let id = head.map(|head| head.id.clone()).filter(|id| !id.is_empty());
        if is_there && id.is_none() {
            let what = "only a whole log folder can be compared with checkpoints";
            return self.problem(file.clone(), None, what.to_owned());
        }
        if let Some(id) = &id {
            self.seen.insert(id.clone(), seen);
        }
        let seen = std::mem::take(&mut self.seen);
        let mut compared = 0;
        for (line, one) in &checkpoints.all {
            let is_after = id.is_some() && one.previous == id && self.is_trusted(one);
            if is_after && matches!(source, Source::Folder(_)) {
                let what = format!(
                    "this log was archived before {} and replaced by a new one: an older copy was restored",
                    one.time
                );
                self.problem(file.clone(), Some(*line), what);
            }
            if let Some(log) = seen.get(&one.log) {
                compared += usize::from(id.as_deref() == Some(&one.log));
                if let Some(what) = differs(one, log) {
                    self.problem(file.clone(), Some(*line), what);
                }
            }
        }
        if let Some(id) = id.as_ref().filter(|_| compared == 0) {
            self.problem(file.clone(), None, format!("no checkpoint of this log ({id})"));
        }
        self.report.checkpoints = Some(compared);
        let related = match (source, &head) {
            (Source::Copy(_), Some(head)) => self.related(checkpoints, head),
            _ => BTreeSet::new(),
        };
        self.gone(checkpoints, |id| seen.contains_key(id) || related.contains(id));
    }

    /// Reports logs that checkpoints refer to but that no longer exist.
    fn gone(&mut self, checkpoints: &Checkpoints, is_known: impl Fn(&str) -> bool) {
        let mut last: BTreeMap<&str, (u64, &Checkpoint)> = BTreeMap::new();
        let mut unsigned: BTreeSet<&str> = BTreeSet::new();
        for (line, one) in checkpoints.all.iter().filter(|(_, one)| !is_known(&one.log)) {
            if self.is_trusted(one) {
                let newest = last.entry(&one.log).or_insert((*line, one));
                if one.events >= newest.1.events {
                    *newest = (*line, one);
                }
            } else {
                unsigned.insert(&one.log);
            }
        }
        for (id, (line, one)) in last {
            let what = format!(
                "log {id} is missing: it had {} events at its last checkpoint ({}), but is neither this log nor one of its archives; if it was moved, pass its folder with --archive DIR",
                one.events, one.time
            );
            self.problem(checkpoints.file.clone(), Some(line), what);
        }
        if !unsigned.is_empty() {
            let note = format!(
                "`{}` also has checkpoints of other logs ({}) that are not signed with this key, so they might not be yours",
                checkpoints.file,
                unsigned.len()
            );
            self.report.notes.push(note);
        }
    }

    /// Returns the IDs of the logs before and after this one according to checkpoints. A copy of a single log need not
    /// have them.
    fn related(&self, checkpoints: &Checkpoints, head: &Head) -> BTreeSet<String> {
        let trusted = checkpoints.all.iter().map(|(_, one)| one).filter(|one| self.is_trusted(one));
        let links: BTreeMap<&str, &str> =
            trusted.filter_map(|one| Some((one.log.as_str(), one.previous.as_deref()?))).collect();
        let mut related = BTreeSet::new();
        let mut earlier = Some(head.previous.as_str()).filter(|id| !id.is_empty());
        while let Some(id) = earlier.filter(|id| related.insert((*id).to_owned())) {
            earlier = links.get(id).copied();
        }
        let mut later = BTreeSet::from([head.id.as_str()]);
        loop {
            let more =
                links.iter().filter(|(_, before)| later.contains(*before)).map(|(id, _)| *id);
            let more: Vec<&str> = more.filter(|id| !later.contains(id)).collect();
            if more.is_empty() {
                break;
            }
            later.extend(more);
        }
        related.extend(later.into_iter().map(str::to_owned));
        related
    }

    /// Returns true if a checkpoint is signed with one of the keys.
    fn is_trusted(&self, one: &Checkpoint) -> bool {
        self.options.keys.iter().any(|key| one.is_signed(&Chain::Keyed(key.clone())))
    }
}

/// The result of looking for the previous log.
enum PreviousLogLookup {
    Found(AbsPath),
    /// A different log is in its place.
    Mismatch(AbsPath),
    /// It had no head, so there is nothing to verify it against.
    Headless,
    Missing,
}

/// Returns how a log contradicts one of its checkpoints.
fn differs(one: &Checkpoint, log: &CheckedLog) -> Option<String> {
    let CheckedLog { chain, links, end } = log;
    if !one.is_signed(chain) {
        return Some("this checkpoint is not signed with the key".to_owned());
    }
    let link = links.get(&one.events).copied().flatten();
    match link.map(|link| format!("{}:{}", chain.name(), text(&link))) {
        Some(link) if link == one.head => None,
        Some(_) => Some(format!(
            "event {} differs from the checkpoint at {}: the log was rewritten",
            one.events, one.time
        )),
        None => Some(format!(
            "the log ends at event {end}, but had {} events at {}: events were removed, or an older copy was restored",
            one.events, one.time
        )),
    }
}
