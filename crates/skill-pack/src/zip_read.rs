//! Reads ZIP files as strictly as possible: the central directory counts, and everything else must agree with it.

use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::tree::{FileContent, MAX_BYTES, MAX_FILE, MAX_FILES, MAX_RATIO, SMALL, Tree};
use crate::{Entry, PackError, Package};

const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
/// The sizes of their fixed parts.
const LOCAL_SIZE: usize = 30;
const CENTRAL_SIZE: usize = 46;
const END_SIZE: usize = 22;
/// The maximum length of the comment at the end.
const MAX_COMMENT: usize = 0xffff;
/// The extra field with a second, Unicode name.
const UNICODE_PATH: u16 = 0x7075;

/// Bytes read by offset. Reading past the end is an error.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn slice(&self, offset: usize, length: usize) -> Result<&'a [u8], PackError> {
        let end = offset.checked_add(length);
        end.and_then(|end| self.0.get(offset..end)).ok_or_else(|| malformed("unexpected end"))
    }

    fn u16(&self, offset: usize) -> Result<u16, PackError> {
        let bytes = self.slice(offset, 2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&self, offset: usize) -> Result<u32, PackError> {
        let bytes = self.slice(offset, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn size(&self, offset: usize) -> Result<usize, PackError> {
        match self.u32(offset)? {
            u32::MAX => Err(PackError::Unsupported("ZIP64 (for archives over 4 GiB)")),
            size => Ok(size as usize),
        }
    }
}

fn malformed(why: impl Into<String>) -> PackError {
    PackError::Malformed(why.into())
}

/// An entry of the central directory.
struct DirectoryEntry {
    name: String,
    flags: u16,
    method: u16,
    crc: u32,
    packed: usize,
    size: usize,
    offset: usize,
    /// The Unix mode. Other systems may store something else here, but some readers interpret it as a mode anyway.
    mode: u32,
    made_by_unix: bool,
}

/// Reads a ZIP file that contains one skill.
pub(crate) fn read(bytes: &[u8]) -> Result<Package, PackError> {
    let mut tree = Tree::default();
    zip_entries(bytes, |entry| match entry {
        Entry::Folder(name) => tree.folder(name),
        Entry::File { name, executable, bytes } => {
            tree.file(name, FileContent { executable, bytes })
        }
        Entry::Other { name, kind } => Err(PackError::Kind { name: name.to_owned(), kind }),
    })?;
    tree.package()
}

/// Passes every entry of a ZIP file to `take`, in the order of its directory. Number and size are limited; names are
/// not checked.
pub fn zip_entries(
    bytes: &[u8],
    mut take: impl FnMut(Entry<'_>) -> Result<(), PackError>,
) -> Result<(), PackError> {
    let packed = bytes.len() as u64;
    let bytes = Bytes(bytes);
    let (directory, start) = directory(&bytes)?;
    // Many small bombs add up to a large one.
    let size = directory.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size as u64));
    if size > 8 * SMALL && size > packed.saturating_mul(MAX_RATIO) {
        return Err(PackError::Bomb { what: "the archive".to_owned(), packed, size });
    }
    let mut remaining = MAX_BYTES;
    let mut ranges = Vec::new();
    for entry in &directory {
        let (data, end) = data(&bytes, entry)?;
        let declared = [entry.crc as usize, entry.packed, entry.size];
        ranges.push((entry.offset, end, entry.flags & 8 != 0, declared));
        let name = entry.name.as_str();
        take(match kind(entry)? {
            Kind::Folder if data.is_empty() => Entry::Folder(name),
            Kind::Folder => return Err(malformed(format!("the folder `{name}` has content"))),
            Kind::Other(kind) => Entry::Other { name, kind },
            Kind::File { executable } => {
                let bytes = unpack(entry, data, remaining)?;
                remaining -= bytes.len() as u64;
                Entry::File { name, executable, bytes }
            }
        })?;
    }
    ranges.sort_unstable();
    let mut expected = 0;
    for (from, end, has_descriptor, declared) in ranges {
        if from != expected {
            return Err(malformed("entries overlap, or there is data between them"));
        }
        expected = end + if has_descriptor { descriptor_length(&bytes, end, declared)? } else { 0 };
    }
    if expected != start {
        return Err(malformed("data after the last entry"));
    }
    Ok(())
}

/// Returns the length of the data descriptor after an entry: its checksum and sizes, with or without a signature. They
/// must be the same as in the directory.
fn descriptor_length(
    bytes: &Bytes<'_>,
    offset: usize,
    declared: [usize; 3],
) -> Result<usize, PackError> {
    let has_signature = bytes.slice(offset, 4).is_ok_and(|found| found == *b"PK\x07\x08");
    let start = offset + if has_signature { 4 } else { 0 };
    let found = [bytes.u32(start)?, bytes.u32(start + 4)?, bytes.u32(start + 8)?];
    if found.map(|number| number as usize) == declared {
        return Ok(start + 12 - offset);
    }
    Err(malformed("the data descriptor of an entry does not match the central directory"))
}

/// Reads the directory, which must be at the very end, and returns where it begins.
fn directory(bytes: &Bytes<'_>) -> Result<(Vec<DirectoryEntry>, usize), PackError> {
    let length = bytes.0.len();
    let starts = length.saturating_sub(END_SIZE + MAX_COMMENT)..=length.saturating_sub(END_SIZE);
    let is_end = |end: &usize| {
        bytes.slice(*end, 4).is_ok_and(|found| found == END)
            && bytes
                .u16(end + 20)
                .is_ok_and(|comment| end + END_SIZE + usize::from(comment) == length)
    };
    let mut ends = starts.filter(is_end);
    let end = ends.next().ok_or_else(|| malformed("no central directory at the end"))?;
    if ends.next().is_some() {
        return Err(malformed("more than one central directory"));
    }
    let (disk, directory_disk, count_on_disk, count) =
        (bytes.u16(end + 4)?, bytes.u16(end + 6)?, bytes.u16(end + 8)?, bytes.u16(end + 10)?);
    if disk != 0 || directory_disk != 0 || count_on_disk != count {
        return Err(PackError::Unsupported("multiple volumes"));
    }
    if usize::from(count) > MAX_FILES {
        let (found, limit) = (u64::from(count), MAX_FILES as u64);
        return Err(PackError::Limit { what: "entries", found, limit });
    }
    let (size, start) = (bytes.size(end + 12)?, bytes.size(end + 16)?);
    if start.checked_add(size) != Some(end) {
        return Err(malformed("wrong central directory offset"));
    }
    let mut offset = start;
    let mut entries = Vec::new();
    for _ in 0..count {
        if bytes.slice(offset, 4)? != CENTRAL {
            return Err(malformed("malformed central directory"));
        }
        let lengths = [bytes.u16(offset + 28)?, bytes.u16(offset + 30)?, bytes.u16(offset + 32)?];
        let [name, extra, comment] = lengths.map(usize::from);
        let text = bytes.slice(offset + CENTRAL_SIZE, name)?;
        check_extra(bytes.slice(offset + CENTRAL_SIZE + name, extra)?, text)?;
        // 3 is Unix, 19 is macOS.
        let made_by_unix = matches!(bytes.u16(offset + 4)? >> 8, 3 | 19);
        let attributes = bytes.u32(offset + 38)?;
        entries.push(DirectoryEntry {
            name: parse_name(text)?,
            flags: bytes.u16(offset + 8)?,
            method: bytes.u16(offset + 10)?,
            crc: bytes.u32(offset + 16)?,
            packed: bytes.size(offset + 20)?,
            size: bytes.size(offset + 24)?,
            offset: bytes.size(offset + 42)?,
            mode: attributes >> 16,
            made_by_unix,
        });
        offset += CENTRAL_SIZE + name + extra + comment;
    }
    if offset != end {
        return Err(malformed("wrong central directory length"));
    }
    Ok((entries, start))
}

fn parse_name(bytes: &[u8]) -> Result<String, PackError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| PackError::Name {
        name: String::from_utf8_lossy(bytes).into_owned(),
        why: "not valid UTF-8".to_owned(),
    })
}

