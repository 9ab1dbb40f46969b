//! Looks at the folders of a root: what is known, what has to be read, what is in the way.

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

use super::{Item, Known, Link, Read, check_boundary};
use crate::discover::record::{ProblemRecord, Record, Said};
use crate::discover::roots::SkillRoot;
use crate::installed::UNFINISHED;
use crate::problem::{file_problem, problem_of};

/// How many folders deep skills are looked for below a root: `root/group/subgroup/skill`.
const MAX_DEPTH: usize = 16;
/// How many folders of a root are looked at.
const MAX_FOLDERS: usize = 200_000;
/// Fewer skills than this are not worth handing out to another core.
const FEW: usize = 32;
/// Folders that hold other people's code (D4).
const NEVER: [&str; 2] = [".git", "node_modules"];

/// What of a folder's entries matters.
pub(super) struct Listing {
    file: SkillFile,
    /// Folders and links, sorted.
    names: Vec<(String, EntryType)>,
    unnamed: usize,
    /// Whether csk keeps skills here.
    is_managed: bool,
}

impl Listing {
    pub(super) fn new(entries: Entries) -> Self {
        let file = SkillFile::pick(entries.named.iter().map(|(name, _)| name.as_str()));
        let is_managed = entries.named.iter().any(|(name, _)| name == LEDGER_FILE);
        let mut names = entries.named;
        names.retain(|(name, kind)| {
            matches!(kind, EntryType::Folder | EntryType::Link)
                && !NEVER.contains(&name.as_str())
                && !name.starts_with(UNFINISHED)
        });
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Self { file, names, unnamed: entries.unnamed, is_managed }
    }

    /// Returns the stamp of the SKILL.md in each folder.
    pub(super) fn stamps(&self, root: &Root) -> Vec<Option<Stamp>> {
        if self.file != SkillFile::Missing {
            return Vec::new();
        }
        let stamp = |(name, kind): &(String, EntryType)| match kind {
            EntryType::Folder => root.plain_stamp(&format!("{name}/{SKILL_FILE}")),
            EntryType::File | EntryType::Link | EntryType::Other => None,
        };
        self.names.par_iter().with_min_len(FEW).map(stamp).collect()
    }
}

/// A folder that was listed.
pub(super) struct Place<'a> {
    pub(super) root: &'a Root,
    /// The folder, seen from the skills' root.
    pub(super) at: &'a str,
    /// How deep it is, from 1.
    pub(super) depth: usize,
    /// Whether a link led here: then the path through the root is not the real one.
    pub(super) is_linked: bool,
}

/// What is known of a folder from the last time.
struct LastTime {
    /// Where it stood in the list.
    place: usize,
    /// The stamp of its SKILL.md, where it was taken already.
    stamp: Option<Option<Stamp>>,
}

/// A folder of folders.
struct Group<'a> {
    place: &'a Place<'a>,
    /// Whether csk keeps skills in it.
    is_managed: bool,
}

pub(super) struct Scanner<'a> {
    pub(super) root: &'a SkillRoot,
    pub(super) known: &'a Known,
    pub(super) strictness: Strictness,
    pub(super) now: SystemTime,
    pub(super) folders: AtomicUsize,
}

