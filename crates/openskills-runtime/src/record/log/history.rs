//! Proves a log with everything that came before it: the archives that it follows, and the checkpoints of all of them.

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
use crate::LogBefore;

/// What a log is held to.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyOptions<'a> {
    /// The key of the log, and then those of archives that were made with another one.
    pub keys: &'a [Key],
    /// Checkpoints that lie elsewhere.
    pub checkpoints: Option<&'a Checkpoints>,
    /// Folders that archives were moved to: each is one, or holds some.
    pub archives: &'a [AbsPath],
    /// Whether there must be a log: one with a key or checkpoints that is not there did not stay as it was written.
    pub must_exist: bool,
}

/// Looks at every line of a log, and compares it with checkpoints that lie elsewhere.
pub fn verify_against(
    source: &Source,
    key: Option<&Key>,
    checkpoints: Option<&Checkpoints>,
) -> Result<LogReport, LogError> {
    let keys: Vec<Key> = key.into_iter().cloned().collect();
    verify_with(source, &VerifyOptions { keys: &keys, checkpoints, ..VerifyOptions::default() })
}

/// Looks at every line of a log and of the archives that it follows, and compares all of them with checkpoints.
pub fn verify_with(source: &Source, options: &VerifyOptions<'_>) -> Result<LogReport, LogError> {
    let chain = Chain::new(options.keys.first().cloned());
    let own = check(source, &chain, options.checkpoints)?;
    let is_there = own.head.is_some() || own.report.files > 0;
    let mut history = History { options, report: own.report, runs: own.runs, seen: HashMap::new() };
    let must_exist = options.must_exist || !options.keys.is_empty();
    match source {
        Source::Folder(folder) | Source::Copy(folder) if !is_there => {
            if must_exist || options.checkpoints.is_some() {
                let what = "there is no log: it was removed, or nothing was written yet";
                history.problem(folder.to_string(), None, what.to_owned());
            }
        }
        Source::Folder(folder) | Source::Copy(folder) => {
            history.archives(own.before, folder);
        }
        Source::File(_) => {}
    }
    if let Some(checkpoints) = options.checkpoints {
        let seen = SeenLog { chain, links: own.links, end: own.end };
        let own = OwnLog { head: own.head.as_ref(), seen, is_there };
        history.compare(checkpoints, source, own);
    }
    let History { mut report, runs, .. } = history;
    report.notes.extend(runs.notes());
    report.valid = report.problems.is_empty();
    Ok(report)
}

/// Digests of events that checkpoints know of, as they were found.
pub(super) type Links = HashMap<u64, Option<super::chain::Hex>>;

struct History<'a> {
    options: &'a VerifyOptions<'a>,
    report: LogReport,
    runs: Runs,
    /// Logs that were looked at, by their ids.
    seen: HashMap<String, SeenLog>,
}

/// What checkpoints are compared with.
struct SeenLog {
    chain: Chain,
    links: Links,
    /// The number of its last event.
    end: u64,
}

/// The log itself, as opposed to its archives.
struct OwnLog<'a> {
    head: Option<&'a Head>,
    seen: SeenLog,
    is_there: bool,
}

