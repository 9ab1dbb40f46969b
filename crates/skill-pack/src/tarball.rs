//! Tarballs, compressed with gzip.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::bufread::GzDecoder;
use tar::{Archive, EntryType};

use crate::tree::{FileContent, MAX_BYTES, MAX_FILES, MAX_RATIO, SMALL, Tree};
use crate::{Entry, PackError, Package};

/// How much the headers of all entries may add to their bytes.
const MAX_HEADERS: u64 = (MAX_FILES as u64) * 2048;
/// What everything in a tarball is a multiple of.
const BLOCK: u64 = 512;

/// Reads a tarball of one skill.
pub(crate) fn read(bytes: &[u8]) -> Result<Package, PackError> {
    let mut tree = Tree::default();
    // `tar czf x.tgz ./pdf` puts `./` before every name; all readers take that for nothing.
    let plain = |name: &str| name.strip_prefix("./").unwrap_or(name).to_owned();
    tar_entries(bytes, |entry| match entry {
        Entry::Folder("." | "./") => Ok(()),
        Entry::Folder(name) => tree.folder(&plain(name)),
        Entry::File { name, executable, bytes } => {
            tree.file(&plain(name), FileContent { executable, bytes })
        }
        Entry::Other { name, kind } => Err(PackError::Kind { name: name.to_owned(), kind }),
    })?;
    tree.package()
}

/// Hands on every entry of a tarball, in order, bounded in number and size. Names are not looked at.
pub fn tar_entries(
    bytes: &[u8],
    mut take: impl FnMut(Entry<'_>) -> Result<(), PackError>,
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
    check_headers(&unpacked)?;
    let mut end = 0;
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
        check_pax(&mut entry, &name)?;
        end = entry.raw_file_position() + entry.size().next_multiple_of(BLOCK);
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let taken = match kind {
            EntryType::Directory if entry.size() > 0 => {
                return Err(PackError::Malformed(format!("the folder `{name}` holds bytes")));
            }
            EntryType::Directory => Entry::Folder(&name),
            EntryType::Regular => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(malformed)?;
                Entry::File { name: &name, executable, bytes }
            }
            EntryType::XGlobalHeader => continue,
            other => Entry::Other { name: &name, kind: kind_of(other) },
        };
        take(taken)?;
    }
    let rest = usize::try_from(end).ok().and_then(|end| unpacked.get(end..)).unwrap_or_default();
    if (rest.len() as u64) < 2 * BLOCK {
        return Err(PackError::Malformed("the two empty blocks at its end are missing".to_owned()));
    }
    if rest.iter().any(|byte| *byte != 0) {
        return Err(PackError::Malformed("there is something after its last entry".to_owned()));
    }
    Ok(())
}

/// Refuses what readers understand differently before any of them reads on: where each entry begins follows from sizes, and a name has one
/// header that extends it. A size counts where the entry itself says it, in digits; one that another header says must be the same.
fn check_headers(bytes: &[u8]) -> Result<(), PackError> {
    let malformed = |what: &str| PackError::Malformed(what.to_owned());
    let block = usize::try_from(BLOCK).unwrap_or(512);
    let (mut at, mut extended) = (0, None);
    while let Some(header) = bytes.get(at..at + block) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        check_magic(header)?;
        let size = octal(&header[124..136]).ok_or_else(|| malformed("a size is not in digits"))?;
        let kind = header[156];
        let end = (at + block).checked_add(size).filter(|end| *end <= bytes.len());
        let body = end.map(|end| &bytes[at + block..end]);
        let body = body.ok_or_else(|| malformed("an entry ends after the tarball"))?;
        match kind {
            b'x' | b'L' | b'K' => {
                if extended.is_some() {
                    return Err(malformed("two headers extend one entry"));
                }
                let said = if kind == b'x' { pax_size(body)? } else { None };
                extended = Some(said);
            }
            b'g' => {
                pax_size(body)?;
            }
            _ => {
                let said = extended.take().flatten();
                if said.is_some_and(|said| said != size) {
                    return Err(malformed("two headers say two sizes of one entry"));
                }
            }
        }
        at += block + size.next_multiple_of(block);
    }
    Ok(())
}

/// Refuses a header of a format that readers take for different ones: where it has a prefix of its name depends on that.
fn check_magic(header: &[u8]) -> Result<(), PackError> {
    let (magic, rest) = (&header[257..265], &header[345..512]);
    let is_posix = magic == b"ustar\x0000";
    let is_other = magic == b"ustar  \0" || magic.iter().all(|byte| *byte == 0);
    if is_posix || (is_other && rest.iter().all(|byte| *byte == 0)) {
        return Ok(());
    }
    Err(PackError::Malformed("a header is of no known format".to_owned()))
}

/// Reads a number of a header: octal digits, with blanks around them.
fn octal(field: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    let is_digits = text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    if text.is_empty() {
        Some(0)
    } else {
        is_digits.then(|| usize::from_str_radix(text, 8).ok())?
    }
}

/// Reads the records of an extended header, each key once, and returns the size that they say.
fn pax_size(body: &[u8]) -> Result<Option<usize>, PackError> {
    let malformed = || PackError::Malformed("an extended header cannot be read".to_owned());
    let (mut rest, mut known, mut size) = (body, BTreeSet::new(), None);
    while !rest.is_empty() {
        let blank = rest.iter().position(|byte| *byte == b' ').ok_or_else(malformed)?;
        let length = std::str::from_utf8(&rest[..blank]).ok();
        let length = length.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let length: usize = length.and_then(|text| text.parse().ok()).ok_or_else(malformed)?;
        let record = rest.get(blank + 1..length).ok_or_else(malformed)?;
        let record = record.strip_suffix(b"\n").ok_or_else(malformed)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(malformed)?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        if !known.insert(key) {
            return Err(PackError::Malformed("an extended header says something twice".to_owned()));
        }
        if key == b"size" {
            let text = std::str::from_utf8(value).ok();
            let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            size = Some(text.and_then(|text| text.parse().ok()).ok_or_else(malformed)?);
        }
        rest = &rest[length..];
    }
    Ok(size)
}

/// Refuses what only some readers understand: files with holes, which have another name there, and a header that says something of the entries after it, unless it is a
/// comment as git writes it.
fn check_pax<R: Read>(entry: &mut tar::Entry<'_, R>, name: &str) -> Result<(), PackError> {
    let is_global = entry.header().entry_type() == EntryType::XGlobalHeader;
    let malformed = |error: std::io::Error| PackError::Malformed(error.to_string());
    for field in entry.pax_extensions().map_err(malformed)?.into_iter().flatten() {
        let field = field.map_err(malformed)?;
        let key = field.key_bytes();
        if is_global && !matches!(key, b"comment" | b"mtime" | b"charset" | b"hdrcharset") {
            return Err(PackError::Unsupported("a header for all entries"));
        }
        if key.starts_with(b"GNU.sparse") {
            let kind = "a file with holes";
            return Err(PackError::Kind { name: name.to_owned(), kind });
        }
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
