//! The two digests of a folder, streamed: memory does not grow with the files.

use std::io::Read;

use skill::{BundleHasher, ContentHasher, Digest, EntryKind, MARKER_FILE, RelPath};

use crate::{FsError, Kind, Root, WalkLimits, walk};

const CHUNK: usize = 64 << 10;

/// Returns `content_sha256`: paths and bytes of every file. A link to a file inside counts as that
/// file; a link that leads out, and anything that is neither file, folder nor link, is an error.
pub fn content_digest(root: &Root) -> Result<Digest, FsError> {
    let mut hasher = ContentHasher::default();
    let mut chunk = vec![0; CHUNK];
    for entry in walk(root, &WalkLimits::SKILL)? {
        let is_link = match entry.kind {
            Kind::Folder => continue,
            Kind::File { .. } => false,
            Kind::Link(_) => true,
            Kind::Other(kind) => return Err(not_regular(root, &entry.path, kind)),
        };
        if entry.path.as_str() == MARKER_FILE {
            continue;
        }
        let mut file = match root.file(&entry.path) {
            Ok(file) => file,
            // A link to a folder, or to nothing, brings no bytes of its own.
            Err(FsError::NotRegular { kind: "a folder", .. } | FsError::NotFound { .. })
                if is_link =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        hasher.file(&entry.path);
        feed(root, &entry.path, &mut file, &mut chunk, |bytes| hasher.bytes(bytes))?;
    }
    Ok(hasher.finish())
}

/// Returns the bundle digest: path, mode, kind, link target and bytes of every entry but folders.
pub fn bundle_digest(root: &Root) -> Result<Digest, FsError> {
    let mut hasher = BundleHasher::default();
    let mut chunk = vec![0; CHUNK];
    for entry in walk(root, &WalkLimits::SKILL)? {
        let (kind, size) = match entry.kind {
            Kind::Folder => continue,
            Kind::File { size, executable: true } => (EntryKind::Executable, size),
            Kind::File { size, executable: false } => (EntryKind::File, size),
            Kind::Link(target) => (EntryKind::Link(target), 0),
            Kind::Other(kind) => return Err(not_regular(root, &entry.path, kind)),
        };
        if entry.path.as_str() == MARKER_FILE {
            continue;
        }
        hasher.entry(&entry.path, &kind, size);
        if matches!(kind, EntryKind::Link(_)) {
            continue;
        }
        let mut file = root.file(&entry.path)?;
        let read = feed(root, &entry.path, &mut file, &mut chunk, |bytes| hasher.bytes(bytes))?;
        if read != size {
            return Err(FsError::Changed {
                path: root.path().join(entry.path.as_str()).to_string(),
            });
        }
    }
    Ok(hasher.finish())
}

fn not_regular(root: &Root, path: &RelPath, kind: &'static str) -> FsError {
    FsError::NotRegular { path: root.path().join(path.as_str()).to_string(), kind }
}

fn feed(
    root: &Root,
    path: &RelPath,
    file: &mut impl Read,
    chunk: &mut [u8],
    mut take: impl FnMut(&[u8]),
) -> Result<u64, FsError> {
    let mut total = 0;
    loop {
        match file.read(chunk) {
            Ok(0) => return Ok(total),
            Ok(read) => {
                take(&chunk[..read]);
                total += read as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(FsError::io(root.path().join(path.as_str()).as_str(), source));
            }
        }
    }
}
