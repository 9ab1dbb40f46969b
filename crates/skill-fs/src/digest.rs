//! The two digests of a folder, streamed: memory does not grow with the files, and each file is read once.

use std::fs::File;
use std::io::Read;

use skill::{BundleHasher, ContentHasher, Digest, EntryKind, MARKER_FILE, RelPath};

use crate::{Entry, FsError, Kind, Root, WalkLimits, sys, walk};

const CHUNK: usize = 64 << 10;

/// Both digests of one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digests {
    /// `content_sha256`: paths and bytes of every file. A link to a file inside counts as that file.
    pub content: Digest,
    /// What trust binds to: path, mode, kind, link target and bytes of every file and link.
    pub bundle: Digest,
}

/// Returns `content_sha256` of a folder.
pub fn content_digest(root: &Root) -> Result<Digest, FsError> {
    Ok(digests(root, &walk(root, &WalkLimits::SKILL)?)?.content)
}

/// Returns both digests of a folder whose entries are `entries`, as [`walk`] returns them.
///
/// A link that leads out, and anything that is neither file, folder nor link, is an error.
pub fn digests(root: &Root, entries: &[Entry]) -> Result<Digests, FsError> {
    let mut hashing = Hashing {
        root,
        content: ContentHasher::default(),
        bundle: BundleHasher::default(),
        chunk: vec![0; CHUNK],
    };
    for entry in entries.iter().filter(|entry| entry.path.as_str() != MARKER_FILE) {
        match &entry.kind {
            Kind::Folder => {}
            Kind::File { .. } => hashing.file(&entry.path)?,
            Kind::Link(target) => hashing.link(&entry.path, target)?,
            Kind::Other(kind) => {
                return Err(FsError::NotRegular {
                    path: root.path().join(entry.path.as_str()).to_string(),
                    kind,
                });
            }
        }
    }
    Ok(Digests { content: hashing.content.finish(), bundle: hashing.bundle.finish() })
}

struct Hashing<'a> {
    root: &'a Root,
    content: ContentHasher,
    bundle: BundleHasher,
    chunk: Vec<u8>,
}

/// Which digests the bytes of a file go into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Into {
    Both,
    Content,
}

impl Hashing<'_> {
    fn file(&mut self, path: &RelPath) -> Result<(), FsError> {
        // Mode and length are those of the very file that is read.
        let (file, metadata) = self.root.plain_file(path)?;
        let kind =
            if sys::is_executable(&metadata) { EntryKind::Executable } else { EntryKind::File };
        self.content.file(path);
        self.bundle.entry(path, &kind, metadata.len());
        if self.feed(path, file, Into::Both)? != metadata.len() {
            return Err(FsError::Changed {
                path: self.root.path().join(path.as_str()).to_string(),
            });
        }
        Ok(())
    }

    fn link(&mut self, path: &RelPath, target: &str) -> Result<(), FsError> {
        self.bundle.entry(path, &EntryKind::Link(target.to_owned()), 0);
        match self.root.file(path) {
            Ok(file) => {
                self.content.file(path);
                self.feed(path, file, Into::Content).map(|_| ())
            }
            // A link to a folder, or to nothing, brings no bytes of its own.
            Err(FsError::NotRegular { kind: "a folder", .. } | FsError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn feed(&mut self, path: &RelPath, mut file: File, into: Into) -> Result<u64, FsError> {
        let mut total = 0;
        loop {
            match file.read(&mut self.chunk) {
                Ok(0) => return Ok(total),
                Ok(read) => {
                    let bytes = &self.chunk[..read];
                    self.content.bytes(bytes);
                    if into == Into::Both {
                        self.bundle.bytes(bytes);
                    }
                    total += read as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(FsError::io(self.root.path().join(path.as_str()).as_str(), source));
                }
            }
        }
    }
}
