//! Every entry of one skill, in order and within limits.

use skill::RelPath;

use crate::sys::{Folder, Stat, Type, each_entry};
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

/// Returns every entry below `root`, sorted by path. No link is followed. Of a skill the repository is left out.
pub fn walk(root: &Root, limits: &WalkLimits) -> Result<Vec<Entry>, FsError> {
    let mut bytes: u64 = 0;
    let all = visit(root, limits, |at| {
        let stat = at.stat()?;
        let kind = match stat.kind {
            Type::Folder => Kind::Folder,
            Type::File => Kind::File { size: stat.size, executable: stat.executable },
            Type::Other(kind) => Kind::Other(kind),
            Type::Link => Kind::Link(at.read_link()?),
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

/// Returns every path below `root` and what it is, sorted, as far as the folders themselves tell: nothing
/// is looked at one by one.
pub(crate) fn list(root: &Root, limits: &WalkLimits) -> Result<Vec<(RelPath, Type)>, FsError> {
    visit(root, limits, |at| {
        // Some file systems do not say what an entry is.
        let kind = at.kind.map_or_else(|| at.stat().map(|stat| stat.kind), Ok)?;
        Ok((kind, kind))
    })
}

/// Returns the path of everything below `root` but folders, sorted. Nothing is looked at one by one, and no link is
/// followed.
pub fn list_files(root: &Root, limits: &WalkLimits) -> Result<Vec<RelPath>, FsError> {
    let all = list(root, limits)?.into_iter();
    Ok(all.filter(|(_, kind)| *kind != Type::Folder).map(|(path, _)| path).collect())
}

/// An entry that a walk came to.
pub(crate) struct At<'a> {
    root: &'a Root,
    folder: &'a Folder,
    name: &'a str,
    path: &'a RelPath,
    /// What it is, if its folder tells.
    kind: Option<Type>,
}

impl At<'_> {
    /// Returns true if its folder says that it is a folder.
    pub(crate) fn is_folder(&self) -> bool {
        self.kind == Some(Type::Folder)
    }

    /// Describes the entry; a link is described, not followed.
    pub(crate) fn stat(&self) -> Result<Stat, FsError> {
        self.folder.stat(self.name).map_err(|source| confined(self.root, self.path, source))
    }

    /// Returns where the link points.
    fn read_link(&self) -> Result<String, FsError> {
        let target = self.folder.read_link(self.name);
        let target = target.map_err(|source| confined(self.root, self.path, source))?;
        String::from_utf8(target).map_err(|error| FsError::BadName {
            folder: self.path.to_string(),
            name: String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}

/// Calls `look` for every entry below `root` and returns what it made of them, sorted by path. Folders, as
/// `look` says, are entered; no link is followed.
pub(crate) fn visit<T>(
    root: &Root,
    limits: &WalkLimits,
    look: impl FnMut(&At<'_>) -> Result<(Type, T), FsError>,
) -> Result<Vec<(RelPath, T)>, FsError> {
    let mut walk = Walk { root, limits, look, all: Vec::new() };
    walk.folder(&root.folder, None, 1)?;
    walk.all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(walk.all)
}

struct Walk<'a, T, F> {
    root: &'a Root,
    limits: &'a WalkLimits,
    look: F,
    all: Vec<(RelPath, T)>,
}

impl<T, F: FnMut(&At<'_>) -> Result<(Type, T), FsError>> Walk<'_, T, F> {
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
            return limit(shown(), "folders inside each other", self.limits.depth);
        }
        // Folders are entered after the listing is done, so that few are open at a time.
        let mut inner = Vec::new();
        let (root, limits, look, all) = (self.root, self.limits, &mut self.look, &mut self.all);
        let listed = each_entry(folder, |name, kind| {
            if at.is_none() && root.passes_over(name) {
                return Ok(());
            }
            if all.len() >= limits.entries {
                return limit(root.path().to_string(), "entries", limits.entries);
            }
            let (name, path) = child(name, at, root)?;
            let (kind, made) = look(&At { root, folder, name, path: &path, kind })?;
            if kind == Type::Folder {
                inner.push(path.clone());
            }
            all.push((path, made));
            Ok(())
        });
        listed.map_err(|error: FsError| error.named(&shown()))?;
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

/// Returns the name of an entry as text and its path below the root.
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
