//! Scans one root for skills. Reads only their frontmatter, and skips files that are in the cache.

mod scanner;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

use skill::{Code, Diagnostic, Strictness};
use skill_fs::{AbsPath, FsError, Root, Stamp, real_path};

use crate::Change;
use crate::discover::cache::CacheFile;
use crate::discover::record::Record;
use crate::discover::roots::SkillRoot;
use crate::problem::{file_problem, problem_of};
use crate::quote::shell_word;

pub use scanner::file_name;
use scanner::{FolderContext, Listing, Scanner};

/// A folder with a SKILL.md.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) record: Record,
    /// The real path, if it was reached through a symlink.
    pub(crate) linked: Option<AbsPath>,
    /// How it differs from the cached version.
    pub(crate) change: Option<Change>,
}

impl Scanned {
    /// Returns the real path of the folder; `root` is the real path of the root.
    pub(crate) fn folder(&self, root: &AbsPath) -> AbsPath {
        match &self.linked {
            Some(linked) => linked.clone(),
            None if self.record.folder.is_empty() => root.clone(),
            None => root.join(&self.record.folder),
        }
    }
}

/// The result of a scan, in order of paths.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) skills: Vec<Scanned>,
    /// Problems with the root itself and with unreadable folders.
    pub(crate) problems: Vec<Diagnostic>,
    /// Whether the cache is out of date.
    pub(crate) is_stale: bool,
    /// Cached skills that no longer exist.
    pub(crate) gone: Vec<Record>,
    /// The real path of the root, if it exists.
    pub(crate) real: Option<AbsPath>,
    /// The real paths of skill folders that were reached through symlinks.
    pub(crate) groups: Vec<AbsPath>,
}

/// Scans a root; `file` is its cache.
pub(crate) fn scan(
    root: &SkillRoot,
    file: Option<&CacheFile>,
    strictness: Strictness,
    now: SystemTime,
) -> Scan {
    let file = file.filter(|file| file.exists());
    let opened = match open(root) {
        Ok(Some(opened)) => opened,
        Ok(None) => {
            let known = file.and_then(CacheFile::load::<Record>).unwrap_or_default();
            return Scan { is_stale: file.is_some(), gone: gone(known), ..Scan::default() };
        }
        Err(problem) => return Scan { problems: vec![*problem], ..Scan::default() },
    };
    // Load the cache while listing the files.
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
    let known = KnownRecords(known);
    let scanner = Scanner { root, known: &known, strictness, now, folders: AtomicUsize::new(0) };
    let place = FolderContext { root: &opened, at: "", depth: 1, is_linked: false };
    let mut items = scanner.listed(&place, listing, &stamps);
    let mut groups = BTreeSet::new();
    let mut links = BTreeSet::new();
    take_links(&mut items, &mut links);
    let has_links = !links.is_empty();
    while let Some(link) = links.pop_first() {
        let mut found = scanner.follow(&link, &mut groups);
        take_links(&mut found, &mut links);
        items.extend(found);
    }
    let mut scan = settle(items, known, &opened);
    scan.groups = groups.into_iter().collect();
    if has_links {
        // Lookup uses binary search, so records must stay sorted.
        scan.skills
            .sort_by(|one, other| one.record.folder.split('/').cmp(other.record.folder.split('/')));
    }
    scan
}

/// Moves the symlinks that are still to be followed from `items` to `links`.
fn take_links(items: &mut Vec<Item>, links: &mut BTreeSet<Link>) {
    let mut kept = Vec::with_capacity(items.len());
    for mut item in items.drain(..) {
        match item {
            Item::Link(link) => {
                links.insert(*link);
                continue;
            }
            Item::Many(ref mut inner) => take_links(inner, links),
            Item::Unchanged(_) | Item::Read(_) | Item::Problem(_) => {}
        }
        kept.push(item);
    }
    *items = kept;
}

/// Combines new and cached records.
fn settle(items: Vec<Item>, known: KnownRecords, root: &Root) -> Scan {
    let KnownRecords(records) = known;
    let mut records: Vec<Option<Record>> = records.into_iter().map(Some).collect();
    let skills = Vec::with_capacity(items.len());
    let mut found = Scan { skills, real: Some(root.path().clone()), ..Scan::default() };
    let kept = take(items, &mut records, &mut found);
    found.is_stale |= kept != records.len();
    found.gone = gone(records.into_iter().flatten());
    found
}