impl Scanner<'_> {
    /// Looks at a folder that was listed: it is a skill, or a group of folders. `stamps` are those of the SKILL.md in
    /// each of the folders, as far as they are known.
    pub(super) fn listed(
        &self,
        place: &Place<'_>,
        listing: Listing,
        stamps: &[Option<Stamp>],
    ) -> Vec<Item> {
        let Place { root, at, depth, is_linked } = *place;
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
                Some(known) => Item::Known(known),
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
            return limit("folders inside each other", MAX_DEPTH);
        }
        let group = Group { place, is_managed };
        let look = |(place, (name, kind)): (usize, &(String, EntryType))| {
            let relative = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
            match kind {
                EntryType::Link => {
                    let path = root.path().join(name);
                    Item::Link(Box::new(Link { depth: depth + 1, relative, path }))
                }
                _ => {
                    let last = LastTime { place, stamp: stamps.get(place).copied() };
                    self.folder(&group, name, relative, &last)
                }
            }
        };
        let looked = names.par_iter().enumerate().with_min_len(FEW).map(look);
        let mut items: Vec<Item> = looked.collect();
        if unnamed > 0 {
            let message = format!("it holds {unnamed} names that are not valid UTF-8");
            let problem = problem_of(Code::PathNotText, root.path().as_str(), message);
            items.push(Item::Problem(Box::new(problem)));
        }
        items
    }

    fn folder(&self, group: &Group<'_>, name: &str, relative: String, last: &LastTime) -> Item {
        let Place { root, depth, is_linked, .. } = *group.place;
        let known = self.known.find(&relative, last.place);
        if let Some(at) = known.filter(|_| !is_linked) {
            let stamp =
                last.stamp.unwrap_or_else(|| root.plain_stamp(&format!("{name}/{SKILL_FILE}")));
            // In a folder of csk's a marker may have come since.
            let may_be_marked = group.is_managed && !self.known.0[at].has_marker;
            if self.known.holds(at, stamp) && !(may_be_marked && has_marker(root, name)) {
                return Item::Known(at);
            }
        }
        // Nearly every skill has a plain file of the usual name: then its folder need not even be opened.
        let relative = match self.read_usual(group, name, relative, known) {
            Ok(item) => return item,
            Err(relative) => relative,
        };
        let opened =
            root.child(name).map(Root::as_skill).and_then(|child| Ok((child.entries()?, child)));
        match opened {
            Ok((entries, child)) => {
                let place = Place { root: &child, at: &relative, depth: depth + 1, is_linked };
                Item::Many(self.listed(&place, Listing::new(entries), &[]))
            }
            Err(error) => problem(&error),
        }
    }

    /// Follows a link: to a skill, or to a folder of skills. A folder that the link itself is in is not entered, and no
    /// other more than once, so every circle ends. Links are followed one after the other, the least deep first, so that
    /// the same folders give the same answer every time.
    pub(super) fn follow(&self, link: &Link, entered: &mut BTreeSet<AbsPath>) -> Vec<Item> {
        let Link { path, relative, depth } = link;
        let opened = real_path(path).and_then(|real| Root::open_real(&real)).map(Root::as_skill);
        let (entries, root) = match opened.and_then(|root| Ok((root.entries()?, root))) {
            Ok(opened) => opened,
            // A link to a file is nobody's skill.
            Err(FsError::NotAFolder { .. }) => return Vec::new(),
            // One that leads nowhere was a skill, and keeps its name.
            Err(error) => return vec![self.lost(link, &error)],
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
        let place = Place { root: &root, at: relative, depth: *depth, is_linked: true };
        self.listed(&place, listing, &[])
    }

    /// Returns the record of a link that cannot be followed.
    fn lost(&self, link: &Link, error: &FsError) -> Item {
        let problem = match error {
            FsError::NotFound { .. } => {
                problem_of(Code::PathNotFound, link.path.as_str(), "the link leads nowhere")
                    .with_hint("remove it, or put back what it names")
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
            said: None,
            refused_name: None,
        };
        let known = self.known.find(&link.relative, 0);
        Item::Read(Box::new(Read { known, record, linked: Some(link.path.clone()) }))
    }

    /// Reads the SKILL.md of a folder in `group`; gives the folder back if there is none, or a link is on the way.
    fn read_usual(
        &self,
        group: &Group<'_>,
        name: &str,
        relative: String,
        known: Option<usize>,
    ) -> Result<Item, String> {
        let Place { root, is_linked, .. } = *group.place;
        let read = RelPath::new(format!("{name}/{SKILL_FILE}")).ok().and_then(|path| {
            root.read_plain_beginning(&path, MAX_SKILL_FILE_BYTES, frontmatter_end).ok()
        });
        let Some(read) = read else { return Err(relative) };
        let folder = root.path().join(name);
        // csk leaves markers only where it keeps a list of what it made.
        let has_marker = group.is_managed && has_marker(root, name);
        let record = self.record(&SkillFile::Standard, &folder, Ok(read));
        let record = Record { folder: relative, has_marker, ..record };
        let linked = is_linked.then_some(folder);
        Ok(Item::Read(Box::new(Read { known, record, linked })))
    }

    /// Reads the SKILL.md of the folder at `place`, whatever it is called.
    fn read(&self, place: &Place<'_>, file: &SkillFile, relative: String) -> Item {
        let Place { root, is_linked, .. } = *place;
        let path = file.path().expect("there is a file");
        let read = root.read_beginning(&path, MAX_SKILL_FILE_BYTES, frontmatter_end);
        let known = self.known.find(&relative, 0);
        let has_marker = root.has_entry(MARKER_FILE).unwrap_or(true);
        let record = self.record(file, root.path(), read);
        let record = Record { folder: relative, has_marker, ..record };
        let linked = is_linked.then(|| root.path().clone());
        Item::Read(Box::new(Read { known, record, linked }))
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
        let (mut stamp, mut said, mut refused_name) = (None, None, None);
        match read {
            Ok(beginning) => {
                let (directory, bytes) = (folder.file_name(), &beginning.bytes);
                let head =
                    parse_head(&Input { file: shown.as_str(), directory, bytes }, self.strictness);
                problems.extend(head.diagnostics);
                let is_error = |problem: &Diagnostic| problem.severity == Severity::Error;
                let frontmatter = head.frontmatter.filter(|_| !problems.iter().any(is_error));
                said = frontmatter.map(Said::new);
                refused_name = head.name.filter(|_| said.is_none());
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
            refused_name,
            problems: problems.into_iter().map(ProblemRecord::from).collect(),
            has_marker: false,
        }
    }
}

/// Returns true if csk left a marker in a folder; what cannot be looked at may have one.
fn has_marker(group: &Root, name: &str) -> bool {
    group.has_entry(&format!("{name}/{MARKER_FILE}")).unwrap_or(true)
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
