//! Writes a package as a ZIP file: the same files give the same bytes, everywhere and at any time.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use crate::{PackError, Package, read};

/// The date of every entry: 1 January 1980, the earliest in a ZIP file.
const DATE: u16 = (1 << 5) | 1;
/// ZIP version 2.0.
const VERSION_NEEDED: u16 = 20;
/// Made on Unix.
const MADE_BY: u16 = (3 << 8) | VERSION_NEEDED;
/// The flag for UTF-8 names.
const UTF8: u16 = 1 << 11;

struct Entry {
    name: String,
    method: u16,
    crc: u32,
    packed: u32,
    size: u32,
    mode: u32,
    offset: u32,
}

/// Writes a package as a ZIP file, with one folder at the root, sorted entries, and fixed times and modes. Fails if
/// [`read`] would not return the same package.
pub fn zip(package: &Package) -> Result<Vec<u8>, PackError> {
    let bytes = encode(package)?;
    match read(&bytes) {
        Ok(reread) if reread == *package => Ok(bytes),
        Ok(_) => {
            let message = "its content differs when read back".to_owned();
            Err(PackError::NotInstallable(Box::new(PackError::Malformed(message))))
        }
        Err(error) => Err(PackError::NotInstallable(Box::new(error))),
    }
}

fn encode(package: &Package) -> Result<Vec<u8>, PackError> {
    let mut bytes = Vec::new();
    let mut entries = Vec::new();
    let folder = format!("{}/", package.name);
    add(&mut bytes, &mut entries, folder.clone(), 0o040_755, &[])?;
    for file in &package.files {
        let mode = if file.executable { 0o100_755 } else { 0o100_644 };
        add(&mut bytes, &mut entries, format!("{folder}{}", file.path), mode, &file.bytes)?;
    }
    let start = length(bytes.len())?;
    for entry in &entries {
        bytes.extend(b"PK\x01\x02");
        put16(&mut bytes, &[MADE_BY, VERSION_NEEDED, UTF8, entry.method, 0, DATE]);
        put32(&mut bytes, &[entry.crc, entry.packed, entry.size]);
        put16(&mut bytes, &[short(entry.name.len())?, 0, 0, 0, 0]);
        // The DOS attribute of a folder.
        let dos = if entry.name.ends_with('/') { 0x10 } else { 0 };
        put32(&mut bytes, &[(entry.mode << 16) | dos, entry.offset]);
        bytes.extend(entry.name.as_bytes());
    }
    let size = length(bytes.len())? - start;
    let count = short(entries.len())?;
    bytes.extend(b"PK\x05\x06");
    put16(&mut bytes, &[0, 0, count, count]);
    put32(&mut bytes, &[size, start]);
    put16(&mut bytes, &[0]);
    Ok(bytes)
}

fn add(
    bytes: &mut Vec<u8>,
    entries: &mut Vec<Entry>,
    name: String,
    mode: u32,
    content: &[u8],
) -> Result<(), PackError> {
    let deflated = deflate(content);
    let (method, data) = match &deflated {
        Some(data) if data.len() < content.len() => (8, data.as_slice()),
        _ => (0, content),
    };
    let entry = Entry {
        method,
        crc: crc32fast::hash(content),
        packed: length(data.len())?,
        size: length(content.len())?,
        offset: length(bytes.len())?,
        name,
        mode,
    };
    bytes.extend(b"PK\x03\x04");
    put16(bytes, &[VERSION_NEEDED, UTF8, entry.method, 0, DATE]);
    put32(bytes, &[entry.crc, entry.packed, entry.size]);
    put16(bytes, &[short(entry.name.len())?, 0]);
    bytes.extend(entry.name.as_bytes());
    bytes.extend(data);
    entries.push(entry);
    Ok(())
}

fn deflate(content: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).ok()?;
    encoder.finish().ok()
}

fn put16(bytes: &mut Vec<u8>, values: &[u16]) {
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn put32(bytes: &mut Vec<u8>, values: &[u32]) {
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn length(length: usize) -> Result<u32, PackError> {
    let (size, limit) = (length as u64, u64::from(u32::MAX) - 1);
    u32::try_from(length).map_err(|_| PackError::Size {
        what: "the archive".to_owned(),
        size,
        limit,
    })
}

fn short(length: usize) -> Result<u16, PackError> {
    let (found, limit) = (length as u64, u64::from(u16::MAX));
    u16::try_from(length).map_err(|_| PackError::Limit {
        what: "bytes in a file name",
        found,
        limit,
    })
}