/// Returns the records of loadable skills.
fn gone(records: impl IntoIterator<Item = Record>) -> Vec<Record> {
    records.into_iter().filter(|record| record.header.is_some()).collect()
}

/// Adds items to the result; returns how many cached records were used.
fn take(items: Vec<Item>, records: &mut [Option<Record>], found: &mut Scan) -> usize {
    let mut kept = 0;
    for item in items {
        match item {
            Item::Unchanged(at) => {
                let Some(record) = records[at].take() else { continue };
                kept += 1;
                found.skills.push(Scanned { record, linked: None, change: None });
            }
            Item::Read(read) => {
                let Read { known, record, linked } = *read;
                let before = known.and_then(|at| records[at].take());
                kept += usize::from(before.is_some());
                let change = match &before {
                    None => Some(Change::New),
                    Some(before) if is_same(before, &record) => None,
                    Some(_) => Some(Change::Changed),
                };
                found.is_stale |= before.is_none_or(|before| before != record);
                found.skills.push(Scanned { record, linked, change });
            }
            Item::Problem(problem) => found.problems.push(*problem),
            Item::Many(items) => kept += take(items, records, found),
            // Already followed.
            Item::Link(_) => {}
        }
    }
    kept
}

/// Returns true if a skill that was read again has not changed.
fn is_same(before: &Record, now: &Record) -> bool {
    (before.stamp, &before.header, &before.file) == (now.stamp, &now.header, &now.file)
}

/// Opens the root's folder. A missing standard location is not an error.
fn open(root: &SkillRoot) -> Result<Option<Root>, Box<Diagnostic>> {
    let failed = |error: &FsError| Box::new(file_problem(error, root.path.as_str()));
    let real = match real_path(&root.path) {
        Ok(real) => real,
        // A broken symlink is not the same as a missing folder: something was there.
        Err(FsError::NotFound { .. } | FsError::NotAFolder { .. })
            if !root.is_explicit && !root.path.as_path().is_symlink() =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(&error)),
    };
    check_boundary(root, &real, root.path.as_str())?;
    match Root::open_real(&real) {
        // The root may itself be a skill.
        Ok(opened) => Ok(Some(opened.as_skill())),
        Err(FsError::NotAFolder { .. }) if !root.is_explicit => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// Fails if a path is outside the untrusted project that it was found in.
fn check_boundary(root: &SkillRoot, real: &AbsPath, shown: &str) -> Result<(), Box<Diagnostic>> {
    match &root.boundary {
        Some(boundary) if !real.as_path().starts_with(boundary.as_path()) => {
            let message = format!("symlink points outside the untrusted folder `{boundary}`");
            let folder = shell_word(boundary.as_str());
            let hint = format!("if you trust the folder, run `openskills trust {folder}`");
            Err(Box::new(problem_of(Code::LinkEscapes, shown, message).with_hint(hint)))
        }
        _ => Ok(()),
    }
}

/// The cached records of a root's skills, in the order in which they were found.
struct KnownRecords(Vec<Record>);

impl KnownRecords {
    /// Returns the index of a folder's record. If nothing has changed, that is `guess`.
    fn find(&self, folder: &str, guess: usize) -> Option<usize> {
        let Self(records) = self;
        if records.get(guess).is_some_and(|record| record.folder == folder) {
            return Some(guess);
        }
        // Records are sorted by path components.
        let wanted = || folder.split('/');
        records.binary_search_by(|record| record.folder.split('/').cmp(wanted())).ok()
    }

    /// Returns true if the file of the record at `at` has not changed.
    fn holds(&self, at: usize, stamp: Option<Stamp>) -> bool {
        let record = &self.0[at];
        record.is_settled
            && record.file.is_none()
            && stamp.is_some()
            && record.stamp.map(Stamp::from) == stamp
    }
}

enum Item {
    /// The cached record is still valid.
    Unchanged(usize),
    Read(Box<Read>),
    Problem(Box<Diagnostic>),
    /// The contents of a group of folders; may be empty.
    Many(Vec<Item>),
    /// A symlink, to be followed after all folders.
    Link(Box<Link>),
}

/// A symlink in a skill folder. Sorted by depth.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    depth: usize,
    /// Path of the symlink relative to the root.
    relative: String,
    path: AbsPath,
}

struct Read {
    /// The index of the folder's cached record.
    known: Option<usize>,
    record: Record,
    /// The real path, if it was reached through a symlink.
    linked: Option<AbsPath>,
}
