//! Tarballs, compressed with gzip.

use std::collections::BTreeSet;
use std::io::Read;

use flate2::bufread::GzDecoder;
use tar::{Archive, EntryType};

use crate::tree::{FileContent, MAX_BYTES, MAX_FILES, MAX_RATIO, SMALL, Tree};
use crate::{Entry, PackError, Package};

/// The maximum number of bytes in the headers of all entries.
const MAX_HEADERS: u64 = (MAX_FILES as u64) * 2048;
/// The block size: every header and file content is padded to a multiple of it.
const BLOCK: u64 = 512;

/// Reads a tarball that contains one skill.
pub(crate) fn read(bytes: &[u8]) -> Result<Package, PackError> {
    let mut tree = Tree::default();
    // `tar czf x.tgz ./pdf` puts `./` before every name; all readers ignore it.
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

/// Passes every entry of a tarball to `take`, in order. Number and size are limited; names are not checked.
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
            return Err(PackError::Bomb { what: "the archive".to_owned(), packed, size });
        }
    }
    if !decoder.into_inner().into_inner().is_empty() {
        return Err(PackError::Malformed("data after the end of the archive".to_owned()));
    }
    if unpacked.len() as u64 > limit {
        let (what, size) = ("the content".to_owned(), unpacked.len() as u64);
        return Err(PackError::Size { what, size, limit: MAX_BYTES });
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
            why: "not valid UTF-8".to_owned(),
        })?;
        let kind = entry.header().entry_type();
        check_pax(&mut entry, &name)?;
        end = entry.raw_file_position() + entry.size().next_multiple_of(BLOCK);
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let parsed = match kind {
            EntryType::Directory if entry.size() > 0 => {
                return Err(PackError::Malformed(format!("the folder `{name}` has content")));
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
        take(parsed)?;
    }
    let rest = usize::try_from(end).ok().and_then(|end| unpacked.get(end..)).unwrap_or_default();
    if (rest.len() as u64) < 2 * BLOCK {
        return Err(PackError::Malformed("the two empty blocks at the end are missing".to_owned()));
    }
    if rest.iter().any(|byte| *byte != 0) {
        return Err(PackError::Malformed("data after the last entry".to_owned()));
    }
    Ok(())
}

/// Refuses headers that readers interpret differently, before any entry is read. The sizes determine where each entry
/// begins, and at most one extended header may precede an entry. The size in the entry's own header counts and must be
/// in octal digits; a size in an extended header must be the same.
fn check_headers(bytes: &[u8]) -> Result<(), PackError> {
    let malformed = |what: &str| PackError::Malformed(what.to_owned());
    let block = usize::try_from(BLOCK).unwrap_or(512);
    let (mut offset, mut extended) = (0, None);
    while let Some(header) = bytes.get(offset..offset + block) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        check_magic(header)?;
        let size =
            octal(&header[124..136]).ok_or_else(|| malformed("a size is not an octal number"))?;
        let kind = header[156];
        let end = (offset + block).checked_add(size).filter(|end| *end <= bytes.len());
        let body = end.map(|end| &bytes[offset + block..end]);
        let body = body.ok_or_else(|| malformed("an entry extends past the end"))?;
        match kind {
            b'x' | b'L' | b'K' => {
                if extended.is_some() {
                    return Err(malformed("two extended headers for one entry"));
                }
                let declared = if kind == b'x' { pax_size(body)? } else { None };
                extended = Some(declared);
            }
            b'g' => {
                pax_size(body)?;
            }
            _ => {
                let declared = extended.take().flatten();
                if declared.is_some_and(|declared| declared != size) {
                    return Err(malformed("two different sizes for one entry"));
                }
            }
        }
        offset += block + size.next_multiple_of(block);
    }
    Ok(())
}

/// Refuses a header whose format is ambiguous: the format determines where the prefix of the name is.
fn check_magic(header: &[u8]) -> Result<(), PackError> {
    let (magic, rest) = (&header[257..265], &header[345..512]);
    let is_posix = magic == b"ustar\x0000";
    let is_gnu_or_old = magic == b"ustar  \0" || magic.iter().all(|byte| *byte == 0);
    if is_posix || (is_gnu_or_old && rest.iter().all(|byte| *byte == 0)) {
        return Ok(());
    }
    Err(PackError::Malformed("unknown header format".to_owned()))
}

/// Parses a number in a header: octal digits, padded with spaces or zero bytes.
fn octal(field: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    let is_digits = text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    if text.is_empty() {
        Some(0)
    } else {
        is_digits.then(|| usize::from_str_radix(text, 8).ok())?
    }
}

/// Parses the records of an extended header and returns the size that they declare. Refuses duplicate keys.
fn pax_size(body: &[u8]) -> Result<Option<usize>, PackError> {
    let malformed = || PackError::Malformed("malformed extended header".to_owned());
    let (mut rest, mut keys, mut size) = (body, BTreeSet::new(), None);
    while !rest.is_empty() {
        let blank = rest.iter().position(|byte| *byte == b' ').ok_or_else(malformed)?;
        let length = std::str::from_utf8(&rest[..blank]).ok();
        let length = length.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let length: usize = length.and_then(|text| text.parse().ok()).ok_or_else(malformed)?;
        let record = rest.get(blank + 1..length).ok_or_else(malformed)?;
        let record = record.strip_suffix(b"\n").ok_or_else(malformed)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(malformed)?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        if !keys.insert(key) {
            return Err(PackError::Malformed("duplicate key in an extended header".to_owned()));
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

/// Refuses what only some readers understand: sparse files, whose real name is in the extended header, and a global
/// header that changes the entries after it. Comments, as git writes them, are allowed.
fn check_pax<R: Read>(entry: &mut tar::Entry<'_, R>, name: &str) -> Result<(), PackError> {
    let is_global = entry.header().entry_type() == EntryType::XGlobalHeader;
    let malformed = |error: std::io::Error| PackError::Malformed(error.to_string());
    for field in entry.pax_extensions().map_err(malformed)?.into_iter().flatten() {
        let field = field.map_err(malformed)?;
        let key = field.key_bytes();
        if is_global && !matches!(key, b"comment" | b"mtime" | b"charset" | b"hdrcharset") {
            return Err(PackError::Unsupported("a global extended header"));
        }
        if key.starts_with(b"GNU.sparse") {
            let kind = "a sparse file";
            return Err(PackError::Kind { name: name.to_owned(), kind });
        }
    }
    Ok(())
}

fn kind_of(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "a hard link",
        EntryType::Symlink => "a symlink",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a FIFO",
        EntryType::GNUSparse => "a sparse file",
        _ => "an entry of an unknown type",
    }
}
