//! The files of one commit of a skill.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use skill::{
    BundleHasher, ContentHasher, Digest, EntryKind, FileNameError, FileNames, RelPath, TreeEntry,
};

use crate::SourceError;
use crate::git::object::LargeFile;

/// A commit's files, sorted by path, with checked symlinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The id of the commit's tree; the same id means the same files.
    pub tree: String,
    files: Vec<File>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path of the file.
    pub path: RelPath,
    /// Plain, executable or symlink.
    pub kind: FileKind,
    /// The content; for a symlink, its target.
    pub content: Content,
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A plain file.
    Plain,
    /// A file that may be executed.
    Executable,
    /// A symbolic link.
    Link,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// All bytes, in memory.
    Memory(Arc<[u8]>),
    /// Too large for memory: read in chunks each time it is needed.
    Large(LargeFile),
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Large(large) => large.size,
        }
    }

    /// Passes all bytes to `take`.
    pub(crate) fn feed(
        &self,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), SourceError> {
        match self {
            Self::Memory(bytes) => {
                take(bytes).map_err(|error| SourceError::Copy(error.to_string()))
            }
            Self::Large(large) => large.stream(take),
        }
    }
}

impl Snapshot {
    /// Sorts the files and checks that every symlink resolves to one of them.
    pub fn new(tree: String, mut files: Vec<File>) -> Result<Self, SourceError> {
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        if let Some(link) = stray_link(&files) {
            let target = link.text().unwrap_or_default();
            return Err(SourceError::Link { link: link.path.to_string(), target });
        }
        Ok(Self { tree, files })
    }

    /// Returns the files, sorted by path.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Returns the file at `path`.
    pub fn file(&self, path: &str) -> Option<&File> {
        find(&self.files, path)
    }

    /// Resolves a symlink to its file. Returns other files unchanged, and `None` for a symlink to a folder.
    pub fn followed<'a>(&'a self, file: &'a File) -> Option<&'a File> {
        match file.kind {
            FileKind::Plain | FileKind::Executable => Some(file),
            FileKind::Link => find(&self.files, &Links::new(&self.files).follow(&file.path)?),
        }
    }

    /// Returns the type of the entry at `path`.
    pub fn entry(&self, path: &str) -> Option<TreeEntry> {
        match self.file(path).map(|file| file.kind) {
            Some(FileKind::Plain | FileKind::Executable) => Some(TreeEntry::File),
            Some(FileKind::Link) => Some(TreeEntry::Link),
            None => is_there(&self.files, path).then_some(TreeEntry::Folder),
        }
    }

    /// Returns the bundle digest, to which trust decisions are bound.
    pub fn bundle_digest(&self) -> Result<Digest, SourceError> {
        bundle_digest(&self.files)
    }
}

/// Returns the digest of `files`, including modes and symlinks.
pub fn bundle_digest(files: &[File]) -> Result<Digest, SourceError> {
    let mut hasher = BundleHasher::default();
    for file in files {
        let kind = match file.kind {
            FileKind::Plain => EntryKind::File,
            FileKind::Executable => EntryKind::Executable,
            FileKind::Link => {
                hasher.entry(&file.path, &EntryKind::Link(file.text().unwrap_or_default()), 0);
                continue;
            }
        };
        hasher.entry(&file.path, &kind, file.content.len());
        file.content.feed(|bytes| {
            hasher.bytes(bytes);
            Ok(())
        })?;
    }
    Ok(hasher.finish())
}

impl File {
    /// Returns the content as text if it is in memory and valid UTF-8.
    pub fn text(&self) -> Option<String> {
        match &self.content {
            Content::Memory(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
            Content::Large(_) => None,
        }
    }
}

/// Returns the content digest of an installed context; a symlink counts as its target.
pub fn content_digest(files: &[File]) -> Result<Digest, SourceError> {
    let mut hasher = ContentHasher::default();
    let links = Links::new(files);
    for file in files {
        let holder = match file.kind {
            FileKind::Link => links.follow(&file.path).and_then(|path| find(files, &path)),
            FileKind::Plain | FileKind::Executable => Some(file),
        };
        // A symlink to a folder has no content.
        let Some(holder) = holder else { continue };
        hasher.file(&file.path);
        holder.content.feed(|bytes| {
            hasher.bytes(bytes);
            Ok(())
        })?;
    }
    Ok(hasher.finish())
}

/// More links than this in a row are treated as a cycle.
const MAX_LINKS: usize = 40;

/// Returns the first symlink in `files`, which are sorted, whose target is not among them.
pub(crate) fn stray_link(files: &[File]) -> Option<&File> {
    stray_links(files).next()
}

/// Returns every symlink in `files`, which are sorted, whose target is not among them.
pub(crate) fn stray_links(files: &[File]) -> impl Iterator<Item = &File> {
    let links = Links::new(files);
    let leads_astray =
        move |link: &&File| links.follow(&link.path).is_none_or(|path| !is_there(files, &path));
    files.iter().filter(|file| file.kind == FileKind::Link).filter(leads_astray)
}

/// Rejects names that are not allowed in a package either: an installed skill must be readable on every platform, and
/// by git.
pub(crate) fn check_names(files: &[File]) -> Result<(), FileNameError> {
    let mut names = FileNames::default();
    for file in files {
        names.file(&file.path)?;
    }
    names.finish()
}

/// Returns the files below a folder; `files` must be sorted.
pub(crate) fn files_below<'a>(files: &'a [File], folder: &str) -> &'a [File] {
    let folder = format!("{folder}/");
    let first = files.partition_point(|file| file.path.as_str() < folder.as_str());
    let count =
        files[first..].partition_point(|file| file.path.as_str().starts_with(folder.as_str()));
    &files[first..first + count]
}

