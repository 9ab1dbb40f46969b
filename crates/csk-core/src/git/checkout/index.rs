//! Lists the files that git tracks in a work tree, from its index.
//!
//! Only names are read. The file is untrusted: no memory is reserved based on its own counts, every length is checked,
//! and anything unknown is an error.

use std::path::Path;

use gix::bstr::ByteSlice;
use skill::folded_name;

use super::files::{Links, read};
use super::work_tree::WorkTree;
use crate::GitError;
use crate::git::object::hex;

/// The largest index that is read: about two million files.
const MAX_INDEX: u64 = 256 << 20;
/// The size of the stat data before an entry's id: times, device, inode, mode, owner and size.
const STAT_BYTES: usize = 40;

/// Why an index cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum IndexError {
    #[error("the file is corrupt")]
    Damaged,
    #[error("unsupported version {0}")]
    Version(u32),
    #[error("unsupported extension `{0}`")]
    Extension(String),
}

/// Returns the first entry at or below `folder`, or a submodule, symlink or sparse folder on the way to it.
pub(super) fn tracked(tree: &WorkTree, folder: &str) -> Result<Option<String>, GitError> {
    let inside = tree.inside.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    let around = if inside.is_empty() { String::new() } else { format!("{inside}/") };
    let below = folded_path(&format!("{around}{folder}")) + "/";
    let top = below.split('/').next().unwrap_or_default().to_owned();
    // Compares folded names: on some file systems `.Agents/Bin` is the same folder.
    let brings = |name: &[u8]| {
        // Fast path: most names clearly differ, and there may be a million of them.
        let start = &name[..top.len().min(name.len())];
        if name.is_ascii() && !start.eq_ignore_ascii_case(top.as_bytes()) {
            return false;
        }
        let name = folded_path(name.to_str_lossy().trim_end_matches('/')) + "/";
        name.starts_with(&below) || below.starts_with(&name)
    };
    let found = first_match(&tree.git_dir, tree.settings()?.id_length, &brings)?;
    Ok(found.map(|name| name.strip_prefix(&around).map_or(name.clone(), str::to_owned)))
}

fn folded_path(path: &str) -> String {
    path.split('/').map(folded_name).collect::<Vec<_>>().join("/")
}

/// Returns the first entry of an index for which `is_wanted` is true.
fn first_match(
    git_dir: &Path,
    id_length: usize,
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<String>, GitError> {
    let load = |name: &str| {
        let path = git_dir.join(name);
        let bytes = read(&path, MAX_INDEX, Links::Followed)?;
        let failed = move |error: IndexError| {
            GitError::Failed(format!("cannot read the git index `{}`: {error}", path.display()))
        };
        Ok((bytes, failed))
    };
    let (bytes, failed) = load("index")?;
    let Some(bytes) = bytes else { return Ok(None) };
    let mut found = Vec::new();
    let mut take = |_: usize, name: &[u8]| {
        if !name.is_empty() && is_wanted(name) {
            found.push(name.to_str_lossy().into_owned());
        }
    };
    let index = parse(&bytes, id_length, &mut take).map_err(&failed)?;
    if let Some(link) = index.link {
        // A split index: the rest is in a shared file, and this one lists the deleted entries.
        let (shared, failed_shared) = load(&format!("sharedindex.{}", hex(link.id)))?;
        let shared = shared.ok_or_else(|| failed_shared(IndexError::Damaged))?;
        let mut others = Vec::new();
        let mut take = |at: usize, name: &[u8]| {
            if is_wanted(name) {
                others.push((at, name.to_str_lossy().into_owned()));
            }
        };
        let count = parse(&shared, id_length, &mut take).map_err(&failed_shared)?.count;
        let gone = bits(link.deleted, count).ok_or(IndexError::Damaged).map_err(&failed)?;
        found.extend(others.into_iter().filter(|(at, _)| !gone[*at]).map(|(_, name)| name));
    }
    found.sort_unstable();
    Ok(found.into_iter().next())
}

struct Index<'a> {
    count: usize,
    link: Option<SplitIndexLink<'a>>,
}

/// The reference from a split index to its shared part.
struct SplitIndexLink<'a> {
    id: &'a [u8],
    deleted: &'a [u8],
}

/// Parses an index and passes each entry's position and name to `take`.
fn parse<'a>(
    bytes: &'a [u8],
    id_length: usize,
    take: &mut dyn FnMut(usize, &[u8]),
) -> Result<Index<'a>, IndexError> {
    let mut rest = ByteReader(bytes);
    if rest.take(4)? != b"DIRC" {
        return Err(IndexError::Damaged);
    }
    let version = rest.number()?;
    if !(2..=4).contains(&version) {
        return Err(IndexError::Version(version));
    }
    let count = rest.number()? as usize;
    let mut name = Vec::new();
    for at in 0..count {
        entry(&mut rest, version, id_length, &mut name)?;
        take(at, &name);
    }
    let mut link = None;
    // The file ends with a checksum.
    while rest.0.len() > id_length {
        let signature = rest.take(4)?;
        let size = rest.number()? as usize;
        let mut data = ByteReader(rest.take(size)?);
        match signature {
            b"link" => {
                let id = data.take(id_length)?;
                link = id
                    .iter()
                    .any(|byte| *byte != 0)
                    .then_some(SplitIndexLink { id, deleted: data.0 });
            }
            // A sparse folder stands for everything in it, so a name inside it is reported as the folder.
            b"sdir" => {}
            [b'A'..=b'Z', ..] => {}
            unknown => {
                let shown = unknown.to_str_lossy().escape_debug().to_string();
                return Err(IndexError::Extension(shown));
            }
        }
    }
    if rest.0.len() == id_length { Ok(Index { count, link }) } else { Err(IndexError::Damaged) }
}

