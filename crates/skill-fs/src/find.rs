//! Finds every skill below a folder, on all cores and within limits.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;
use skill::{RESOURCE_FOLDERS, SKILL_FILE};

use crate::sys::{Type, each_entry};
use crate::{FsError, Root, SkillFile};

/// Folders that contain third-party code and never a skill of this tree (D4).
const SKIPPED_FOLDERS: [&str; 2] = [".git", "node_modules"];

/// With fewer folders than this, using other cores costs more than it saves.
const MIN_PARALLEL: usize = 4;

/// The limits of a search (D5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindLimits {
    /// The maximum depth of nested folders.
    pub depth: usize,
    /// The maximum number of folders.
    pub folders: usize,
    /// The maximum number of entries, including files.
    pub entries: usize,
}

impl FindLimits {
    /// The limits of a search started by a user.
    pub const SEARCH: Self = Self { depth: 64, folders: 500_000, entries: 5_000_000 };
}

/// An open folder with a SKILL.md.
#[derive(Debug)]
pub struct SkillFolder {
    /// The folder.
    pub root: Root,
    /// The SKILL.md, under the name it has.
    pub file: SkillFile,
}

/// The results of a search, ordered by path.
#[derive(Debug)]
pub struct Found<T> {
    /// What `visit` returned for each skill.
    pub skills: Vec<T>,
    /// Folders that could not be read, or where the search stopped at a limit. Every failure is reported here.
    pub problems: Vec<FsError>,
}

/// Calls `visit` for every folder with a SKILL.md at or below `root`.
///
/// A symlink to a folder with a SKILL.md counts as that skill, unless the folder itself is found as well;
/// no other symlink is followed. The resource folders of a skill are not searched: a SKILL.md in there is
/// a template.
pub fn find_skills<T: Send>(
    root: Root,
    limits: &FindLimits,
    visit: impl Fn(SkillFolder) -> T + Sync,
) -> Found<T> {
    let path = root.path().to_string();
    let (folders, entries) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let depth_reported = AtomicBool::new(false);
    let search = Search { path, limits, folders, entries, depth_reported, visit };
    let items = search.folder(root, 1);
    let real: HashSet<_> = items.iter().filter_map(Item::real).collect();
    let mut linked = HashSet::new();
    let mut found = Found { skills: Vec::new(), problems: Vec::new() };
    for item in items {
        match item {
            Item::Skill(skill, _) => found.skills.push(skill),
            // Reached through a symlink: counted once, and only if the folder itself was not found.
            Item::Linked(_, Some(identity))
                if real.contains(&identity) || !linked.insert(identity) => {}
            Item::Linked(skill, _) => found.skills.push(skill),
            Item::Problem(problem) => found.problems.push(problem),
        }
    }
    found
}

/// Device and inode, which identify a folder.
type Identity = (u64, u64);

enum Item<T> {
    Skill(T, Option<Identity>),
    Linked(T, Option<Identity>),
    Problem(FsError),
}

impl<T> Item<T> {
    fn real(&self) -> Option<Identity> {
        match self {
            Self::Skill(_, identity) => *identity,
            Self::Linked(..) | Self::Problem(_) => None,
        }
    }
}

/// Ends the search in a folder; `None` if the reason was already reported.
struct Stop(Option<FsError>);

impl From<std::io::Error> for Stop {
    fn from(source: std::io::Error) -> Self {
        Self(Some(source.into()))
    }
}

struct Search<'a, V> {
    path: String,
    limits: &'a FindLimits,
    folders: AtomicUsize,
    entries: AtomicUsize,
    depth_reported: AtomicBool,
    visit: V,
}

/// The entries of a folder that matter to the search.
struct Listing {
    file: SkillFile,
    /// Folders, symlinks, and entries whose type the file system does not report; sorted.
    inner: Vec<(String, Option<Type>)>,
}