fn find<'a>(files: &'a [File], path: &str) -> Option<&'a File> {
    files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|at| &files[at])
}

/// Returns true if there is a file at `path` or below it.
pub(crate) fn is_there(files: &[File], path: &str) -> bool {
    find(files, path).is_some() || !files_below(files, path).is_empty()
}

/// The symlinks among some files.
pub(crate) struct Links<'a>(BTreeMap<&'a str, String>);

/// How a path resolves through symlinks.
pub(crate) struct Trail {
    /// The symlinks it passes through, in order.
    pub(crate) links: Vec<String>,
    /// The resolved path.
    pub(crate) end: String,
}

impl<'a> Links<'a> {
    pub(crate) fn new(files: &'a [File]) -> Self {
        let links = files.iter().filter(|file| file.kind == FileKind::Link);
        Self(links.map(|file| (file.path.as_str(), file.text().unwrap_or_default())).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn follow(&self, link: &RelPath) -> Option<String> {
        self.trail(link.as_str()).map(|trail| trail.end)
    }

    /// Resolves a path as the kernel would, through every symlink on the way. Returns `None` if it points outside the
    /// skill, loops, or cannot be a path.
    pub(crate) fn trail(&self, path: &str) -> Option<Trail> {
        let mut rest: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut at: Vec<String> = Vec::new();
        let mut links = Vec::new();
        while let Some(part) = rest.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    at.pop()?;
                    continue;
                }
                _ => at.push(part),
            }
            let here = at.join("/");
            let Some(target) = self.0.get(here.as_str()) else { continue };
            links.push(here);
            if links.len() > MAX_LINKS
                || target.is_empty()
                || target.starts_with('/')
                || target.contains('\\')
            {
                return None;
            }
            at.pop();
            rest.extend(target.split('/').rev().map(str::to_owned));
        }
        if at.is_empty() { None } else { Some(Trail { links, end: at.join("/") }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, &str)]) -> Vec<File> {
        let file = |(path, text): &(&str, &str)| {
            let link = text.strip_prefix("-> ");
            File {
                path: RelPath::new(*path).unwrap(),
                kind: if link.is_some() { FileKind::Link } else { FileKind::Plain },
                content: Content::Memory(link.unwrap_or(text).as_bytes().into()),
            }
        };
        entries.iter().map(file).collect()
    }

    #[test]
    fn links_are_followed_through_links() {
        for (entries, good) in [
            (&[("a/f", ""), ("l", "-> a/f")][..], true),
            (&[("a/f", ""), ("l", "-> a")], true),
            (&[("a/f", ""), ("b/l", "-> ../a/f")], true),
            (&[("a/f", ""), ("m", "-> a"), ("l", "-> m/f")], true),
            (&[("a/f", ""), ("l", "-> nothing")], false),
            (&[("a/f", ""), ("l", "-> /etc/passwd")], false),
            (&[("a/f", ""), ("l", "-> ../f")], false),
            (&[("a/f", ""), ("l", "-> a/../../x/a/f")], false),
            (&[("l", "-> m"), ("m", "-> l")], false),
            (&[("l", "-> l")], false),
            (&[("l", "-> .")], false),
            // `up` resolves to the root, so `..` after it escapes, even if a decoy exists.
            (
                &[
                    ("d/e/up", "-> ../.."),
                    ("d/e/esc", "-> up/../etc/passwd"),
                    ("d/etc/passwd", "decoy"),
                ],
                false,
            ),
        ] {
            assert_eq!(Snapshot::new("t".into(), files(entries)).is_ok(), good, "{entries:?}");
        }
    }
}
