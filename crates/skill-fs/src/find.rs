//! Every skill below a folder, visited on all cores, within limits.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use skill::RESOURCE_FOLDERS;

use crate::sys::Type;
use crate::{AbsPath, FsError, Root, SkillFile};

/// Folders that hold other people's code and never a skill of this tree (D4).
const NEVER: [&str; 2] = [".git", "node_modules"];

/// What bounds a search (D5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindLimits {
    /// How many folders deep.
    pub depth: usize,
    /// How many folders in all.
    pub folders: usize,
}

impl FindLimits {
    /// What a search by hand may visit.
    pub const SEARCH: Self = Self { depth: 16, folders: 500_000 };
}

/// A folder with a SKILL.md, open.
#[derive(Debug)]
pub struct SkillFolder {
    /// The folder.
    pub root: Root,
    /// Which file it is.
    pub file: SkillFile,
}

/// What a search found, in the order of paths.
#[derive(Debug)]
pub struct Found<T> {
    /// What `visit` returned for each skill.
    pub skills: Vec<T>,
    /// Folders that could not be looked at, or stopped at a limit. Nothing is passed over in silence.
    pub problems: Vec<FsError>,
}

/// Calls `visit` for every folder with a SKILL.md at or below `path`.
///
/// Links are not followed. The material folders of a skill are not searched: a SKILL.md in there is a
/// template.
pub fn find_skills<T: Send>(
    path: &AbsPath,
    limits: &FindLimits,
    visit: impl Fn(SkillFolder) -> T + Sync,
) -> Result<Found<T>, FsError> {
    let search = Search { path, limits, folders: AtomicUsize::new(0), visit };
    let root = Root::open(path)?;
    let mut found = Found { skills: Vec::new(), problems: Vec::new() };
    for item in search.folder(root, 1) {
        match item {
            Ok(skill) => found.skills.push(skill),
            Err(problem) => found.problems.push(problem),
        }
    }
    Ok(found)
}

struct Search<'a, V> {
    path: &'a AbsPath,
    limits: &'a FindLimits,
    folders: AtomicUsize,
    visit: V,
}

impl<T: Send, V: Fn(SkillFolder) -> T + Sync> Search<'_, V> {
    fn folder(&self, root: Root, depth: usize) -> Vec<Result<T, FsError>> {
        let shown = || root.path().to_string();
        match self.folders.fetch_add(1, Ordering::Relaxed).cmp(&self.limits.folders) {
            Less => {}
            // Said once, for the whole search.
            Equal => {
                let path = self.path.to_string();
                return vec![Err(FsError::Limit {
                    path,
                    what: "folders",
                    limit: self.limits.folders,
                })];
            }
            Greater => return Vec::new(),
        }
        if depth > self.limits.depth {
            return vec![Err(FsError::Limit {
                path: shown(),
                what: "folders inside each other",
                limit: self.limits.depth,
            })];
        }
        let names = match root.folder.list() {
            Ok(names) => names,
            Err(source) => return vec![Err(FsError::io(shown(), source))],
        };
        let mut names: Vec<(String, Option<Type>)> = names
            .into_iter()
            .filter_map(|(name, kind)| Some((String::from_utf8(name).ok()?, kind)))
            .collect();
        let file = SkillFile::pick(names.iter().map(|(name, _)| name.as_str()));
        let is_skill = file != SkillFile::Missing;
        names.retain(|(name, kind)| {
            let material = is_skill && RESOURCE_FOLDERS.contains(&name.as_str());
            matches!(kind, Some(Type::Folder) | None)
                && !NEVER.contains(&name.as_str())
                && !material
        });
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let below = |name: &String, kind: Option<Type>| self.below(&root, name, kind, depth);
        // Below a handful of folders the work is not worth handing out.
        let inner: Vec<Result<T, FsError>> = if names.len() < 4 {
            names.iter().flat_map(|(name, kind)| below(name, *kind)).collect()
        } else {
            names.par_iter().flat_map_iter(|(name, kind)| below(name, *kind)).collect()
        };
        if !is_skill {
            return inner;
        }
        let own = (self.visit)(SkillFolder { root, file });
        std::iter::once(Ok(own)).chain(inner).collect()
    }

    fn below(
        &self,
        root: &Root,
        name: &str,
        kind: Option<Type>,
        depth: usize,
    ) -> Vec<Result<T, FsError>> {
        // Some file systems do not say what an entry is.
        let kind = match kind.map_or_else(|| root.folder.stat(name).map(|stat| stat.kind), Ok) {
            Ok(kind) => kind,
            Err(source) => return vec![Err(FsError::io(root.path().join(name).as_str(), source))],
        };
        if kind != Type::Folder {
            return Vec::new();
        }
        match root.child(name) {
            Ok(child) => self.folder(child, depth + 1),
            Err(error) => vec![Err(error)],
        }
    }
}
