//! Tarballs, compressed with gzip.

use std::io::Read;

use flate2::bufread::GzDecoder;
use tar::{Archive, EntryType};

use crate::tree::{MAX_BYTES, MAX_FILES, Tree};
use crate::{PackError, Package};

/// How much the headers of all entries may add to their bytes.
const MAX_HEADERS: u64 = (MAX_FILES as u64) * 2048;
/// How much a tarball may grow. Text grows tenfold; what grows a thousandfold was made to.
const MAX_RATIO: u64 = 200;
/// What grows less than this is no bomb, whatever it grew from.
const SMALL: u64 = 1 << 20;

/// Reads a tarball of one skill.
pub(crate) fn read(bytes: &[u8]) -> Result<Package, PackError> {
    let mut tree = Tree::default();
    tar_entries(bytes, |entry| match entry {
        TarEntry::Folder(name) => tree.folder(name),
        TarEntry::File { name, executable, bytes } => tree.file(name, (executable, bytes)),
        TarEntry::Other { name, kind } => Err(PackError::Kind { name: name.to_owned(), kind }),
    })?;
    tree.package()
}

/// What stands in a tarball.
#[derive(Debug)]
pub enum TarEntry<'a> {
    /// A folder.
    Folder(&'a str),
    /// A file.
    File {
        /// Its name, as it stands there.
        name: &'a str,
        /// Whether it may be run.
        executable: bool,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// Anything else: links, devices.
    Other {
        /// Its name, as it stands there.
        name: &'a str,
        /// What it is.
        kind: &'static str,
    },
}

/// Hands on every entry of a tarball, in order, bounded in number and size. Names are not looked at.
pub fn tar_entries(
    bytes: &[u8],
    mut take: impl FnMut(TarEntry<'_>) -> Result<(), PackError>,
) -> Result<(), PackError> {
    let packed = bytes.len() as u64;
    let limit = MAX_BYTES + MAX_HEADERS;
    let mut unpacked = Vec::new();
    let malformed = |error: std::io::Error| PackError::Malformed(error.to_string());
    let mut decoder = GzDecoder::new(bytes).take(limit + 1);
    let mut chunk = [0; 64 << 10];
    loop {
        let count = decoder.read(&mut chunk).map_err(malformed)?;
        if count == 0 {
            break;
        }
        unpacked.extend_from_slice(&chunk[..count]);
        let size = unpacked.len() as u64;
        if size > SMALL && size > packed.saturating_mul(MAX_RATIO) {
            return Err(PackError::Bomb { name: "the tarball".to_owned(), packed, size });
        }
    }
    if !decoder.into_inner().into_inner().is_empty() {
        return Err(PackError::Malformed("there is something after its end".to_owned()));
    }
    if unpacked.len() as u64 > limit {
        let found = unpacked.len() as u64;
        return Err(PackError::Limit { what: "bytes of all files", found, limit: MAX_BYTES });
    }
    let mut archive = Archive::new(unpacked.as_slice());
    for (number, entry) in archive.entries().map_err(malformed)?.enumerate() {
        if number >= MAX_FILES {
            let found = number as u64 + 1;
            return Err(PackError::Limit { what: "entries", found, limit: MAX_FILES as u64 });
        }
        let mut entry = entry.map_err(malformed)?;
        let name = entry.path_bytes().into_owned();
        let name = String::from_utf8(name).map_err(|error| PackError::Name {
            name: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            why: "it is not UTF-8".to_owned(),
        })?;
        let kind = entry.header().entry_type();
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let taken = match kind {
            EntryType::Directory => TarEntry::Folder(&name),
            EntryType::Regular => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(malformed)?;
                TarEntry::File { name: &name, executable, bytes }
            }
            // Says something of the whole tarball; git writes one.
            EntryType::XGlobalHeader => continue,
            other => TarEntry::Other { name: &name, kind: kind_of(other) },
        };
        take(taken)?;
    }
    Ok(())
}

fn kind_of(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Symlink => "a link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a FIFO",
        EntryType::GNUSparse => "a file with holes",
        _ => "something else",
    }
}