impl<T: Send, V: Fn(SkillFolder) -> T + Sync> Search<'_, V> {
    fn folder(&self, root: Root, depth: usize) -> Vec<Item<T>> {
        if let Err(problem) = self.enter(&root, depth) {
            return problem.map(Item::Problem).into_iter().collect();
        }
        let listing = match self.list(&root) {
            Ok(listing) => listing,
            Err(problem) => return problem.map(Item::Problem).into_iter().collect(),
        };
        let is_skill = listing.file != SkillFile::Missing;
        let is_skipped = |name: &str| {
            SKIPPED_FOLDERS.contains(&name) || (is_skill && RESOURCE_FOLDERS.contains(&name))
        };
        let names: Vec<_> =
            listing.inner.into_iter().filter(|(name, _)| !is_skipped(name)).collect();
        let below = |(name, kind): &(String, Option<Type>)| self.below(&root, name, *kind, depth);
        let inner: Vec<Item<T>> = match names.len() {
            0..MIN_PARALLEL => names.iter().flat_map(below).collect(),
            _ => names.par_iter().flat_map_iter(below).collect(),
        };
        if !is_skill {
            return inner;
        }
        let identity = root.folder.identity().unwrap_or(None);
        let own = Item::Skill(
            (self.visit)(SkillFolder { root: root.as_skill(), file: listing.file }),
            identity,
        );
        std::iter::once(own).chain(inner).collect()
    }

    /// Counts a folder. Returns `Err(None)` if a limit was exceeded that was already reported.
    fn enter(&self, root: &Root, depth: usize) -> Result<(), Option<FsError>> {
        if depth > self.limits.depth {
            let (path, limit) = (root.path().to_string(), self.limits.depth);
            let reported = self.depth_reported.swap(true, Ordering::Relaxed);
            return Err((!reported).then_some(FsError::Limit {
                path,
                what: "nested folder levels",
                limit,
            }));
        }
        self.count(&self.folders, self.limits.folders, "folders").map_err(|Stop(error)| error)
    }

    fn count(&self, counter: &AtomicUsize, limit: usize, what: &'static str) -> Result<(), Stop> {
        let before = counter.fetch_add(1, Ordering::Relaxed);
        if before < limit {
            return Ok(());
        }
        Err(Stop((before == limit).then(|| FsError::Limit {
            path: self.path.clone(),
            what,
            limit,
        })))
    }

    fn list(&self, root: &Root) -> Result<Listing, Option<FsError>> {
        let (mut files, mut inner) = (Vec::new(), Vec::new());
        let listed = each_entry(&root.folder, |name, kind| {
            self.count(&self.entries, self.limits.entries, "entries")?;
            let is_folder = matches!(kind, Some(Type::Folder | Type::Link) | None);
            match std::str::from_utf8(name) {
                Ok(name) if name.eq_ignore_ascii_case(SKILL_FILE) => files.push(name.to_owned()),
                Ok(name) if is_folder => inner.push((name.to_owned(), kind)),
                Err(_) if is_folder => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    return Err(Stop(Some(FsError::BadName {
                        folder: root.path().to_string(),
                        name,
                    })));
                }
                Ok(_) | Err(_) => {}
            }
            Ok(())
        });
        listed.map_err(|Stop(error)| error.map(|error| error.or_at(root.path().as_str())))?;
        inner.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Listing { file: SkillFile::pick(files.iter().map(String::as_str)), inner })
    }

    fn below(&self, root: &Root, name: &str, kind: Option<Type>, depth: usize) -> Vec<Item<T>> {
        let kind = match kind.map_or_else(|| root.folder.stat(name).map(|stat| stat.kind), Ok) {
            Ok(kind) => kind,
            Err(source) => {
                return vec![Item::Problem(FsError::io(root.path().join(name).as_str(), source))];
            }
        };
        match kind {
            Type::Folder => match root.child(name) {
                Ok(child) => self.folder(child, depth + 1),
                Err(error) => vec![Item::Problem(error)],
            },
            Type::Link => self.linked(root, name).into_iter().collect(),
            Type::File | Type::Other(_) => Vec::new(),
        }
    }

    /// Visits the skill that a symlink points to; `None` if it is not a folder with a SKILL.md.
    fn linked(&self, root: &Root, name: &str) -> Option<Item<T>> {
        let root = Root::open(&root.path().join(name)).ok()?;
        let file = root.skill_file().ok().filter(|file| *file != SkillFile::Missing)?;
        let identity = root.folder.identity().unwrap_or(None);
        Some(Item::Linked((self.visit)(SkillFolder { root: root.as_skill(), file }), identity))
    }
}
