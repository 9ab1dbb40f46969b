//! The two digests of a folder, computed while streaming: memory use does not grow with the files, and each file is
//! read once.

use std::fs::File;
use std::io::Read;

use skill::{BundleHasher, ContentHasher, Digest, EntryKind, MARKER_FILE, RelPath};

use crate::sys::{self, Type};
use crate::walk::list;
use crate::{Entry, FsError, Kind, Root, WalkLimits};

const CHUNK: usize = 64 << 10;

/// The digests of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digests {
    /// `content_sha256`: paths and bytes of every file. A symlink to a file in the folder counts as that file.
    pub content: Digest,
    /// The digest that trust is bound to: path, mode, kind, link target and bytes of every file and symlink.
    pub bundle: Digest,
}

/// Returns `content_sha256` of a folder.
pub fn content_digest(root: &Root) -> Result<Digest, FsError> {
    let mut hashing = Hashing::new(root, Wanted::Content);
    for (path, kind) in list(root, &WalkLimits::SKILL)? {
        match kind {
            Type::Folder => {}
            _ if path.as_str() == MARKER_FILE => {}
            Type::File => hashing.content_of(&path)?,
            Type::Link => hashing.link(&path, "")?,
            Type::Other(kind) => return Err(not_regular(root, &path, kind)),
        }
    }
    Ok(hashing.content.finish())
}

/// Returns both digests of a folder; `entries` are its entries as returned by [`crate::walk`].
///
/// Fails on a symlink that leads out of the folder, and on anything but files, folders and symlinks.
pub fn digests(root: &Root, entries: &[Entry]) -> Result<Digests, FsError> {
    hash_entries(root, entries, |error, _| Err(error))
}

/// Like [`digests`], but hashes the target of a symlink that leads out, and the kind of a FIFO, socket or device.
/// Use it to distinguish versions of any folder; trust is bound only to [`digests`].
pub fn version_digests(root: &Root, entries: &[Entry]) -> Result<Digests, FsError> {
    hash_entries(root, entries, |error, hashing| match error {
        FsError::Escapes { .. } | FsError::NotRegular { .. } => {
            hashing.content.bytes(b"not read");
            Ok(())
        }
        other => Err(other),
    })
}

fn hash_entries(
    root: &Root,
    entries: &[Entry],
    on_unreadable: impl Fn(FsError, &mut Hashing<'_>) -> Result<(), FsError>,
) -> Result<Digests, FsError> {
    let mut hashing = Hashing::new(root, Wanted::Both);
    for entry in entries.iter().filter(|entry| entry.path.as_str() != MARKER_FILE) {
        match &entry.kind {
            Kind::Folder => {}
            Kind::File { .. } => hashing.file(&entry.path)?,
            Kind::Link(target) => {
                if let Err(error) = hashing.link(&entry.path, target) {
                    hashing.content.file(&entry.path);
                    hashing.content.bytes(target.as_bytes());
                    on_unreadable(error, &mut hashing)?;
                }
            }
            Kind::Other(kind) => {
                hashing.content.file(&entry.path);
                hashing.content.bytes(kind.as_bytes());
                hashing.bundle.entry(&entry.path, &EntryKind::Link((*kind).to_owned()), 0);
                on_unreadable(not_regular(root, &entry.path, kind), &mut hashing)?;
            }
        }
    }
    Ok(Digests { content: hashing.content.finish(), bundle: hashing.bundle.finish() })
}

fn not_regular(root: &Root, path: &RelPath, kind: &'static str) -> FsError {
    FsError::NotRegular { path: root.path().join(path.as_str()).to_string(), kind }
}

struct Hashing<'a> {
    root: &'a Root,
    wanted: Wanted,
    content: ContentHasher,
    bundle: BundleHasher,
    chunk: Vec<u8>,
    /// The number of bytes read through symlinks.
    linked: u64,
}

/// Which digests to compute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Both,
    Content,
}

impl<'a> Hashing<'a> {
    fn new(root: &'a Root, wanted: Wanted) -> Self {
        let (content, bundle) = (ContentHasher::default(), BundleHasher::default());
        Self { root, wanted, content, bundle, chunk: vec![0; CHUNK], linked: 0 }
    }

    fn file(&mut self, path: &RelPath) -> Result<(), FsError> {
        // Mode and length come from the open file, so they belong to the bytes that are read.
        let (file, metadata) = self.root.plain_file(path)?;
        let kind =
            if sys::is_executable(&metadata) { EntryKind::Executable } else { EntryKind::File };
        self.content.file(path);
        self.bundle.entry(path, &kind, metadata.len());
        if self.feed(path, file, metadata.len(), self.wanted)? != metadata.len() {
            return Err(FsError::Changed {
                path: self.root.path().join(path.as_str()).to_string(),
            });
        }
        Ok(())
    }

    /// Adds a file to the content digest only. That needs no length, so the file is not examined first. If it is no
    /// longer a regular file, no bytes can be read and the digest differs.
    fn content_of(&mut self, path: &RelPath) -> Result<(), FsError> {
        let file = self.root.unchecked_file(path)?;
        self.content.file(path);
        self.feed(path, file, 0, Wanted::Content).map(|_| ())
    }

    fn link(&mut self, path: &RelPath, target: &str) -> Result<(), FsError> {
        self.bundle.entry(path, &EntryKind::Link(target.to_owned()), 0);
        match self.root.file(path) {
            Ok(file) => {
                self.content.file(path);
                let limit = WalkLimits::SKILL.bytes;
                let size = file.metadata().map_or(u64::MAX, |metadata| metadata.len());
                // A file is counted once for each symlink to it.
                self.linked = self.linked.saturating_add(size);
                if self.linked > limit as u64 {
                    let path = self.root.path().to_string();
                    return Err(FsError::Limit {
                        path,
                        what: "bytes reached through symlinks",
                        limit,
                    });
                }
                self.feed(path, file, u64::MAX, Wanted::Content).map(|_| ())
            }
            // A symlink to a folder, or a dangling one, adds no bytes.
            Err(FsError::NotRegular { kind: "a folder", .. } | FsError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Hashes the whole file and returns how many bytes it has. The file is at least `size` bytes long.
    fn feed(
        &mut self,
        path: &RelPath,
        mut file: File,
        size: u64,
        into: Wanted,
    ) -> Result<u64, FsError> {
        let mut total = 0;
        loop {
            match file.read(&mut self.chunk) {
                Ok(0) => return Ok(total),
                Ok(read) => {
                    let bytes = &self.chunk[..read];
                    self.content.bytes(bytes);
                    if into == Wanted::Both {
                        self.bundle.bytes(bytes);
                    }
                    total += read as u64;
                    // A short read at or past the expected size means the end was reached, which saves a call.
                    if total >= size && read < self.chunk.len() {
                        return Ok(total);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(FsError::io(self.root.path().join(path.as_str()).as_str(), source));
                }
            }
        }
    }
}
