//! Files that save work and may be lost at any time: what was read of skills, and digests of their folders.
//!
//! A file begins with a line that names its format and this program's version. Frames follow: a length, a checksum and
//! that many bytes. The first frame says what folder the file is about, each other one holds some of the items. A file
//! that is damaged, of another version, of another user or about another folder counts as absent.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use skill_fs::{AbsPath, FsError, make_private_folder, read_own_file, write_parts};
use skill_state::key_of;

/// The largest file that is read: some 500,000 skills.
const MAX: u64 = 256 << 20;
/// How many items a frame holds: enough to be worth a core's while.
const FRAME: usize = 512;
/// Grows when what is kept means something else than before, in the same form.
const MEANING: u32 = 2;
/// How many files of one kind are kept.
const MAX_FILES: usize = 1_024;
/// The length of a frame and its checksum.
const HEAD: usize = 4 + 4;

/// The cached things about one folder.
#[derive(Debug, Clone)]
pub(crate) struct CacheFile {
    path: AbsPath,
    /// The first line.
    title: String,
    /// What it is about.
    about: String,
}

impl CacheFile {
    /// Returns the file of one `kind` about `root`, below the cache folder.
    pub(crate) fn new(cache: &AbsPath, kind: &str, root: &AbsPath) -> Self {
        let path = cache.join(kind).join(format!("{}.bin", key_of(root)));
        let title = format!("openskills {kind} {} {MEANING}\n", env!("CARGO_PKG_VERSION"));
        Self { path, title, about: root.to_string() }
    }

    /// Returns true if there is such a file, whatever it holds.
    pub(crate) fn is_there(&self) -> bool {
        self.path.as_path().is_file()
    }

    /// Reads the items; `None` if there is nothing that can be used.
    pub(crate) fn load<T: DeserializeOwned + Send>(&self) -> Option<Vec<T>> {
        // A cache that cannot be read is no cache; what it would have saved is done again.
        let bytes = read_own_file(&self.path, MAX).ok().flatten()?;
        let frames = frames(bytes.strip_prefix(self.title.as_bytes())?)?;
        let (about, items) = frames.split_first()?;
        if postcard::from_bytes::<&str>(content(about)?).ok()? != self.about {
            return None;
        }
        let read = |frame: &&[u8]| postcard::from_bytes::<Vec<T>>(content(frame)?).ok();
        let items: Option<Vec<Vec<T>>> = items.par_iter().map(read).collect();
        Some(items?.into_iter().flatten().collect())
    }

    /// Writes the items, unless the file says the same already.
    pub(crate) fn save<T: Serialize + Sync>(&self, items: &[T]) -> Result<(), FsError> {
        let failed = |error: postcard::Error| FsError::Io {
            path: self.path.to_string(),
            source: std::io::Error::other(error.to_string()),
        };
        let frames: Result<Vec<Vec<u8>>, postcard::Error> =
            items.par_chunks(FRAME).map(|items| frame(&items)).collect();
        let frames = frames.map_err(failed)?;
        let about = frame(&self.about).map_err(failed)?;
        // Not put together first: that would touch all of it once more.
        let head = [self.title.as_bytes(), &about];
        let parts: Vec<&[u8]> = head.into_iter().chain(frames.iter().map(Vec::as_slice)).collect();
        if let Some(folder) = self.path.parent() {
            make_private_folder(&folder)?;
        }
        write_parts(&self.path, &parts).map(|_| ())
    }
}

/// Removes the oldest files of a kind if there are very many: places come and go, and nobody says so.
pub(crate) fn tidy(cache: &AbsPath, kind: &str) {
    let Ok(entries) = fs::read_dir(cache.join(kind).as_path()) else { return };
    let mut files: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    if files.len() < MAX_FILES {
        return;
    }
    files.sort_by_cached_key(|file| fs::metadata(file).and_then(|file| file.modified()).ok());
    for file in files.iter().take(MAX_FILES / 2) {
        // Another process may be faster; then there is nothing to do.
        let _ = fs::remove_file(file);
    }
}

fn frame<T: Serialize>(value: &T) -> Result<Vec<u8>, postcard::Error> {
    let mut bytes = postcard::to_extend(value, vec![0; HEAD])?;
    let content = &bytes[HEAD..];
    let (length, checksum) = (u32::try_from(content.len()), crc32fast::hash(content));
    let length = length.map_err(|_| postcard::Error::SerializeBufferFull)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes[4..HEAD].copy_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// Splits a file into its frames, heads included.
fn frames(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_le_bytes(*bytes.first_chunk()?);
        let (frame, rest) = bytes.split_at_checked(HEAD + usize::try_from(length).ok()?)?;
        all.push(frame);
        bytes = rest;
    }
    Some(all)
}

/// Returns what a frame holds, unless it is damaged.
fn content(frame: &[u8]) -> Option<&[u8]> {
    let (head, content) = frame.split_at_checked(HEAD)?;
    (crc32fast::hash(content).to_le_bytes() == head[4..]).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_file_of_ours_about_the_folder_is_read() {
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
        // Every bit counts, and so does every missing byte.
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