/// Reads one entry. `name` holds the previous entry's name on entry and this one's on return.
fn entry(
    rest: &mut ByteReader<'_>,
    version: u32,
    id_length: usize,
    name: &mut Vec<u8>,
) -> Result<(), IndexError> {
    let before = rest.0.len();
    rest.take(STAT_BYTES + id_length)?;
    let flags = rest.short()?;
    if flags & 0x4000 != 0 {
        if version < 3 {
            return Err(IndexError::Damaged);
        }
        rest.short()?;
    }
    if version == 4 {
        let cut = rest.varint()?;
        let kept = name.len().checked_sub(cut).ok_or(IndexError::Damaged)?;
        name.truncate(kept);
        name.extend_from_slice(rest.until_nul()?);
        return Ok(());
    }
    name.clear();
    name.extend_from_slice(rest.until_nul()?);
    // Entries are padded to a multiple of eight bytes.
    let filled = (before - rest.0.len()).next_multiple_of(8) - (before - rest.0.len());
    rest.take(filled).map(|_| ())
}

/// The unread rest of a file.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], IndexError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(IndexError::Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, IndexError> {
        let bytes = self.take(4)?.try_into().map_err(|_| IndexError::Damaged)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn short(&mut self) -> Result<u16, IndexError> {
        let bytes = self.take(2)?.try_into().map_err(|_| IndexError::Damaged)?;
        Ok(u16::from_be_bytes(bytes))
    }

    /// Takes everything up to the next NUL, and the NUL.
    fn until_nul(&mut self) -> Result<&'a [u8], IndexError> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(IndexError::Damaged)?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }

    /// Reads git's variable-length integer: seven bits a byte, and one is added for each continuation.
    fn varint(&mut self) -> Result<usize, IndexError> {
        let mut value: usize = 0;
        for round in 0..5 {
            let byte = self.take(1)?[0];
            let more = usize::from(byte & 0x7f);
            let shifted = if round == 0 { Some(0) } else { (value + 1).checked_mul(128) };
            value =
                shifted.and_then(|shifted| shifted.checked_add(more)).ok_or(IndexError::Damaged)?;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(IndexError::Damaged)
    }
}

/// Decodes an EWAH bitmap and returns its first `count` bits.
fn bits(bytes: &[u8], count: usize) -> Option<Vec<bool>> {
    let mut rest = ByteReader(bytes);
    let _size = rest.number().ok()?;
    let words = rest.number().ok()? as usize;
    let mut words = rest
        .take(words.checked_mul(8)?)
        .ok()?
        .chunks_exact(8)
        .map(|word| word.iter().fold(0_u64, |value, byte| (value << 8) | u64::from(*byte)));
    let mut bits = Vec::new();
    while let Some(word) = words.next() {
        // Each marker word gives a run of equal words, followed by literal words.
        let run = usize::try_from((word >> 1) & 0xffff_ffff).ok()?.saturating_mul(64);
        let run = run.min(count.saturating_sub(bits.len()));
        bits.resize(bits.len() + run, word & 1 == 1);
        for _ in 0..word >> 33 {
            let literal = words.next()?;
            if bits.len() < count {
                bits.extend((0..64).map(|at| literal >> at & 1 == 1));
            }
        }
    }
    bits.resize(count, false);
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an index with these names, as git writes it.
    fn index(version: u32, names: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        for name in names {
            let start = bytes.len();
            bytes.extend([0; STAT_BYTES + 20]);
            bytes.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
            bytes.extend(name.bytes());
            let length = bytes.len() - start;
            bytes.extend(vec![0; (length + 1).next_multiple_of(8) - length]);
        }
        bytes.extend(b"TREE\0\0\0\x04abcd");
        bytes.extend([0; 20]);
        bytes
    }

    fn names(bytes: &[u8]) -> Result<Vec<String>, IndexError> {
        let mut names = Vec::new();
        parse(bytes, 20, &mut |_, name| names.push(name.to_str_lossy().into_owned()))?;
        Ok(names)
    }

    #[test]
    fn names_are_read_and_unknown_data_is_an_error() {
        let good = index(2, &["a", "dir/file", "1234567"]);
        assert_eq!(names(&good).unwrap(), ["a", "dir/file", "1234567"]);
        let with = |at: usize, bytes: &[u8]| {
            let mut bad = good.clone();
            bad[at..at + bytes.len()].copy_from_slice(bytes);
            names(&bad)
        };
        assert_eq!(with(4, &9_u32.to_be_bytes()), Err(IndexError::Version(9)));
        // A count that would need more memory than any machine has.
        assert_eq!(with(8, &u32::MAX.to_be_bytes()), Err(IndexError::Damaged));
        let extension = good.len() - 32;
        assert_eq!(with(extension, b"tree"), Err(IndexError::Extension("tree".to_owned())));
        assert_eq!(with(extension + 4, &[0xff; 4]), Err(IndexError::Damaged));
    }

    /// Parsing terminates on any input.
    #[test]
    fn corrupt_input_causes_at_most_an_error() {
        let mut seed = 7_u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for version in [2, 3, 4] {
            let good = index(version, &["a", ".agents/bin/x", "zz/zz"]);
            for _ in 0..20_000 {
                let mut bad = good.clone();
                for _ in 0..=random(4) {
                    let at = random(bad.len());
                    bad[at] = u8::try_from(random(256)).unwrap();
                }
                bad.truncate(good.len() - random(8) * random(8));
                let _ = names(&bad);
                let _ = bits(&bad, random(1000));
            }
        }
    }
}
