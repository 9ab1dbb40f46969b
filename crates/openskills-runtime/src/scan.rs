//! The skills of one root: only the frontmatter of each is read, and not even that where it is known already.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use rayon::prelude::*;
use skill::{
    Code, Diagnostic, Input, LEDGER_FILE, MARKER_FILE, MAX_SKILL_FILE_BYTES, RelPath, SKILL_FILE,
    Severity, Strictness, frontmatter_end, parse_head,
};
use skill_fs::{
    AbsPath, Beginning, Entries, EntryType, FsError, Root, SkillFile, Stamp, real_path,
};

use crate::Change;
use crate::cache::CacheFile;
use crate::problem::{file_problem, problem_of};
use crate::record::{ProblemRecord, Record, Said};
use crate::roots::SkillRoot;

/// How many folders deep skills are looked for below a root: `root/group/subgroup/skill`.
const MAX_DEPTH: usize = 4;
/// How many folders of a root are looked at.
const MAX_FOLDERS: usize = 200_000;
/// Fewer skills than this are not worth handing out to another core.
const FEW: usize = 32;
/// Folders that hold other people's code (D4).
const NEVER: &str = "node_modules";

/// A folder with a SKILL.md.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) record: Record,
    /// Where a link led to, by its real path.
    pub(crate) linked: Option<AbsPath>,
    /// What is different from what was known.
    pub(crate) news: Option<Change>,
}

impl Scanned {
    /// Returns the folder by its real path; `root` is that of the root.
    pub(crate) fn folder(&self, root: &AbsPath) -> AbsPath {
        match &self.linked {
            Some(linked) => linked.clone(),
            None if self.record.folder.is_empty() => root.clone(),
            None => root.join(&self.record.folder),
        }
    }
}

/// What a scan found, in the order of paths.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) skills: Vec<Scanned>,
    /// Problems of the root itself, and of folders that could not be looked at.
    pub(crate) problems: Vec<Diagnostic>,
    /// Whether what was known before is out of date.
    pub(crate) is_stale: bool,
    /// The root by its real path, if it is there.
    pub(crate) real: Option<AbsPath>,
}

/// Looks at every skill of a root; `file` holds what is known of them.
pub(crate) fn scan(
    root: &SkillRoot,
    file: Option<&CacheFile>,
    strictness: Strictness,
    now: SystemTime,
) -> Scan {
    let file = file.filter(|file| file.is_there());
    let opened = match open(root) {
        Ok(Some(opened)) => opened,
        Ok(None) => return Scan { is_stale: file.is_some(), ..Scan::default() },
        Err(problem) => return Scan { problems: vec![*problem], ..Scan::default() },
    };
    // What is known is read while the files are looked at.
    let list = || opened.entries().map(Listing::new);
    let (known, listed) = match file {
        None => (Vec::new(), list().map(|listing| (listing, Vec::new()))),
        Some(file) => rayon::join(
            || file.load::<Record>().unwrap_or_default(),
            || {
                let listing = list()?;
                let stamps = listing.stamps(&opened);
                Ok((listing, stamps))
            },
        ),
    };
    let (listing, stamps) = match listed {
        Ok(listed) => listed,
        Err(error) => {
            let problem = file_problem(&error, opened.path().as_str());
            return Scan { problems: vec![problem], ..Scan::default() };
        }
    };
    let known = Known(known);
    let folders = AtomicUsize::new(0);
    let scanner = Scanner { root, known: &known, strictness, now, folders };
    let items = scanner.listed((&opened, ""), listing, &stamps, 1);
    settle(items, known, &opened)
}

/// Puts what was read and what is known together.
fn settle(items: Vec<Item>, known: Known, root: &Root) -> Scan {
    let Known(records) = known;
    let mut records: Vec<Option<Record>> = records.into_iter().map(Some).collect();
    let skills = Vec::with_capacity(items.len());
    let mut found = Scan { skills, real: Some(root.path().clone()), ..Scan::default() };
    let kept = take(items, &mut records, &mut found);
    found.is_stale |= kept != records.len();
    found
}