impl History<'_> {
    fn problem(&mut self, file: String, line: Option<u64>, message: String) {
        if self.report.problems.len() < MAX_PROBLEMS {
            self.report.problems.push(LogProblem { seq: None, file, line, message });
        }
    }

    /// Follows what each log says of the one before it.
    fn archives(&mut self, before: Option<LogBefore>, folder: &AbsPath) {
        let mut visited = HashSet::new();
        let mut next = before;
        while let Some(before) = next.take() {
            let name = before.folder.clone();
            let found = match self.find(&before, folder) {
                Found::There(found) => found,
                Found::Another(found) => {
                    let what =
                        "it is not the log that was put aside here: head.json is another one";
                    self.problem(found.to_string(), None, what.to_owned());
                    continue;
                }
                Found::Headless => {
                    let told =
                        format!("{name} had no head when it was put aside, and is not checked");
                    self.report.notes.push(told);
                    continue;
                }
                Found::Missing => {
                    let id = before.id.as_deref().unwrap_or("of an earlier format");
                    let told = format!(
                        "the log {id} was put aside in {name}, which is not here: nothing is said of it; if it was moved, name its folder by --archive DIR"
                    );
                    self.report.notes.push(told);
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

    /// Looks at one archive. Returns what it says of the log before it.
    fn archive(&mut self, folder: &AbsPath) -> Result<Option<LogBefore>, LogError> {
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
        let Checked { report, head, before, links, end, runs } = checked;
        for problem in report.problems {
            let is_head = problem.file == FILE;
            let file = if is_head { folder.join(FILE).to_string() } else { problem.file };
            self.problem(file, problem.line, problem.message);
        }
        self.report.archives += 1;
        self.runs.after(runs);
        if let Some(head) = head.filter(|head| !head.id.is_empty()) {
            self.seen.insert(head.id, SeenLog { chain, links, end });
        }
        Ok(before)
    }

    /// Finds the log that another one follows: it has the head that the other one says it had.
    fn find(&self, before: &LogBefore, folder: &AbsPath) -> Found {
        let Some(head) = &before.head else { return Found::Headless };
        let is_name = !before.folder.is_empty() && !before.folder.contains(['/', '\\', '\0']);
        let is_name = is_name && before.folder != "." && before.folder != "..";
        let mut places: Vec<AbsPath> = Vec::new();
        let beside = folder.parent().filter(|_| is_archive(folder));
        if is_name {
            places.push(folder.join(&before.folder));
            places.extend(beside.map(|parent| parent.join(&before.folder)));
            places.extend(self.options.archives.iter().map(|place| place.join(&before.folder)));
        }
        places.extend(self.options.archives.iter().cloned());
        let there: Vec<(AbsPath, String)> = places
            .into_iter()
            .filter_map(|place| head_text(&place).map(|text| (place, text)))
            .collect();
        if let Some((place, _)) = there.iter().find(|(_, text)| text == head) {
            return Found::There(place.clone());
        }
        let called_so =
            there.into_iter().find(|(place, _)| place.file_name() == Some(&before.folder));
        called_so.map_or(Found::Missing, |(place, _)| Found::Another(place))
    }

    /// Compares the log and its archives with checkpoints. One that is shorter than a checkpoint of it, another one, or gone, is
    /// not what was written.
    fn compare(&mut self, checkpoints: &Checkpoints, source: &Source, own: OwnLog<'_>) {
        let OwnLog { head, seen, is_there } = own;
        let file = &checkpoints.file;
        for line in &checkpoints.malformed {
            let what = "the checkpoint cannot be read";
            self.problem(file.clone(), Some(*line), what.to_owned());
        }
        let id = head.map(|head| head.id.clone()).filter(|id| !id.is_empty());
        if is_there && id.is_none() {
            let what = "only the whole folder of a log can be compared with checkpoints";
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
                    "this log was archived before {}, and another one followed: an older copy was put back",
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
            self.problem(file.clone(), None, format!("it has no checkpoint of this log ({id})"));
        }
        self.report.checkpoints = Some(compared);
        let related = match (source, &head) {
            (Source::Copy(_), Some(head)) => self.related(checkpoints, head),
            _ => BTreeSet::new(),
        };
        self.gone(checkpoints, |id| seen.contains_key(id) || related.contains(id));
    }

    /// Tells of logs that checkpoints know of, and that are nowhere.
    fn gone(&mut self, checkpoints: &Checkpoints, is_known: impl Fn(&str) -> bool) {
        let mut last: BTreeMap<&str, (u64, &Checkpoint)> = BTreeMap::new();
        let mut strangers: BTreeSet<&str> = BTreeSet::new();
        for (line, one) in checkpoints.all.iter().filter(|(_, one)| !is_known(&one.log)) {
            if self.is_trusted(one) {
                let newest = last.entry(&one.log).or_insert((*line, one));
                if one.events >= newest.1.events {
                    *newest = (*line, one);
                }
            } else {
                strangers.insert(&one.log);
            }
        }
        for (id, (line, one)) in last {
            let what = format!(
                "the log {id} had {} events at {}, its last checkpoint, and is gone: it is neither this log nor an archive that this one follows; if it was moved, name its folder by --archive DIR",
                one.events, one.time
            );
            self.problem(checkpoints.file.clone(), Some(line), what);
        }
        if !strangers.is_empty() {
            let told = format!(
                "{} also has checkpoints of {} other logs that this key did not sign: whether they were yours is not known",
                checkpoints.file,
                strangers.len()
            );
            self.report.notes.push(told);
        }
    }

    /// Returns the ids of logs before and after one, by what checkpoints say: a copy of one log need not have them.
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

    /// Returns true if one who has a key signed a checkpoint.
    fn is_trusted(&self, one: &Checkpoint) -> bool {
        self.options.keys.iter().any(|key| one.is_signed(&Chain::Keyed(key.clone())))
    }
}

/// Where the log before another one is.
enum Found {
    There(AbsPath),
    /// Something else stands in its place.
    Another(AbsPath),
    /// It had no head, so nothing can be held against it.
    Headless,
    Missing,
}

/// Returns what is wrong with a log by one of its checkpoints.
fn differs(one: &Checkpoint, log: &SeenLog) -> Option<String> {
    let SeenLog { chain, links, end } = log;
    if !one.is_signed(chain) {
        return Some("the checkpoint was not written by one who has the key".to_owned());
    }
    let link = links.get(&one.events).copied().flatten();
    match link.map(|link| format!("{}:{}", chain.name(), text(&link))) {
        Some(link) if link == one.head => None,
        Some(_) => Some(format!(
            "event {} is another one than at {}: the log was rewritten",
            one.events, one.time
        )),
        None => Some(format!(
            "the log ends at event {end}, but had {} events at {}: events were removed, or an older copy was put back",
            one.events, one.time
        )),
    }
}
