//! Walks the folders of a root: reuses cached records, reads new skills, and collects problems.

use std::collections::BTreeSet;
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

use super::{Item, KnownRecords, Link, Read, check_boundary};
use crate::discover::record::{ProblemRecord, Record, SkillHeader};
use crate::discover::roots::SkillRoot;
use crate::installed::SCRATCH_PREFIX;
use crate::problem::{file_problem, problem_of};

/// The maximum depth of a skill below its root: `root/group/subgroup/skill`.
const MAX_DEPTH: usize = 16;
/// The maximum number of folders to scan in a root.
const MAX_FOLDERS: usize = 200_000;
/// Skills per thread below which parallelism costs more than it saves.
const MIN_PER_THREAD: usize = 32;
/// Folders with third-party code, which are never searched (D4).
const SKIPPED_FOLDERS: [&str; 2] = [".git", "node_modules"];

/// The relevant entries of a folder.
pub(super) struct Listing {
    file: SkillFile,
    /// Folders and symlinks, sorted.
    names: Vec<(String, EntryType)>,
    unnamed: usize,
    /// Whether csk manages skills in this folder.
    is_managed: bool,
}

impl Listing {
    pub(super) fn new(entries: Entries) -> Self {
        let file = SkillFile::pick(entries.named.iter().map(|(name, _)| name.as_str()));
        let is_managed = entries.named.iter().any(|(name, _)| name == LEDGER_FILE);
        let mut names = entries.named;
        names.retain(|(name, kind)| {
            matches!(kind, EntryType::Folder | EntryType::Link)
                && !SKIPPED_FOLDERS.contains(&name.as_str())
                && !name.starts_with(SCRATCH_PREFIX)
        });
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Self { file, names, unnamed: entries.unnamed, is_managed }
    }

    /// Returns the stamp of the SKILL.md in each subfolder.
    pub(super) fn stamps(&self, root: &Root) -> Vec<Option<Stamp>> {
        if self.file != SkillFile::Missing {
            return Vec::new();
        }
        let stamp = |(name, kind): &(String, EntryType)| match kind {
            EntryType::Folder => root.plain_stamp(&format!("{name}/{SKILL_FILE}")),
            EntryType::File | EntryType::Link | EntryType::Other => None,
        };
        self.names.par_iter().with_min_len(MIN_PER_THREAD).map(stamp).collect()
    }
}

/// The folder that is being scanned.
pub(super) struct FolderContext<'a> {
    pub(super) root: &'a Root,
    /// The folder, relative to the root.
    pub(super) at: &'a str,
    /// Its depth, starting at 1.
    pub(super) depth: usize,
    /// Whether it was reached through a symlink, so that its path through the root is not its real path.
    pub(super) is_linked: bool,
}

/// Data about a folder from the cache lookup.
struct PreviousScan {
    /// Its position in the listing, where its record is expected.
    place: usize,
    /// The stamp of its SKILL.md, if already read.
    stamp: Option<Option<Stamp>>,
}

/// A folder that contains other folders.
struct Group<'a> {
    place: &'a FolderContext<'a>,
    /// Whether csk manages skills in it.
    is_managed: bool,
}

pub(super) struct Scanner<'a> {
    pub(super) root: &'a SkillRoot,
    pub(super) known: &'a KnownRecords,
    pub(super) strictness: Strictness,
    pub(super) now: SystemTime,
    pub(super) folders: AtomicUsize,
}

