//! Detects the format of an archive and reads it.

use crate::{PackError, Package, tarball, zip_read};

/// The maximum size of an archive in bytes.
pub const MAX_ARCHIVE: u64 = 64 << 20;

/// An archive format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// ZIP.
    Zip,
    /// A tarball, compressed with gzip.
    TarGz,
}

/// Detects the format of an archive from its first bytes.
pub fn format_of(bytes: &[u8]) -> Option<Format> {
    match bytes {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Format::Zip),
        [0x1f, 0x8b, ..] => Some(Format::TarGz),
        _ => None,
    }
}

/// Reads an archive that contains one skill.
pub fn read(bytes: &[u8]) -> Result<Package, PackError> {
    let size = bytes.len() as u64;
    if size > MAX_ARCHIVE {
        let what = "the archive".to_owned();
        return Err(PackError::Size { what, size, limit: MAX_ARCHIVE });
    }
    match format_of(bytes) {
        Some(Format::Zip) => zip_read::read(bytes),
        Some(Format::TarGz) => tarball::read(bytes),
        None => Err(PackError::NotAnArchive),
    }
}