/// Refuses a Unicode name that differs from the name.
fn check_extra(extra: &[u8], name: &[u8]) -> Result<(), PackError> {
    let extra = Bytes(extra);
    let mut offset = 0;
    while offset + 4 <= extra.0.len() {
        let (kind, length) = (extra.u16(offset)?, usize::from(extra.u16(offset + 2)?));
        let field = extra.slice(offset + 4, length)?;
        if kind == UNICODE_PATH && field.get(5..) != Some(name) {
            return Err(malformed(format!("`{}` has two names", String::from_utf8_lossy(name))));
        }
        offset += 4 + length;
    }
    Ok(())
}

/// Returns the packed bytes of an entry, and where they end. The header before them must agree with the directory.
fn data<'a>(bytes: &Bytes<'a>, entry: &DirectoryEntry) -> Result<(&'a [u8], usize), PackError> {
    let DirectoryEntry { name, offset, .. } = entry;
    if bytes.slice(*offset, 4)? != LOCAL {
        return Err(malformed(format!("`{name}` is not at its offset in the central directory")));
    }
    let (name_length, extra) =
        (usize::from(bytes.u16(offset + 26)?), usize::from(bytes.u16(offset + 28)?));
    let text = bytes.slice(offset + LOCAL_SIZE, name_length)?;
    check_extra(bytes.slice(offset + LOCAL_SIZE + name_length, extra)?, text)?;
    let has_descriptor = entry.flags & 8 != 0;
    let agrees =
        |found: u32, listed: usize| found as usize == listed || (has_descriptor && found == 0);
    let is_same = text == name.as_bytes()
        && bytes.u16(offset + 6)? == entry.flags
        && bytes.u16(offset + 8)? == entry.method
        && agrees(bytes.u32(offset + 14)?, entry.crc as usize)
        && agrees(bytes.u32(offset + 18)?, entry.packed)
        && agrees(bytes.u32(offset + 22)?, entry.size);
    if !is_same {
        return Err(malformed(format!(
            "the local header of `{name}` does not match the central directory"
        )));
    }
    let start = offset + LOCAL_SIZE + name_length + extra;
    Ok((bytes.slice(start, entry.packed)?, start + entry.packed))
}

