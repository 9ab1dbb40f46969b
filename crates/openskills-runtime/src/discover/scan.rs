//! The skills of one root: only the frontmatter of each is read, and not even that where it is known already.

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
use scanner::{Listing, Place, Scanner};

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
    /// Skills that were known and are not there any more.
    pub(crate) gone: Vec<Record>,
    /// The root by its real path, if it is there.
    pub(crate) real: Option<AbsPath>,
    /// Folders of skills that links led to, by their real path.
    pub(crate) groups: Vec<AbsPath>,
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
        Ok(None) => {
            let known = file.and_then(CacheFile::load::<Record>).unwrap_or_default();
            return Scan { is_stale: file.is_some(), gone: gone(known), ..Scan::default() };
        }
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
    let scanner = Scanner { root, known: &known, strictness, now, folders: AtomicUsize::new(0) };
    let place = Place { root: &opened, at: "", depth: 1, is_linked: false };
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
        // Records are looked up by their order.
        scan.skills
            .sort_by(|one, other| one.record.folder.split('/').cmp(other.record.folder.split('/')));
    }
    scan
}

/// Takes out the links that are still to be followed.
fn take_links(items: &mut Vec<Item>, links: &mut BTreeSet<Link>) {
    let mut kept = Vec::with_capacity(items.len());
    for mut item in items.drain(..) {
        match item {
            Item::Link(link) => {
                links.insert(*link);
                continue;
            }
            Item::Many(ref mut inner) => take_links(inner, links),
            Item::Known(_) | Item::Read(_) | Item::Problem(_) => {}
        }
        kept.push(item);
    }
    *items = kept;
}

/// Puts what was read and what is known together.
fn settle(items: Vec<Item>, known: Known, root: &Root) -> Scan {
    let Known(records) = known;
    let mut records: Vec<Option<Record>> = records.into_iter().map(Some).collect();
    let skills = Vec::with_capacity(items.len());
    let mut found = Scan { skills, real: Some(root.path().clone()), ..Scan::default() };
    let kept = take(items, &mut records, &mut found);
    found.is_stale |= kept != records.len();
    found.gone = gone(records.into_iter().flatten());
    found
}

/// Returns those of the records that are of skills.
fn gone(records: impl IntoIterator<Item = Record>) -> Vec<Record> {
    records.into_iter().filter(|record| record.said.is_some()).collect()
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
            // They have been followed.
            Item::Link(_) => {}
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
        // A link to nothing is no absence: something was there.
        Err(FsError::NotFound { .. } | FsError::NotAFolder { .. })
            if !root.is_named && !root.path.as_path().is_symlink() =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(&error)),
    };
    check_boundary(root, &real, root.path.as_str())?;
    match Root::open_real(&real) {
        // It may be a skill itself.
        Ok(opened) => Ok(Some(opened.as_skill())),
        Err(FsError::NotAFolder { .. }) if !root.is_named => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// Refuses what is outside of a project that nobody trusts.
fn check_boundary(root: &SkillRoot, real: &AbsPath, shown: &str) -> Result<(), Box<Diagnostic>> {
    match &root.boundary {
        Some(boundary) if !real.as_path().starts_with(boundary.as_path()) => {
            let message = format!("it is a link out of {boundary}, which is not trusted");
            let folder = shell_word(boundary.as_str());
            let hint = format!("if you trust the folder, say so: openskills trust {folder}");
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
    /// Something that is looked at after all folders.
    Link(Box<Link>),
}

/// A link in a folder of skills; the least deep comes first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    depth: usize,
    /// The link, seen from the skills' root.
    relative: String,
    path: AbsPath,
}

struct Read {
    /// Where the record of the folder is among what is known.
    known: Option<usize>,
    record: Record,
    /// Where a link led to, by its real path.
    linked: Option<AbsPath>,
}
