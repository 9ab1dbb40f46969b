//! ZIP files, read as strictly as they can be: the directory at the end is what counts, and everything else must agree with it.

use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::tree::{FileContent, MAX_BYTES, MAX_FILE, MAX_FILES, MAX_RATIO, SMALL, Tree};
use crate::{Entry, PackError, Package};

const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
/// The sizes of the fixed parts of each.
const LOCAL_SIZE: usize = 30;
const CENTRAL_SIZE: usize = 46;
const END_SIZE: usize = 22;
/// The longest comment at the end.
const MAX_COMMENT: usize = 0xffff;
/// The field that gives another name in another alphabet.
const UNICODE_PATH: u16 = 0x7075;

/// Bytes that are read by place. What is not there is an error.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn slice(&self, at: usize, length: usize) -> Result<&'a [u8], PackError> {
        let end = at.checked_add(length);
        end.and_then(|end| self.0.get(at..end)).ok_or_else(|| malformed("it ends too early"))
    }

    fn u16(&self, at: usize) -> Result<u16, PackError> {
        let bytes = self.slice(at, 2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&self, at: usize) -> Result<u32, PackError> {
        let bytes = self.slice(at, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn size(&self, at: usize) -> Result<usize, PackError> {
        match self.u32(at)? {
            u32::MAX => Err(PackError::Unsupported("the format for more than 4 GiB")),
            size => Ok(size as usize),
        }
    }
}

fn malformed(why: impl Into<String>) -> PackError {
    PackError::Malformed(why.into())
}

/// An entry of the directory.
struct Listed {
    name: String,
    flags: u16,
    method: u16,
    crc: u32,
    packed: usize,
    size: usize,
    at: usize,
    /// The mode. Who made it may not mean it as one, but some readers take it for that.
    mode: u32,
    made_by_unix: bool,
}

/// Reads a ZIP file of one skill.
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

/// Hands on every entry of a ZIP file, in the order of its directory, bounded in number and size. Names are not looked at.
pub fn zip_entries(
    bytes: &[u8],
    mut take: impl FnMut(Entry<'_>) -> Result<(), PackError>,
) -> Result<(), PackError> {
    let whole = bytes.len() as u64;
    let bytes = Bytes(bytes);
    let (listed, start) = directory(&bytes)?;
    // Many small bombs are one.
    let size = listed.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size as u64));
    if size > 8 * SMALL && size > whole.saturating_mul(MAX_RATIO) {
        return Err(PackError::Bomb { name: "the archive".to_owned(), packed: whole, size });
    }
    let mut room = MAX_BYTES;
    let mut ranges = Vec::new();
    for entry in &listed {
        let (data, end) = data(&bytes, entry)?;
        let said = [entry.crc as usize, entry.packed, entry.size];
        ranges.push((entry.at, end, entry.flags & 8 != 0, said));
        let name = entry.name.as_str();
        take(match kind(entry)? {
            Kind::Folder if data.is_empty() => Entry::Folder(name),
            Kind::Folder => return Err(malformed(format!("the folder `{name}` holds bytes"))),
            Kind::Other(kind) => Entry::Other { name, kind },
            Kind::File { executable } => {
                let bytes = unpacked(entry, data, room.min(MAX_FILE))?;
                room -= bytes.len() as u64;
                Entry::File { name, executable, bytes }
            }
        })?;
    }
    ranges.sort_unstable();
    let mut expected = 0;
    for (from, end, is_later, said) in ranges {
        if from != expected {
            return Err(malformed("two entries share bytes, or some belong to none"));
        }
        expected = end + if is_later { descriptor(&bytes, end, said)? } else { 0 };
    }
    if expected != start {
        return Err(malformed("there are bytes that belong to no entry"));
    }
    Ok(())
}

/// Returns how long what stands after the bytes of an entry is: its sizes once more, with or without a mark. They must be those of the directory.
fn descriptor(bytes: &Bytes<'_>, at: usize, said: [usize; 3]) -> Result<usize, PackError> {
    let mark = bytes.slice(at, 4).is_ok_and(|found| found == *b"PK\x07\x08");
    let start = at + if mark { 4 } else { 0 };
    let found = [bytes.u32(start)?, bytes.u32(start + 4)?, bytes.u32(start + 8)?];
    if found.map(|one| one as usize) == said {
        return Ok(start + 12 - at);
    }
    Err(malformed("an entry says one size before its bytes, and another after them"))
}

/// Reads the directory, which stands at the very end, and says where it begins.
fn directory(bytes: &Bytes<'_>) -> Result<(Vec<Listed>, usize), PackError> {
    let length = bytes.0.len();
    let starts = length.saturating_sub(END_SIZE + MAX_COMMENT)..=length.saturating_sub(END_SIZE);
    let is_end = |at: &usize| {
        bytes.slice(*at, 4).is_ok_and(|found| found == END)
            && bytes
                .u16(at + 20)
                .is_ok_and(|comment| at + END_SIZE + usize::from(comment) == length)
    };
    let mut ends = starts.filter(is_end);
    let at = ends.next().ok_or_else(|| malformed("its directory is not at its end"))?;
    if ends.next().is_some() {
        return Err(malformed("it has two directories"));
    }
    let (disk, other, here, count) =
        (bytes.u16(at + 4)?, bytes.u16(at + 6)?, bytes.u16(at + 8)?, bytes.u16(at + 10)?);
    if disk != 0 || other != 0 || here != count {
        return Err(PackError::Unsupported("several parts"));
    }
    if usize::from(count) > MAX_FILES {
        let (found, limit) = (u64::from(count), MAX_FILES as u64);
        return Err(PackError::Limit { what: "entries", found, limit });
    }
    let (size, start) = (bytes.size(at + 12)?, bytes.size(at + 16)?);
    if start.checked_add(size) != Some(at) {
        return Err(malformed("its directory is not where it says"));
    }
    let mut place = start;
    let mut listed = Vec::new();
    for _ in 0..count {
        if bytes.slice(place, 4)? != CENTRAL {
            return Err(malformed("its directory is broken"));
        }
        let lengths = [bytes.u16(place + 28)?, bytes.u16(place + 30)?, bytes.u16(place + 32)?];
        let [name, extra, comment] = lengths.map(usize::from);
        let text = bytes.slice(place + CENTRAL_SIZE, name)?;
        check_extra(bytes.slice(place + CENTRAL_SIZE + name, extra)?, text)?;
        // Unix, and what macOS calls itself.
        let made_by_unix = matches!(bytes.u16(place + 4)? >> 8, 3 | 19);
        let attributes = bytes.u32(place + 38)?;
        listed.push(Listed {
            name: named(text)?,
            flags: bytes.u16(place + 8)?,
            method: bytes.u16(place + 10)?,
            crc: bytes.u32(place + 16)?,
            packed: bytes.size(place + 20)?,
            size: bytes.size(place + 24)?,
            at: bytes.size(place + 42)?,
            mode: attributes >> 16,
            made_by_unix,
        });
        place += CENTRAL_SIZE + name + extra + comment;
    }
    if place != at {
        return Err(malformed("its directory is not as long as it says"));
    }
    Ok((listed, start))
}

fn named(bytes: &[u8]) -> Result<String, PackError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| PackError::Name {
        name: String::from_utf8_lossy(bytes).into_owned(),
        why: "it is not UTF-8".to_owned(),
    })
}

