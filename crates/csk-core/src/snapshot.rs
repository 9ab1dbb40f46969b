//! The files of one commit of a skill.

use skill::{BundleHasher, ContentHasher, Digest, EntryKind, RelPath};

use skill_fs::AbsPath;

use crate::repository::{SourceError, stream};

/// A commit's files, sorted by path, links checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The id of the commit's tree: the same id means the same files.
    pub tree: String,
    files: Vec<File>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: RelPath,
    /// What it is.
    pub kind: FileKind,
    /// What it holds; for a link, where it points.
    pub content: Content,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A plain file.
    Plain,
    /// A file that may be executed.
    Executable,
    /// A symbolic link.
    Link,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The bytes.
    Memory(Vec<u8>),
    /// Too large to hold: it is streamed from the repository when it is needed.
    Large {
        /// Its object id.
        id: String,
        /// Its length.
        size: u64,
    },
}

impl Content {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Large { size, .. } => *size,
        }
    }

    /// Hands all bytes to `take`.
    pub(crate) fn feed(
        &self,
        repository: &AbsPath,
        mut take: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), SourceError> {
        match self {
            Self::Memory(bytes) => take(bytes).map_err(|error| SourceError::Broken {
                path: repository.to_string(),
                reason: error.to_string(),
            }),
            Self::Large { id, .. } => stream(repository, id, take),
        }
    }
}

impl Snapshot {
    /// Sorts the files and checks that every link stays inside and leads to one of them.
    pub fn new(tree: String, mut files: Vec<File>) -> Result<Self, SourceError> {
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        let snapshot = Self { tree, files };
        for link in snapshot.files.iter().filter(|file| file.kind == FileKind::Link) {
            let target = link.text().unwrap_or_default();
            if snapshot.link_target(&link.path, &target).is_none() {
                return Err(SourceError::Link { link: link.path.to_string(), target });
            }
        }
        Ok(snapshot)
    }

    /// Returns the files, sorted by path.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Finds a file.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()
            .map(|at| &self.files[at])
    }

    /// Returns where a link leads: a path inside the skill at which there is something.
    pub(crate) fn link_target(&self, link: &RelPath, target: &str) -> Option<String> {
        let path = link_path(link, target)?;
        let folder = format!("{path}/");
        let is_there = self
            .files
            .iter()
            .any(|file| file.path.as_str() == path || file.path.as_str().starts_with(&folder));
        (is_there && !path.is_empty()).then_some(path)
    }

    /// Returns the bundle digest: what trust binds to.
    pub fn bundle_digest(&self, repository: &AbsPath) -> Result<Digest, SourceError> {
        let mut hasher = BundleHasher::default();
        for file in &self.files {
            let kind = match file.kind {
                FileKind::Plain => EntryKind::File,
                FileKind::Executable => EntryKind::Executable,
                FileKind::Link => {
                    hasher.entry(&file.path, &EntryKind::Link(file.text().unwrap_or_default()), 0);
                    continue;
                }
            };
            hasher.entry(&file.path, &kind, file.content.len());
            file.content.feed(repository, |bytes| {
                hasher.bytes(bytes);
                Ok(())
            })?;
        }
        Ok(hasher.finish())
    }
}

impl File {
    /// Returns the content as text, if it is held and is text.
    pub fn text(&self) -> Option<String> {
        match &self.content {
            Content::Memory(bytes) => String::from_utf8(bytes.clone()).ok(),
            Content::Large { .. } => None,
        }
    }
}

/// Returns the content digest of `files`, which are an installed context: a link counts as its file.
pub fn content_digest(files: &[File], repository: &AbsPath) -> Result<Digest, SourceError> {
    let mut hasher = ContentHasher::default();
    let find = |path: &str| files.iter().find(|file| file.path.as_str() == path);
    for file in files {
        let mut holder = Some(file);
        // A link to a link is followed as often as there are files; then it is a circle.
        for _ in 0..files.len() {
            holder = match holder {
                Some(link) if link.kind == FileKind::Link => {
                    let target = link.text().unwrap_or_default();
                    link_path(&link.path, &target).and_then(|path| find(&path))
                }
                other => other,
            };
        }
        let Some(holder) = holder.filter(|holder| holder.kind != FileKind::Link) else { continue };
        hasher.file(&file.path);
        holder.content.feed(repository, |bytes| {
            hasher.bytes(bytes);
            Ok(())
        })?;
    }
    Ok(hasher.finish())
}

/// Follows a link by its text alone; `None` if it leads out.
fn link_path(link: &RelPath, target: &str) -> Option<String> {
    if target.starts_with('/') || target.contains('\\') {
        return None;
    }
    let mut parts: Vec<&str> = link.parts().collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
