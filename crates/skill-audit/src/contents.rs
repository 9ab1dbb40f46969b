//! The entries of an archive, as far as they can be listed without unpacking it.

use std::io::Read;

use crate::excerpt::slice;

/// What an archive contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Only images, fonts, audio, documents and data.
    Assets,
    /// Code, or files of an unknown type.
    Code,
    /// It is encrypted, or cannot be listed.
    Unknown,
}

/// The maximum number of entries, and of bytes that are decompressed to list them.
const MAX_ENTRIES: usize = 5_000;
const MAX_BYTES: u64 = 16 << 20;

/// Extensions of files that run nothing.
const ASSETS: &str = "png jpg jpeg gif webp avif bmp ico tif tiff svgz ttf otf woff woff2 eot ttc mp3 wav ogg flac m4a mp4 webm mov \
    txt md csv tsv json jsonl yaml yml toml xml rst pdf docx xlsx pptx odt ods odp parquet npy bib tex css geojson fasta fastq \
    srt vtt po mo lock license readme notice copying authors changelog gitkeep";

/// Lists an archive.
pub(crate) fn contents(bytes: &[u8]) -> Contents {
    let names = if bytes.starts_with(b"PK") {
        zip_names(bytes)
    } else if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let read = flate2::read::GzDecoder::new(bytes).take(MAX_BYTES).read_to_end(&mut plain);
        read.ok().and_then(|_| tar_names(&plain))
    } else {
        tar_names(bytes)
    };
    match names {
        Some(names) if names.is_empty() => Contents::Unknown,
        Some(names) if names.iter().all(|name| is_asset(name)) => Contents::Assets,
        Some(_) => Contents::Code,
        None => Contents::Unknown,
    }
}

fn is_asset(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let end = base.rsplit('.').next().unwrap_or(&base);
    base.is_empty() || ASSETS.split_whitespace().any(|known| known == end)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

/// Reads the central directory of a ZIP file; `None` if an entry is encrypted.
fn zip_names(bytes: &[u8]) -> Option<Vec<String>> {
    const END: usize = 22;
    let from = bytes.len().checked_sub(END)?;
    let end = (from.saturating_sub(1 << 16)..=from)
        .rev()
        .find(|at| bytes[*at..].starts_with(b"PK\x05\x06"))?;
    let (count, mut at) = (number(bytes, end + 10, 2)?, number(bytes, end + 16, 4)?);
    let mut names = Vec::new();
    for _ in 0..count.min(MAX_ENTRIES) {
        if !bytes.get(at..)?.starts_with(b"PK\x01\x02") || number(bytes, at + 8, 2)? & 1 == 1 {
            return None;
        }
        let (name, extra, comment) =
            (number(bytes, at + 28, 2)?, number(bytes, at + 30, 2)?, number(bytes, at + 32, 2)?);
        names.push(String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name)?).into_owned());
        at += 46 + name + extra + comment;
    }
    (count <= MAX_ENTRIES).then_some(names)
}

fn tar_names(bytes: &[u8]) -> Option<Vec<String>> {
    const BLOCK: usize = 512;
    let (mut names, mut at) = (Vec::new(), 0);
    while let Some(header) = bytes.get(at..at + BLOCK).filter(|header| header[0] != 0) {
        if header.get(257..262)? != b"ustar" || names.len() >= MAX_ENTRIES {
            return None;
        }
        let name = header.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(slice_of(name, 100)).into_owned();
        let digits = String::from_utf8_lossy(header.get(124..136)?).into_owned();
        let size = usize::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()?;
        if matches!(header[156], b'0' | 0) {
            names.push(name);
        } else if header[156] == b'x'
            || header[156] == b'g'
            || header[156] == b'L'
            || header[156] == b'5'
        {
            // Extended headers and folders.
        } else {
            return None;
        }
        at = at.checked_add(BLOCK + size.div_ceil(BLOCK) * BLOCK)?;
    }
    Some(names)
}

fn slice_of(bytes: &[u8], max: usize) -> &[u8] {
    bytes.get(..max).unwrap_or(bytes)
}

/// Returns a word for the type of a file that contains no code.
pub(crate) fn asset_word(path: &str, bytes: &[u8]) -> &'static str {
    let end = path.rsplit('.').next().unwrap_or(path).to_lowercase();
    let start = String::from_utf8_lossy(slice_of(bytes, 16)).into_owned();
    match slice(&end, ..) {
        "ttf" | "otf" | "ttc" | "woff" | "woff2" | "eot" => "font",
        "mp3" | "wav" | "ogg" | "flac" | "m4a" | "aac" | "opus" => "audio file",
        "mp4" | "webm" | "mov" | "avi" | "mkv" => "video",
        _ if start.starts_with("OTTO")
            || start.starts_with("wOF")
            || bytes.starts_with(&[0, 1, 0, 0]) =>
        {
            "font"
        }
        _ => "image",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zip(names: &[&str], flags: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend([b"PK\x01\x02".as_slice(), &[0; 4], &[flags, 0], &[0; 18]].concat());
            bytes.extend([u8::try_from(name.len()).unwrap(), 0]);
            bytes.extend([0; 16]);
            bytes.extend(name.as_bytes());
        }
        bytes.extend(b"PK\x05\x06\0\0\0\0\0\0");
        bytes.extend([u8::try_from(names.len()).unwrap(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn archives_are_listed() {
        assert_eq!(contents(&zip(&["a/", "a/x.png", "b.TTF"], 0)), Contents::Assets);
        assert_eq!(contents(&zip(&["x.png", "run.sh"], 0)), Contents::Code);
        assert_eq!(contents(&zip(&["x.png"], 1)), Contents::Unknown);
        assert_eq!(contents(b"PK\x03\x04 broken"), Contents::Unknown);
        for end in 0..60 {
            contents(&zip(&["x.png", "run.sh"], 0)[..end]);
        }
        let mut tar = vec![0; 1536];
        tar[..5].copy_from_slice(b"a.png");
        tar[124..135].copy_from_slice(b"00000000012");
        tar[156] = b'0';
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(contents(&tar), Contents::Assets);
    }
}