/// Refuses another name beside the name.
fn check_extra(extra: &[u8], name: &[u8]) -> Result<(), PackError> {
    let extra = Bytes(extra);
    let mut at = 0;
    while at + 4 <= extra.0.len() {
        let (kind, length) = (extra.u16(at)?, usize::from(extra.u16(at + 2)?));
        let field = extra.slice(at + 4, length)?;
        if kind == UNICODE_PATH && field.get(5..) != Some(name) {
            return Err(malformed(format!("`{}` has two names", String::from_utf8_lossy(name))));
        }
        at += 4 + length;
    }
    Ok(())
}

/// Returns the bytes of an entry as they are packed, and where they end. The header before them must say what the directory says.
fn data<'a>(bytes: &Bytes<'a>, entry: &Listed) -> Result<(&'a [u8], usize), PackError> {
    let Listed { name, at, .. } = entry;
    if bytes.slice(*at, 4)? != LOCAL {
        return Err(malformed(format!("`{name}` is not where the directory says")));
    }
    let (name_length, extra) = (usize::from(bytes.u16(at + 26)?), usize::from(bytes.u16(at + 28)?));
    let text = bytes.slice(at + LOCAL_SIZE, name_length)?;
    check_extra(bytes.slice(at + LOCAL_SIZE + name_length, extra)?, text)?;
    let is_later = entry.flags & 8 != 0;
    let agrees = |found: u32, said: usize| found as usize == said || (is_later && found == 0);
    let is_same = text == name.as_bytes()
        && bytes.u16(at + 6)? == entry.flags
        && bytes.u16(at + 8)? == entry.method
        && agrees(bytes.u32(at + 14)?, entry.crc as usize)
        && agrees(bytes.u32(at + 18)?, entry.packed)
        && agrees(bytes.u32(at + 22)?, entry.size);
    if !is_same {
        return Err(malformed(format!("`{name}` is called, or packed, otherwise where it stands")));
    }
    let start = at + LOCAL_SIZE + name_length + extra;
    Ok((bytes.slice(start, entry.packed)?, start + entry.packed))
}