impl Scanner<'_> {
    /// Scans a listed folder, which is a skill or a group of folders. `stamps` are the stamps of the SKILL.md in each
    /// subfolder, as far as they are known.
    pub(super) fn listed(
        &self,
        place: &FolderContext<'_>,
        listing: Listing,
        stamps: &[Option<Stamp>],
    ) -> Vec<Item> {
        let FolderContext { root, at, depth, is_linked } = *place;
        let Listing { file, names, unnamed, is_managed } = listing;
        if file != SkillFile::Missing {
            let known = self.known.find(at, 0).filter(|_| !is_linked);
            let is_marked = |at: usize| {
                self.known.0[at].has_marker || root.has_entry(MARKER_FILE).unwrap_or(true)
            };
            let holds = |&at: &usize| {
                self.known.holds(at, root.plain_stamp(SKILL_FILE))
                    && self.known.0[at].has_marker == is_marked(at)
            };
            return vec![match known.filter(holds) {
                Some(known) => Item::Unchanged(known),
                None => self.read(place, &file, at.to_owned()),
            }];
        }
        let before = self.folders.fetch_add(names.len(), Ordering::Relaxed);
        let limit = |what, limit| {
            let path = root.path().to_string();
            vec![problem(&FsError::Limit { path, what, limit })]
        };
        if before + names.len() > MAX_FOLDERS {
            return limit("folders", MAX_FOLDERS);
        }
        if depth > MAX_DEPTH && !names.is_empty() {
            return limit("nested folder levels", MAX_DEPTH);
        }
        let group = Group { place, is_managed };
        let scan_entry = |(place, (name, kind)): (usize, &(String, EntryType))| {
            let relative = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
            match kind {
                EntryType::Link => {
                    let path = root.path().join(name);
                    Item::Link(Box::new(Link { depth: depth + 1, relative, path }))
                }
                _ => {
                    let last = PreviousScan { place, stamp: stamps.get(place).copied() };
                    self.folder(&group, name, relative, &last)
                }
            }
        };
        let scanned = names.par_iter().enumerate().with_min_len(MIN_PER_THREAD).map(scan_entry);
        let mut items: Vec<Item> = scanned.collect();
        if unnamed > 0 {
            let message = match unnamed {
                1 => "1 file name here is not valid UTF-8".to_owned(),
                _ => format!("{unnamed} file names here are not valid UTF-8"),
            };
            let problem = problem_of(Code::PathNotText, root.path().as_str(), message);
            items.push(Item::Problem(Box::new(problem)));
        }
        items
    }

    fn folder(&self, group: &Group<'_>, name: &str, relative: String, last: &PreviousScan) -> Item {
        let FolderContext { root, depth, is_linked, .. } = *group.place;
        let known = self.known.find(&relative, last.place);
        if let Some(at) = known.filter(|_| !is_linked) {
            let stamp =
                last.stamp.unwrap_or_else(|| root.plain_stamp(&format!("{name}/{SKILL_FILE}")));
            // In a folder managed by csk, a marker may have been added since.
            let may_be_marked = group.is_managed && !self.known.0[at].has_marker;
            if self.known.holds(at, stamp) && !(may_be_marked && has_marker(root, name)) {
                return Item::Unchanged(at);
            }
        }
        // Most skills have a regular SKILL.md, which can be read without opening the folder.
        let relative = match self.read_usual(group, name, relative, known) {
            Ok(item) => return item,
            Err(relative) => relative,
        };
        let opened =
            root.child(name).map(Root::as_skill).and_then(|child| Ok((child.entries()?, child)));
        match opened {
            Ok((entries, child)) => {
                let place =
                    FolderContext { root: &child, at: &relative, depth: depth + 1, is_linked };
                Item::Many(self.listed(&place, Listing::new(entries), &[]))
            }
            Err(error) => problem(&error),
        }
    }

    /// Follows a symlink to a skill or a skill folder. A folder that contains the symlink is not entered, and no other
    /// folder is entered twice, so loops end. Symlinks are followed in order of depth, so that the result is
    /// deterministic.
    pub(super) fn follow(&self, link: &Link, entered: &mut BTreeSet<AbsPath>) -> Vec<Item> {
        let Link { path, relative, depth } = link;
        let opened = real_path(path).and_then(|real| Root::open_real(&real)).map(Root::as_skill);
        let (entries, root) = match opened.and_then(|root| Ok((root.entries()?, root))) {
            Ok(opened) => opened,
            // A symlink to a file is not a skill.
            Err(FsError::NotAFolder { .. }) => return Vec::new(),
            // A broken symlink was a skill once and keeps its name.
            Err(error) => return vec![self.broken_link(link, &error)],
        };
        let listing = Listing::new(entries);
        let is_skill = listing.file != SkillFile::Missing;
        if !is_skill
            && (path.as_path().starts_with(root.path().as_path()) || listing.names.is_empty())
        {
            return Vec::new();
        }
        if let Err(problem) = check_boundary(self.root, root.path(), path.as_str()) {
            return vec![Item::Problem(problem)];
        }
        if !is_skill && !entered.insert(root.path().clone()) {
            return Vec::new();
        }
        let place = FolderContext { root: &root, at: relative, depth: *depth, is_linked: true };
        self.listed(&place, listing, &[])
    }

    /// Returns the record of a symlink that cannot be followed.
    fn broken_link(&self, link: &Link, error: &FsError) -> Item {
        let problem = match error {
            FsError::NotFound { .. } => {
                problem_of(Code::PathNotFound, link.path.as_str(), "broken symlink")
                    .with_hint("remove it, or restore its target")
            }
            error => file_problem(error, link.path.as_str()),
        };
        let record = Record {
            folder: link.relative.clone(),
            file: None,
            stamp: None,
            is_settled: false,
            has_marker: false,
            problems: vec![ProblemRecord::from(problem)],
            header: None,
            refused_name: None,
        };
        let known = self.known.find(&link.relative, 0);
        Item::Read(Box::new(Read { known, record, linked: Some(link.path.clone()) }))
    }

    /// Reads the SKILL.md of a folder in `group`; returns `relative` as error if there is none or a symlink is
    /// involved.
    fn read_usual(
        &self,
        group: &Group<'_>,
        name: &str,
        relative: String,
        known: Option<usize>,
    ) -> Result<Item, String> {
        let FolderContext { root, is_linked, .. } = *group.place;
        let read = RelPath::new(format!("{name}/{SKILL_FILE}")).ok().and_then(|path| {
            root.read_plain_beginning(&path, MAX_SKILL_FILE_BYTES, frontmatter_end).ok()
        });
        let Some(read) = read else { return Err(relative) };
        let folder = root.path().join(name);
        // csk writes markers only into folders that have its ledger.
        let has_marker = group.is_managed && has_marker(root, name);
        let record = self.record(&SkillFile::Standard, &folder, Ok(read));
        let record = Record { folder: relative, has_marker, ..record };
        let linked = is_linked.then_some(folder);
        Ok(Item::Read(Box::new(Read { known, record, linked })))
    }

    /// Reads the SKILL.md of a folder, whatever its file name.
    fn read(&self, place: &FolderContext<'_>, file: &SkillFile, relative: String) -> Item {
        let FolderContext { root, is_linked, .. } = *place;
        let path = file.path().expect("there is a file");
        let read = root.read_beginning(&path, MAX_SKILL_FILE_BYTES, frontmatter_end);
        let known = self.known.find(&relative, 0);
        let has_marker = root.has_entry(MARKER_FILE).unwrap_or(true);
        let record = self.record(file, root.path(), read);
        let record = Record { folder: relative, has_marker, ..record };
        let linked = is_linked.then(|| root.path().clone());
        Item::Read(Box::new(Read { known, record, linked }))
    }

    /// Creates the record of a skill from the content of its file.
    fn record(
        &self,
        file: &SkillFile,
        folder: &AbsPath,
        read: Result<Beginning, FsError>,
    ) -> Record {
        let name = match file {
            SkillFile::Standard | SkillFile::Missing => None,
            SkillFile::Fallback | SkillFile::WrongCase(_) => {
                file.path().map(|path| path.to_string())
            }
        };
        let shown = folder.join(name.as_deref().unwrap_or(SKILL_FILE));
        let mut problems: Vec<Diagnostic> =
            file_name(file, self.strictness, shown.as_str()).into_iter().collect();
        let (mut stamp, mut header, mut refused_name) = (None, None, None);
        match read {
            Ok(beginning) => {
                let (directory, bytes) = (folder.file_name(), &beginning.bytes);
                let head =
                    parse_head(&Input { file: shown.as_str(), directory, bytes }, self.strictness);
                problems.extend(head.diagnostics);
                let is_error = |problem: &Diagnostic| problem.severity == Severity::Error;
                let frontmatter = head.frontmatter.filter(|_| !problems.iter().any(is_error));
                header = frontmatter.map(SkillHeader::new);
                refused_name = head.name.filter(|_| header.is_none());
                stamp = beginning.stamp;
            }
            Err(error) => problems.push(file_problem(&error, shown.as_str())),
        }
        Record {
            folder: String::new(),
            file: name,
            stamp: stamp.map(Into::into),
            is_settled: stamp.is_some_and(|stamp| stamp.is_settled(self.now)),
            header,
            refused_name,
            problems: problems.into_iter().map(ProblemRecord::from).collect(),
            has_marker: false,
        }
    }
}

/// Returns true if a folder has an install marker, or if that cannot be determined.
fn has_marker(group: &Root, name: &str) -> bool {
    group.has_entry(&format!("{name}/{MARKER_FILE}")).unwrap_or(true)
}

fn problem(error: &FsError) -> Item {
    Item::Problem(Box::new(file_problem(error, error.path())))
}

/// Returns a diagnostic if the file name is not `SKILL.md`.
pub fn file_name(file: &SkillFile, strictness: Strictness, shown: &str) -> Option<Diagnostic> {
    let (code, name) = match file {
        SkillFile::Standard | SkillFile::Missing => return None,
        SkillFile::Fallback => (Code::FileName, "skill.md"),
        SkillFile::WrongCase(path) => (Code::FileNameCase, path.as_str()),
    };
    let message = format!("the file is named `{name}`; the standard requires `{SKILL_FILE}`");
    let diagnostic = Diagnostic::of_file(code, strictness, shown, message)?;
    Some(diagnostic.with_hint(format!("rename it to `{SKILL_FILE}`")))
}
