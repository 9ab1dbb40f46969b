//! Every entry of one skill, in order and within limits.

use skill::RelPath;

use crate::sys::{Folder, Type, each_entry};
use crate::{FsError, Root};

/// What bounds a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkLimits {
    /// How many folders deep.
    pub depth: usize,
    /// How many entries, folders included.
    pub entries: usize,
    /// How many bytes in all files.
    pub bytes: usize,
}

impl WalkLimits {
    /// What one skill may have.
    pub const SKILL: Self = Self { depth: 32, entries: 200_000, bytes: 1 << 30 };
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub path: RelPath,
    /// What it is.
    pub kind: Kind,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Its length in bytes.
        size: u64,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A symbolic link and where it points, as written.
    Link(String),
    /// A FIFO, socket or device.
    Other(&'static str),
}

/// Returns every entry below `root`, sorted by path. No link is followed.
pub fn walk(root: &Root, limits: &WalkLimits) -> Result<Vec<Entry>, FsError> {
    let mut walk = Walk { root, limits, entries: Vec::new(), bytes: 0 };
    walk.folder(&root.folder, None, 1)?;
    walk.entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(walk.entries)
}

struct Walk<'a> {
    root: &'a Root,
    limits: &'a WalkLimits,
    entries: Vec<Entry>,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(
        &mut self,
        folder: &Folder,
        at: Option<&RelPath>,
        depth: usize,
    ) -> Result<(), FsError> {
        let shown = self.shown(at);
        if depth > self.limits.depth {
            return Err(FsError::Limit {
                path: shown,
                what: "folders inside each other",
                limit: self.limits.depth,
            });
        }
        // Folders are entered after the listing is done, so that few are open at a time.
        let mut inner = Vec::new();
        let listed = each_entry(folder, |name, _| {
            if self.entries.len() >= self.limits.entries {
                let path = self.shown(None);
                return Err(FsError::Limit { path, what: "entries", limit: self.limits.entries });
            }
            let (name, path) = child(name, at, &shown)?;
            let kind = self.kind(folder, name, &path)?;
            if let Kind::File { size, .. } = kind {
                self.bytes = self.bytes.saturating_add(size);
            }
            if self.bytes > self.limits.bytes as u64 {
                let path = self.shown(None);
                return Err(FsError::Limit { path, what: "bytes", limit: self.limits.bytes });
            }
            if kind == Kind::Folder {
                inner.push(path.clone());
            }
            self.entries.push(Entry { path, kind });
            Ok(())
        });
        listed.map_err(|error: FsError| error.named(&shown))?;
        for path in inner {
            let name = path.parts().next_back().unwrap_or_default();
            let below = folder.folder(name).map_err(|source| self.io(&path, source))?;
            self.folder(&below, Some(&path), depth + 1)?;
        }
        Ok(())
    }

    fn kind(&self, folder: &Folder, name: &str, path: &RelPath) -> Result<Kind, FsError> {
        let stat = folder.stat(name).map_err(|source| self.io(path, source))?;
        Ok(match stat.kind {
            Type::Folder => Kind::Folder,
            Type::File => Kind::File { size: stat.size, executable: stat.executable },
            Type::Other(kind) => Kind::Other(kind),
            Type::Link => {
                let target = folder.read_link(name).map_err(|source| self.io(path, source))?;
                let bad = |bytes: Vec<u8>| FsError::BadName {
                    folder: path.to_string(),
                    name: String::from_utf8_lossy(&bytes).into_owned(),
                };
                Kind::Link(String::from_utf8(target).map_err(|error| bad(error.into_bytes()))?)
            }
        })
    }

    fn io(&self, path: &RelPath, source: std::io::Error) -> FsError {
        FsError::confined(self.root.path().join(path.as_str()).as_str(), source)
    }
}

/// Returns every path below `root` and what it is, sorted, as far as the folders themselves tell: nothing
/// is looked at one by one.
pub(crate) fn list(root: &Root, limits: &WalkLimits) -> Result<Vec<(RelPath, Type)>, FsError> {
    let walk = Walk { root, limits, entries: Vec::new(), bytes: 0 };
    let mut entries = Vec::new();
    walk.list(&root.folder, None, 1, &mut entries)?;
    entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

impl Walk<'_> {
    fn list(
        &self,
        folder: &Folder,
        at: Option<&RelPath>,
        depth: usize,
        all: &mut Vec<(RelPath, Type)>,
    ) -> Result<(), FsError> {
        let shown = self.shown(at);
        if depth > self.limits.depth {
            return Err(FsError::Limit {
                path: shown,
                what: "folders inside each other",
                limit: self.limits.depth,
            });
        }
        let first = all.len();
        let listed = each_entry(folder, |name, kind| {
            if all.len() >= self.limits.entries {
                return Err(FsError::Limit {
                    path: self.shown(None),
                    what: "entries",
                    limit: self.limits.entries,
                });
            }
            let (name, path) = child(name, at, &shown)?;
            // Some file systems do not say what an entry is.
            let kind = match kind {
                Some(kind) => kind,
                None => folder.stat(name).map_err(|source| self.io(&path, source))?.kind,
            };
            all.push((path, kind));
            Ok(())
        });
        listed.map_err(|error: FsError| error.named(&shown))?;
        let inner: Vec<RelPath> = all[first..]
            .iter()
            .filter(|(_, kind)| *kind == Type::Folder)
            .map(|(path, _)| path.clone())
            .collect();
        for path in inner {
            let name = path.parts().next_back().unwrap_or_default();
            let below = folder.folder(name).map_err(|source| self.io(&path, source))?;
            self.list(&below, Some(&path), depth + 1, all)?;
        }
        Ok(())
    }

    fn shown(&self, at: Option<&RelPath>) -> String {
        at.map_or_else(
            || self.root.path().to_string(),
            |at| self.root.path().join(at.as_str()).to_string(),
        )
    }
}

/// Returns the name of an entry as text and its path below the root.
fn child<'a>(
    name: &'a [u8],
    at: Option<&RelPath>,
    shown: &str,
) -> Result<(&'a str, RelPath), FsError> {
    let bad = || FsError::BadName {
        folder: shown.to_owned(),
        name: String::from_utf8_lossy(name).into_owned(),
    };
    let name = std::str::from_utf8(name).map_err(|_| bad())?;
    let path = match at {
        Some(at) => at.join(name),
        None => RelPath::new(name),
    };
    Ok((name, path.map_err(|_| bad())?))
}
