//! Cache files that may be lost at any time: parsed frontmatter of skills, and digests of their folders.
//!
//! A file starts with a line that names its format and this program's version. Frames follow: a length, a checksum and
//! that many bytes. The first frame contains the path of the folder that the file describes, the others contain the
//! items. A file that is damaged, belongs to another user, or is for another version or folder is ignored.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use skill_fs::{AbsPath, FsError, make_private_folder, read_own_file, write_parts};
use skill_state::key_of;

/// The maximum size of a cache file: about 500,000 skills.
const MAX_BYTES: u64 = 256 << 20;
/// Items per frame: enough to make parallel decoding worthwhile.
const ITEMS_PER_FRAME: usize = 512;
/// Incremented when the meaning of cached data changes without a change of its structure.
const FORMAT_VERSION: u32 = 3;
/// The maximum number of files of one kind.
const MAX_FILES: usize = 1_024;
/// Size of a frame's header: its length and its checksum.
const FRAME_HEADER: usize = 4 + 4;

/// The cache file for one folder.
#[derive(Debug, Clone)]
pub(crate) struct CacheFile {
    path: AbsPath,
    /// The first line of the file.
    title: String,
    /// The folder that it describes.
    about: String,
}

impl CacheFile {
    /// Returns the cache file of this `kind` for `root`.
    pub(crate) fn new(cache: &AbsPath, kind: &str, root: &AbsPath) -> Self {
        let path = cache.join(kind).join(format!("{}.bin", key_of(root)));
        let title = format!("openskills {kind} {} {FORMAT_VERSION}\n", env!("CARGO_PKG_VERSION"));
        Self { path, title, about: root.to_string() }
    }

    /// Returns true if the file exists, valid or not.
    pub(crate) fn exists(&self) -> bool {
        self.path.as_path().is_file()
    }

    /// Reads the items; `None` if there is no usable file.
    pub(crate) fn load<T: DeserializeOwned + Send>(&self) -> Option<Vec<T>> {
        // An unreadable cache is treated as missing and rebuilt.
        let bytes = read_own_file(&self.path, MAX_BYTES).ok().flatten()?;
        let frames = frames(bytes.strip_prefix(self.title.as_bytes())?)?;
        let (about, items) = frames.split_first()?;
        if postcard::from_bytes::<&str>(content(about)?).ok()? != self.about {
            return None;
        }
        let read = |frame: &&[u8]| postcard::from_bytes::<Vec<T>>(content(frame)?).ok();
        let items: Option<Vec<Vec<T>>> = items.par_iter().map(read).collect();
        Some(items?.into_iter().flatten().collect())
    }

    /// Writes the items, unless the file already has this content.
    pub(crate) fn save<T: Serialize + Sync>(&self, items: &[T]) -> Result<(), FsError> {
        let failed = |error: postcard::Error| FsError::Io {
            path: self.path.to_string(),
            source: std::io::Error::other(error.to_string()),
        };
        let frames: Result<Vec<Vec<u8>>, postcard::Error> =
            items.par_chunks(ITEMS_PER_FRAME).map(|items| frame(&items)).collect();
        let frames = frames.map_err(failed)?;
        let about = frame(&self.about).map_err(failed)?;
        // Written in parts, to avoid another copy of everything.
        let head = [self.title.as_bytes(), &about];
        let parts: Vec<&[u8]> = head.into_iter().chain(frames.iter().map(Vec::as_slice)).collect();
        if let Some(folder) = self.path.parent() {
            make_private_folder(&folder)?;
        }
        write_parts(&self.path, &parts).map(|_| ())
    }
}

/// Removes the oldest files of a kind if there are too many, because folders disappear without notice.
pub(crate) fn tidy(cache: &AbsPath, kind: &str) {
    let Ok(entries) = fs::read_dir(cache.join(kind).as_path()) else { return };
    let mut files: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    if files.len() < MAX_FILES {
        return;
    }
    files.sort_by_cached_key(|file| fs::metadata(file).and_then(|file| file.modified()).ok());
    for file in files.iter().take(MAX_FILES / 2) {
        // Another process may have removed it first.
        let _ = fs::remove_file(file);
    }
}

fn frame<T: Serialize>(value: &T) -> Result<Vec<u8>, postcard::Error> {
    let mut bytes = postcard::to_extend(value, vec![0; FRAME_HEADER])?;
    let content = &bytes[FRAME_HEADER..];
    let (length, checksum) = (u32::try_from(content.len()), crc32fast::hash(content));
    let length = length.map_err(|_| postcard::Error::SerializeBufferFull)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes[4..FRAME_HEADER].copy_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// Splits a file into its frames, headers included.
fn frames(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_le_bytes(*bytes.first_chunk()?);
        let (frame, rest) = bytes.split_at_checked(FRAME_HEADER + usize::try_from(length).ok()?)?;
        all.push(frame);
        bytes = rest;
    }
    Some(all)
}

/// Returns the content of a frame; `None` if it is damaged.
fn content(frame: &[u8]) -> Option<&[u8]> {
    let (head, content) = frame.split_at_checked(FRAME_HEADER)?;
    (crc32fast::hash(content).to_le_bytes() == head[4..]).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_intact_file_for_the_same_folder_is_read() {
        let scratch = tempfile::tempdir().unwrap();
        let cache = AbsPath::new(scratch.path()).unwrap();
        let root = AbsPath::new("/s").unwrap();
        let file = CacheFile::new(&cache, "index", &root);
        let items: Vec<(u32, String)> = (0..2_000).map(|n| (n, format!("skill {n}"))).collect();
        let load = |file: &CacheFile| file.load::<(u32, String)>();
        assert_eq!(load(&file), None);
        file.save(&items).unwrap();
        assert_eq!(load(&file), Some(items));

        let whole = fs::read(file.path.as_path()).unwrap();
        // A flipped bit or a missing byte anywhere is detected.
        for at in (0..whole.len()).step_by(whole.len() / 50) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(file.path.as_path(), &damaged).unwrap();
            assert_eq!(load(&file), None, "byte {at}");
            fs::write(file.path.as_path(), &whole[..at]).unwrap();
            assert!(load(&file).is_none_or(|items| items.len() < 2_000), "cut at {at}");
        }
        fs::write(file.path.as_path(), &whole).unwrap();
        let other = CacheFile { about: "/t".to_owned(), ..file.clone() };
        assert_eq!(load(&other), None, "about another folder");
        let newer = CacheFile { title: "openskills index 99\n".to_owned(), ..file.clone() };
        assert_eq!(load(&newer), None, "of another version");
    }
}
