//! Lists every entry of a skill, in order and within limits.

use skill::RelPath;

use crate::sys::{Folder, Stat, Type, each_entry};
use crate::{FsError, Root};

/// The limits of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkLimits {
    /// The maximum depth of nested folders.
    pub depth: usize,
    /// The maximum number of entries, including folders.
    pub entries: usize,
    /// The maximum number of bytes in all files.
    pub bytes: usize,
}

impl WalkLimits {
    /// The limits of one skill.
    pub const SKILL: Self = Self { depth: 32, entries: 200_000, bytes: 1 << 30 };
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path below the root.
    pub path: RelPath,
    /// The kind.
    pub kind: Kind,
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// The length in bytes.
        size: u64,
        /// Whether the owner may execute it.
        executable: bool,
    },
    /// A symbolic link, with its target as written.
    Link(String),
    /// A FIFO, socket or device.
    Other(&'static str),
}

/// Returns every entry below `root`, sorted by path. Follows no symlink, and skips the repository of a skill.
pub fn walk(root: &Root, limits: &WalkLimits) -> Result<Vec<Entry>, FsError> {
    let mut bytes: u64 = 0;
    let all = visit(root, limits, |entry| {
        let stat = entry.stat()?;
        let kind = match stat.kind {
            Type::Folder => Kind::Folder,
            Type::File => Kind::File { size: stat.size, executable: stat.executable },
            Type::Other(kind) => Kind::Other(kind),
            Type::Link => Kind::Link(entry.read_link()?),
        };
        if let Kind::File { size, .. } = kind {
            bytes = bytes.saturating_add(size);
        }
        if bytes > limits.bytes as u64 {
            let path = root.path().to_string();
            return Err(FsError::Limit { path, what: "bytes", limit: limits.bytes });
        }
        Ok((stat.kind, kind))
    })?;
    Ok(all.into_iter().map(|(path, kind)| Entry { path, kind }).collect())
}

/// Returns every path below `root` with its type, sorted. Types come from the folder listings where possible, so that
/// entries need not be examined one by one.
pub(crate) fn list(root: &Root, limits: &WalkLimits) -> Result<Vec<(RelPath, Type)>, FsError> {
    visit(root, limits, |entry| {
        // Some file systems do not report the type of an entry in listings.
        let kind = entry.kind.map_or_else(|| entry.stat().map(|stat| stat.kind), Ok)?;
        Ok((kind, kind))
    })
}

/// Returns the path of every entry below `root` except folders, sorted. Entries are not examined one by one, and no
/// symlink is followed.
pub fn list_files(root: &Root, limits: &WalkLimits) -> Result<Vec<RelPath>, FsError> {
    let all = list(root, limits)?.into_iter();
    Ok(all.filter(|(_, kind)| *kind != Type::Folder).map(|(path, _)| path).collect())
}

/// An entry during a walk.
pub(crate) struct VisitedEntry<'a> {
    root: &'a Root,
    folder: &'a Folder,
    name: &'a str,
    path: &'a RelPath,
    /// The type, if the listing reports it.
    kind: Option<Type>,
}

impl VisitedEntry<'_> {
    /// Returns true if the listing reports it as a folder.
    pub(crate) fn is_folder(&self) -> bool {
        self.kind == Some(Type::Folder)
    }

    /// Returns the properties of the entry, without following a symlink.
    pub(crate) fn stat(&self) -> Result<Stat, FsError> {
        self.folder.stat(self.name).map_err(|source| confined(self.root, self.path, source))
    }

    /// Returns the target of the symlink.
    fn read_link(&self) -> Result<String, FsError> {
        let target = self.folder.read_link(self.name);
        let target = target.map_err(|source| confined(self.root, self.path, source))?;
        String::from_utf8(target).map_err(|error| FsError::BadName {
            folder: self.path.to_string(),
            name: String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}

/// Calls `inspect` for every entry below `root` and returns its results, sorted by path. Enters each entry that
/// `inspect` reports as a folder; follows no symlink.
pub(crate) fn visit<T>(
    root: &Root,
    limits: &WalkLimits,
    inspect: impl FnMut(&VisitedEntry<'_>) -> Result<(Type, T), FsError>,
) -> Result<Vec<(RelPath, T)>, FsError> {
    let mut walk = Walk { root, limits, inspect, all: Vec::new() };
    walk.folder(&root.folder, None, 1)?;
    walk.all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(walk.all)
}

struct Walk<'a, T, F> {
    root: &'a Root,
    limits: &'a WalkLimits,
    inspect: F,
    all: Vec<(RelPath, T)>,
}

impl<T, F: FnMut(&VisitedEntry<'_>) -> Result<(Type, T), FsError>> Walk<'_, T, F> {
    fn folder(
        &mut self,
        folder: &Folder,
        at: Option<&RelPath>,
        depth: usize,
    ) -> Result<(), FsError> {
        let shown = || match at {
            None => self.root.path().to_string(),
            Some(at) => self.root.path().join(at.as_str()).to_string(),
        };
        let limit = |path: String, what, limit| Err(FsError::Limit { path, what, limit });
        if depth > self.limits.depth {
            return limit(shown(), "nested folder levels", self.limits.depth);
        }
        // Folders are entered after the listing, so that few are open at a time.
        let mut inner = Vec::new();
        let (root, limits, inspect, all) =
            (self.root, self.limits, &mut self.inspect, &mut self.all);
        let listed = each_entry(folder, |name, kind| {
            if at.is_none() && root.skips(name) {
                return Ok(());
            }
            if all.len() >= limits.entries {
                return limit(root.path().to_string(), "entries", limits.entries);
            }
            let (name, path) = child(name, at, root)?;
            let (kind, result) = inspect(&VisitedEntry { root, folder, name, path: &path, kind })?;
            if kind == Type::Folder {
                inner.push(path.clone());
            }
            all.push((path, result));
            Ok(())
        });
        listed.map_err(|error: FsError| error.or_at(&shown()))?;
        for path in inner {
            let name = path.parts().next_back().unwrap_or_default();
            let below = folder.folder(name).map_err(|source| confined(self.root, &path, source))?;
            self.folder(&below, Some(&path), depth + 1)?;
        }
        Ok(())
    }
}

fn confined(root: &Root, path: &RelPath, source: std::io::Error) -> FsError {
    FsError::confined(root.path().join(path.as_str()).as_str(), source)
}

/// Returns the name of an entry as UTF-8 and its path below the root.
fn child<'a>(
    name: &'a [u8],
    at: Option<&RelPath>,
    root: &Root,
) -> Result<(&'a str, RelPath), FsError> {
    let bad = || FsError::BadName {
        folder: at.map_or_else(
            || root.path().to_string(),
            |at| root.path().join(at.as_str()).to_string(),
        ),
        name: String::from_utf8_lossy(name).into_owned(),
    };
    let name = std::str::from_utf8(name).map_err(|_| bad())?;
    let path = match at {
        Some(at) => at.join(name),
        None => RelPath::new(name),
    };
    Ok((name, path.map_err(|_| bad())?))
}