/// Adds items to what was found; returns how many of the records were of use.
fn take(items: Vec<Item>, records: &mut [Option<Record>], found: &mut Scan) -> usize {
    let mut kept = 0;
    for item in items {
        match item {
            Item::Known(at) => {
                let Some(record) = records[at].take() else { continue };
                kept += 1;
                found.skills.push(Scanned { record, linked: None, news: None });
            }
            Item::Read(read) => {
                let Read { known, record, linked } = *read;
                let before = known.and_then(|at| records[at].take());
                kept += usize::from(before.is_some());
                let news = match &before {
                    None => Some(Change::New),
                    Some(before) if is_same(before, &record) => None,
                    Some(_) => Some(Change::Changed),
                };
                found.is_stale |= before.is_none_or(|before| before != record);
                found.skills.push(Scanned { record, linked, news });
            }
            Item::Problem(problem) => found.problems.push(*problem),
            Item::Many(items) => kept += take(items, records, found),
        }
    }
    kept
}

/// Returns true if a skill that was read again says what it said before.
fn is_same(before: &Record, now: &Record) -> bool {
    (before.stamp, &before.said, &before.file) == (now.stamp, &now.said, &now.file)
}

/// Opens the root's folder. Standard places that are not there are no problem.
fn open(root: &SkillRoot) -> Result<Option<Root>, Box<Diagnostic>> {
    let failed = |error: &FsError| Box::new(file_problem(error, root.path.as_str()));
    let real = match real_path(&root.path) {
        Ok(real) => real,
        Err(FsError::NotFound { .. } | FsError::NotAFolder { .. }) if !root.is_named => {
            return Ok(None);
        }
        Err(error) => return Err(failed(&error)),
    };
    check_boundary(root, &real, root.path.as_str())?;
    match Root::open_real(&real) {
        Ok(opened) => Ok(Some(opened)),
        Err(FsError::NotAFolder { .. }) if !root.is_named => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// Refuses what is outside of a project that nobody trusts.
fn check_boundary(root: &SkillRoot, real: &AbsPath, shown: &str) -> Result<(), Box<Diagnostic>> {
    match &root.boundary {
        Some(boundary) if !real.as_path().starts_with(boundary.as_path()) => {
            let message = format!("it is a link out of {boundary}, which is not trusted");
            let hint = format!("if you trust the folder, say so: openskills trust {boundary}");
            Err(Box::new(problem_of(Code::LinkEscapes, shown, message).with_hint(hint)))
        }
        _ => Ok(()),
    }
}

/// What was known of a root's skills before, in the order in which they were found.
struct Known(Vec<Record>);

impl Known {
    /// Returns where the record of a folder is. If nothing has changed it is at `guess`.
    fn find(&self, folder: &str, guess: usize) -> Option<usize> {
        let Self(records) = self;
        if records.get(guess).is_some_and(|record| record.folder == folder) {
            return Some(guess);
        }
        // Folders are listed in the order of their names, and a folder's folders follow it.
        let wanted = || folder.split('/');
        records.binary_search_by(|record| record.folder.split('/').cmp(wanted())).ok()
    }

    /// Returns true if the file of the record at `at` is what it was.
    fn holds(&self, at: usize, stamp: Option<Stamp>) -> bool {
        let record = &self.0[at];
        record.is_settled
            && record.file.is_none()
            && stamp.is_some()
            && record.stamp.map(Stamp::from) == stamp
    }
}

enum Item {
    /// What is known still holds.
    Known(usize),
    Read(Box<Read>),
    Problem(Box<Diagnostic>),
    /// What is in a group of folders, or nothing.
    Many(Vec<Item>),
}

struct Read {
    /// Where the record of the folder is among what is known.
    known: Option<usize>,
    record: Record,
    /// Where a link led to, by its real path.
    linked: Option<AbsPath>,
}

/// What of a folder's entries matters.
struct Listing {
    file: SkillFile,
    /// Folders and links, sorted.
    names: Vec<(String, EntryType)>,
    unnamed: usize,
    /// Whether csk keeps skills here.
    is_managed: bool,
}

impl Listing {
    fn new(entries: Entries) -> Self {
        let file = SkillFile::pick(entries.named.iter().map(|(name, _)| name.as_str()));
        let is_managed = entries.named.iter().any(|(name, _)| name == LEDGER_FILE);
        let mut names = entries.named;
        names.retain(|(name, kind)| {
            matches!(kind, EntryType::Folder | EntryType::Link)
                && !name.starts_with('.')
                && name != NEVER
        });
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Self { file, names, unnamed: entries.unnamed, is_managed }
    }

    /// Returns the stamp of the SKILL.md in each folder.
    fn stamps(&self, root: &Root) -> Vec<Option<Stamp>> {
        if self.file != SkillFile::Missing {
            return Vec::new();
        }
        let stamp = |(name, kind): &(String, EntryType)| match kind {
            EntryType::Folder => root.stamp(&format!("{name}/{SKILL_FILE}")),
            EntryType::File | EntryType::Link | EntryType::Other => None,
        };
        self.names.par_iter().with_min_len(FEW).map(stamp).collect()
    }
}

/// A folder of folders.
struct Group<'a> {
    root: &'a Root,
    is_managed: bool,
    depth: usize,
}

struct Scanner<'a> {
    root: &'a SkillRoot,
    known: &'a Known,
    strictness: Strictness,
    now: SystemTime,
    folders: AtomicUsize,
}