enum Kind {
    Folder,
    Other(&'static str),
    File { executable: bool },
}

fn kind(entry: &Listed) -> Result<Kind, PackError> {
    let name = entry.name.clone();
    let is_folder = name.ends_with('/');
    let format = entry.mode & 0o170_000;
    match format {
        0 => {}
        0o100_000 if !is_folder => {}
        0o040_000 if is_folder => {}
        0o120_000 => return Ok(Kind::Other("a link")),
        0o020_000 | 0o060_000 => return Ok(Kind::Other("a device")),
        0o010_000 => return Ok(Kind::Other("a FIFO")),
        0o140_000 => return Ok(Kind::Other("a socket")),
        _ if entry.made_by_unix => {
            return Err(malformed(format!("`{name}` is not what its name says")));
        }
        _ => {}
    }
    if is_folder {
        return Ok(Kind::Folder);
    }
    Ok(Kind::File { executable: entry.made_by_unix && entry.mode & 0o100 != 0 })
}

/// Unpacks an entry: exactly as many bytes as it says, with the checksum that it says.
fn unpacked(entry: &Listed, data: &[u8], room: u64) -> Result<Vec<u8>, PackError> {
    let Listed { name, size, .. } = entry;
    // Who reads from the start cannot know where such an entry ends.
    if entry.method == 0 && entry.flags & 8 != 0 && entry.size > 0 {
        return Err(malformed(format!("`{name}` is not packed, and its size comes after it")));
    }
    if entry.flags & 1 != 0 || entry.flags & 0x2040 != 0 {
        return Err(PackError::Unsupported("encryption"));
    }
    let (packed, size) = (data.len() as u64, *size as u64);
    if size > room {
        return Err(PackError::Limit { what: "bytes of all files", found: size, limit: room });
    }
    if size > SMALL && size > packed.saturating_mul(MAX_RATIO) {
        return Err(PackError::Bomb { name: name.clone(), packed, size });
    }
    let content = match entry.method {
        0 => data.to_vec(),
        8 => {
            let mut content = Vec::new();
            // Whoever says less than there is is found out by one byte.
            let mut decoder = DeflateDecoder::new(data).take(size + 1);
            decoder
                .read_to_end(&mut content)
                .map_err(|error| malformed(format!("`{name}`: {error}")))?;
            if decoder.into_inner().total_in() != packed {
                return Err(malformed(format!("`{name}` has bytes after its end")));
            }
            content
        }
        _ => return Err(PackError::Unsupported("a compression other than deflate")),
    };
    if content.len() as u64 != size {
        return Err(malformed(format!("`{name}` is not as long as it says")));
    }
    if crc32fast::hash(&content) != entry.crc {
        return Err(malformed(format!("the checksum of `{name}` is wrong")));
    }
    Ok(content)
}
