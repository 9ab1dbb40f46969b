//! Secrets that are known: found as they are, and in the encodings that programs print them in.

use aho_corasick::AhoCorasick;

use super::{REDACTED, Ranges};

/// A value of so many bytes or more is a secret wherever it stands.
const MIN_ANYWHERE: usize = 8;
/// One of so many is a secret where it is a word of its own. Shorter ones would take much else with them.
const MIN_WORD: usize = 4;
/// Lines of a longer value that are secrets by themselves.
const MIN_LINE: usize = 16;
/// Of a longer value only the plain forms are looked for: it is a file, and every other form costs as much again.
const MAX_ENCODED: usize = 8 << 10;
/// Settings that are no secrets, whatever they are called.
const PLAIN: [&str; 12] = [
    "true", "false", "null", "none", "auto", "info", "debug", "warn", "error", "test", "prod",
    "local",
];

/// Values that are taken out of texts.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    known: Option<AhoCorasick>,
    /// For each pattern whether it counts only as a word of its own.
    is_word: Vec<bool>,
}

impl Values {
    pub(super) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns: Vec<(String, bool)> = Vec::new();
        for value in values {
            add(&mut patterns, value.trim());
        }
        patterns.sort_unstable();
        patterns.dedup();
        if patterns.is_empty() {
            return Self::default();
        }
        let is_word = patterns.iter().map(|(_, is_word)| *is_word).collect();
        // Only a very large number of patterns cannot be built; then nothing would be found, so that is not passed over.
        let known = AhoCorasick::new(patterns.iter().map(|(pattern, _)| pattern));
        Self { known: Some(known.expect("an environment is small enough to search for")), is_word }
    }

    /// Finds every occurrence, overlapping ones too: where two secrets share letters, both go.
    pub(super) fn find(&self, text: &str, ranges: &mut Ranges) {
        let Some(known) = &self.known else { return };
        let bytes = text.as_bytes();
        for found in known.find_overlapping_iter(text) {
            let (start, end) = (found.start(), found.end());
            let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
            let is_inside = is_letter(end) || start.checked_sub(1).is_some_and(is_letter);
            if self.is_word[found.pattern().as_usize()] && is_inside {
                continue;
            }
            match ranges.last_mut() {
                // Matches come by their ends; one that reaches over others replaces them.
                Some(last) if start <= last.1 => *last = (last.0.min(start), end),
                _ => ranges.push((start, end)),
            }
        }
    }
}

fn add(patterns: &mut Vec<(String, bool)>, value: &str) {
    if value.len() < MIN_WORD || REDACTED.contains(value) {
        return;
    }
    if value.len() < MIN_ANYWHERE {
        if !PLAIN.contains(&value.to_ascii_lowercase().as_str()) {
            patterns.push((value.to_owned(), true));
        }
        return;
    }
    let mut forms = vec![value.to_owned()];
    let escaped = in_json(value);
    forms.extend([in_json(&escaped), escaped]);
    forms.push(value.replace('\'', "'\\''"));
    if value.len() <= MAX_ENCODED {
        forms.extend(in_address(value));
        forms.extend(in_base64(value.as_bytes()));
        forms.push(hex(value.as_bytes(), b"0123456789abcdef"));
        forms.push(hex(value.as_bytes(), b"0123456789ABCDEF"));
    }
    if value.contains('\n') {
        let lines = value.lines().map(str::trim).filter(|line| line.len() >= MIN_LINE);
        forms.extend(lines.map(str::to_owned));
    }
    patterns.extend(forms.into_iter().map(|form| (form, false)));
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a text is JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

/// Percent-encoded, with large and small digits, and as forms are sent.
fn in_address(value: &str) -> [String; 3] {
    let encode = |digits: &[u8; 16]| {
        let mut encoded = String::new();
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                encoded.push(byte.into());
            } else {
                encoded.push('%');
                encoded.push_str(&hex(&[byte], digits));
            }
        }
        encoded
    };
    let (large, small) = (encode(b"0123456789ABCDEF"), encode(b"0123456789abcdef"));
    [large.replace("%20", "+"), large, small]
}

fn hex(bytes: &[u8], digits: &[u8; 16]) -> String {
    let digit = |number: u8| char::from(digits[usize::from(number)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// In both alphabets, and wherever in a longer text it begins: what the neighbours decide is left out.
fn in_base64(value: &[u8]) -> Vec<String> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut all = Vec::new();
    for alphabet in [STANDARD, FOR_URLS] {
        for before in 0..3 {
            let padded = [vec![0; before], value.to_vec()].concat();
            let mut encoded = String::new();
            for group in padded.chunks(3) {
                let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
                let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
                for part in 0..=group.len() {
                    let index = (bits >> (18 - 6 * part)) & 63;
                    encoded.push(char::from(alphabet[index as usize]));
                }
            }
            // The first letters hold bits of what stands before, the last one may hold bits of what follows.
            let from = [0, 2, 3][before];
            let to = encoded.len() - usize::from(padded.len() % 3 != 0);
            all.push(encoded[from..to].to_owned());
        }
    }
    all
}