enum Kind {
    Folder,
    Other(&'static str),
    File { executable: bool },
}

fn kind(entry: &DirectoryEntry) -> Result<Kind, PackError> {
    let name = entry.name.clone();
    let is_folder = name.ends_with('/');
    let format = entry.mode & 0o170_000;
    match format {
        0 => {}
        0o100_000 if !is_folder => {}
        0o040_000 if is_folder => {}
        0o120_000 => return Ok(Kind::Other("a symlink")),
        0o020_000 | 0o060_000 => return Ok(Kind::Other("a device")),
        0o010_000 => return Ok(Kind::Other("a FIFO")),
        0o140_000 => return Ok(Kind::Other("a socket")),
        _ if entry.made_by_unix => {
            return Err(malformed(format!("the mode of `{name}` does not match its name")));
        }
        _ => {}
    }
    if is_folder {
        return Ok(Kind::Folder);
    }
    Ok(Kind::File { executable: entry.made_by_unix && entry.mode & 0o100 != 0 })
}

/// Unpacks an entry of at most `remaining` bytes. Size and checksum must be those in the directory.
fn unpack(entry: &DirectoryEntry, data: &[u8], remaining: u64) -> Result<Vec<u8>, PackError> {
    let DirectoryEntry { name, size, .. } = entry;
    // A reader that starts at the beginning cannot know where such an entry ends.
    if entry.method == 0 && entry.flags & 8 != 0 && entry.size > 0 {
        return Err(malformed(format!(
            "`{name}` is stored uncompressed with its size in a data descriptor"
        )));
    }
    if entry.flags & 1 != 0 || entry.flags & 0x2040 != 0 {
        return Err(PackError::Unsupported("encryption"));
    }
    let (packed, size) = (data.len() as u64, *size as u64);
    if size > MAX_FILE {
        return Err(PackError::Size { what: format!("`{name}`"), size, limit: MAX_FILE });
    }
    if size > remaining {
        let (what, size) = ("the content".to_owned(), MAX_BYTES - remaining + size);
        return Err(PackError::Size { what, size, limit: MAX_BYTES });
    }
    if size > SMALL && size > packed.saturating_mul(MAX_RATIO) {
        return Err(PackError::Bomb { what: format!("`{name}`"), packed, size });
    }
    let content = match entry.method {
        0 => data.to_vec(),
        8 => {
            let mut content = Vec::new();
            // One more byte than declared is enough to detect a wrong size.
            let mut decoder = DeflateDecoder::new(data).take(size + 1);
            decoder
                .read_to_end(&mut content)
                .map_err(|error| malformed(format!("`{name}`: {error}")))?;
            if decoder.into_inner().total_in() != packed {
                return Err(malformed(format!("data after the end of `{name}`")));
            }
            content
        }
        _ => return Err(PackError::Unsupported("a compression method other than deflate")),
    };
    if content.len() as u64 != size {
        return Err(malformed(format!("wrong size for `{name}`")));
    }
    if crc32fast::hash(&content) != entry.crc {
        return Err(malformed(format!("wrong checksum for `{name}`")));
    }
    Ok(content)
}