impl Scanner<'_> {
    /// Looks at a folder that was listed: it is a skill, or a group of folders. `stamps` are those of the SKILL.md in
    /// each of the folders, as far as they are known.
    fn listed(
        &self,
        (group, at): (&Root, &str),
        listing: Listing,
        stamps: &[Option<Stamp>],
        depth: usize,
    ) -> Vec<Item> {
        let Listing { file, names, unnamed, is_managed } = listing;
        if file != SkillFile::Missing {
            let known = self.known.find(at, 0);
            let holds = |&at: &usize| self.known.holds(at, group.stamp(SKILL_FILE));
            return vec![match known.filter(holds) {
                Some(known) => Item::Known(known),
                None => self.read(group, &file, at.to_owned()),
            }];
        }
        let before = self.folders.fetch_add(names.len(), Ordering::Relaxed);
        if before + names.len() > MAX_FOLDERS {
            let path = group.path().to_string();
            return vec![problem(&FsError::Limit { path, what: "folders", limit: MAX_FOLDERS })];
        }
        let inside = Group { root: group, is_managed, depth };
        let look = |(place, (name, kind)): (usize, &(String, EntryType))| {
            let relative = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
            match kind {
                EntryType::Link => self.link(group, name, relative),
                _ => {
                    let stamp = stamps.get(place).copied();
                    self.folder(&inside, name, relative, (place, stamp))
                }
            }
        };
        let looked = names.par_iter().enumerate().with_min_len(FEW).map(look);
        let mut items: Vec<Item> = looked.collect();
        if unnamed > 0 {
            let message = format!("it holds {unnamed} names that are not valid UTF-8");
            let problem = problem_of(Code::PathNotText, group.path().as_str(), message);
            items.push(Item::Problem(Box::new(problem)));
        }
        items
    }

    fn folder(
        &self,
        group: &Group<'_>,
        name: &str,
        relative: String,
        (place, stamp): (usize, Option<Option<Stamp>>),
    ) -> Item {
        let known = self.known.find(&relative, place);
        if let Some(at) = known {
            let stamp = stamp.unwrap_or_else(|| group.root.stamp(&format!("{name}/{SKILL_FILE}")));
            if self.known.holds(at, stamp) {
                return Item::Known(at);
            }
        }
        // Nearly every skill has a plain file of the usual name: then its folder need not even be opened.
        let relative = match self.read_usual(group, name, relative, known) {
            Ok(item) => return item,
            Err(relative) => relative,
        };
        let opened = group.root.child(name).and_then(|child| Ok((child.entries()?, child)));
        match opened {
            Ok((entries, child)) => {
                let listing = Listing::new(entries);
                if listing.file == SkillFile::Missing && group.depth >= MAX_DEPTH {
                    return Item::Many(Vec::new());
                }
                Item::Many(self.listed((&child, &relative), listing, &[], group.depth + 1))
            }
            Err(error) => problem(&error),
        }
    }

    /// Looks at what a link leads to. It is a skill or nothing: folders behind links are not searched, so that no
    /// circle can be entered.
    fn link(&self, group: &Root, name: &str, relative: String) -> Item {
        let path = group.path().join(name);
        let told = |problem: Diagnostic| Item::Problem(Box::new(problem));
        let root = match real_path(&path).and_then(|real| Root::open_real(&real)) {
            Ok(root) => root,
            // A link to a file is nobody's skill.
            Err(FsError::NotAFolder { .. }) => return Item::Many(Vec::new()),
            Err(FsError::NotFound { .. }) => {
                let message = "the link leads nowhere";
                let problem = problem_of(Code::PathNotFound, path.as_str(), message);
                return told(problem.with_hint("remove it, or put back what it names"));
            }
            Err(error) => return told(file_problem(&error, path.as_str())),
        };
        match root.skill_file() {
            Ok(SkillFile::Missing) => Item::Many(Vec::new()),
            Ok(file) => match check_boundary(self.root, root.path(), path.as_str()) {
                Ok(()) => match self.read(&root, &file, relative) {
                    Item::Read(read) => {
                        let linked = Some(root.path().clone());
                        Item::Read(Box::new(Read { linked, ..*read }))
                    }
                    other => other,
                },
                Err(problem) => Item::Problem(problem),
            },
            Err(error) => told(file_problem(&error, path.as_str())),
        }
    }

    /// Reads the SKILL.md of a folder in `group`; gives the folder back if there is none, or a link is on the way.
    fn read_usual(
        &self,
        group: &Group<'_>,
        name: &str,
        relative: String,
        known: Option<usize>,
    ) -> Result<Item, String> {
        let Group { root, is_managed, .. } = *group;
        let read = RelPath::new(format!("{name}/{SKILL_FILE}")).ok().and_then(|path| {
            root.read_plain_beginning(&path, MAX_SKILL_FILE_BYTES, frontmatter_end).ok()
        });
        let Some(read) = read else { return Err(relative) };
        // csk leaves markers only where it keeps a list of what it made.
        let has_marker =
            is_managed && root.has_entry(&format!("{name}/{MARKER_FILE}")).unwrap_or(true);
        let record = self.record(&SkillFile::Standard, &root.path().join(name), Ok(read));
        let record = Record { folder: relative, has_marker, ..record };
        Ok(Item::Read(Box::new(Read { known, record, linked: None })))
    }

    fn read(&self, root: &Root, file: &SkillFile, relative: String) -> Item {
        let path = file.path().expect("there is a file");
        let read = root.read_beginning(&path, MAX_SKILL_FILE_BYTES, frontmatter_end);
        let known = self.known.find(&relative, 0);
        let has_marker = root.has_entry(MARKER_FILE).unwrap_or(true);
        let record = self.record(file, root.path(), read);
        let record = Record { folder: relative, has_marker, ..record };
        Item::Read(Box::new(Read { known, record, linked: None }))
    }

    /// Makes a record of what was read of a skill's file.
    fn record(
        &self,
        file: &SkillFile,
        folder: &AbsPath,
        read: Result<Beginning, FsError>,
    ) -> Record {
        let name = match file {
            SkillFile::Standard | SkillFile::Missing => None,
            SkillFile::Fallback | SkillFile::Nearly(_) => file.path().map(|path| path.to_string()),
        };
        let shown = folder.join(name.as_deref().unwrap_or(SKILL_FILE));
        let mut problems: Vec<Diagnostic> =
            file_name(file, self.strictness, shown.as_str()).into_iter().collect();
        let (mut stamp, mut said) = (None, None);
        match read {
            Ok(beginning) => {
                let (directory, bytes) = (folder.file_name(), &beginning.bytes);
                let head =
                    parse_head(&Input { file: shown.as_str(), directory, bytes }, self.strictness);
                problems.extend(head.diagnostics);
                let is_error = |problem: &Diagnostic| problem.severity == Severity::Error;
                let frontmatter = head.frontmatter.filter(|_| !problems.iter().any(is_error));
                said = frontmatter.map(Said::new);
                stamp = beginning.stamp;
            }
            Err(error) => problems.push(file_problem(&error, shown.as_str())),
        }
        Record {
            folder: String::new(),
            file: name,
            stamp: stamp.map(Into::into),
            is_settled: stamp.is_some_and(|stamp| stamp.is_settled(self.now)),
            said,
            problems: problems.into_iter().map(ProblemRecord::from).collect(),
            has_marker: false,
        }
    }
}

fn problem(error: &FsError) -> Item {
    Item::Problem(Box::new(file_problem(error, error.path())))
}

/// Reports a SKILL.md that is called otherwise.
pub fn file_name(file: &SkillFile, strictness: Strictness, shown: &str) -> Option<Diagnostic> {
    let (code, name) = match file {
        SkillFile::Standard | SkillFile::Missing => return None,
        SkillFile::Fallback => (Code::FileName, "skill.md"),
        SkillFile::Nearly(path) => (Code::FileNameCase, path.as_str()),
    };
    let message = format!("the file is called `{name}`; the standard asks for `{SKILL_FILE}`");
    let diagnostic = Diagnostic::of_file(code, strictness, shown, message)?;
    Some(diagnostic.with_hint(format!("rename it to `{SKILL_FILE}`")))
}
