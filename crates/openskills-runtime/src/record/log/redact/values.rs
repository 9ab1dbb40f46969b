//! Known secrets, found verbatim and in the encodings that programs print.

use aho_corasick::AhoCorasick;

use super::packed::{base64, dump, hex};
use super::stream::Stream;
use super::{REDACTED, Ranges};

/// A value of at least this many bytes is redacted anywhere.
const MIN_ANYWHERE: usize = 8;
/// A value of at least this many bytes is redacted as a whole word. Shorter ones would match too much else.
const MIN_WORD: usize = 4;
/// Longer values are not searched for in base64 and hex: they are files, and each encoding doubles the cost.
const MAX_ENCODED: usize = 8 << 10;
/// How many bytes a character of a value may take where a text was truncated, including color codes around it.
const MAX_SPACED_WIDTH: usize = 128;
/// Upper limit of that for a whole value.
const MAX_SPACED: usize = 64 << 10;
/// How many bytes a byte of a value may take when escaped, as in `\\\\u00e4`, with separators.
const MAX_ESCAPED_WIDTH: usize = 8;
/// Common settings that are not secrets, whatever their name.
const PLAIN: [&str; 12] = [
    "true", "false", "null", "none", "auto", "info", "debug", "warn", "error", "test", "prod",
    "local",
];

/// Values to redact.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    plain: Patterns,
    hex: Patterns,
    base64: Patterns,
    /// Values whose start also counts as a secret where a text was truncated.
    long: Vec<String>,
}

/// The patterns to search for in one encoding of a text.
#[derive(Debug, Clone, Default)]
struct Patterns {
    known: Option<AhoCorasick>,
    all: Vec<Vec<u8>>,
}

impl Patterns {
    fn new(mut all: Vec<Vec<u8>>, is_folded: IsFolded) -> Self {
        all.sort_unstable();
        all.dedup();
        if all.is_empty() {
            return Self::default();
        }
        let known =
            AhoCorasick::builder().ascii_case_insensitive(is_folded == IsFolded::Yes).build(&all);
        // Building fails only for a huge number of patterns. Ignoring that would mean finding nothing.
        Self {
            known: Some(
                known.expect("the values of an environment are few enough for an automaton"),
            ),
            all,
        }
    }

    /// Finds every occurrence, including overlapping ones: where two secrets share characters, both are redacted.
    fn find(&self, stream: &Stream, ranges: &mut Ranges) {
        let Some(known) = &self.known else { return };
        let bytes = &stream.bytes;
        let mut here = Ranges::new();
        for found in known.find_overlapping_iter(bytes) {
            let (start, end) = (found.start(), found.end());
            let pattern = &self.all[found.pattern().as_usize()];
            if pattern.len() < MIN_ANYWHERE {
                // A color code or an escape is not part of a word.
                let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
                let is_inside = is_letter(end) && stream.touches(end)
                    || start > 0 && is_letter(start - 1) && stream.touches(start);
                if is_inside || bytes[start..end] != **pattern {
                    continue;
                }
            }
            let (start, end) = stream.source_range(start, end);
            match here.last_mut() {
                // Matches are ordered by their end; one that covers earlier ones replaces them.
                Some(last) if start <= last.1 => *last = (last.0.min(start), end.max(last.1)),
                _ => here.push((start, end)),
            }
        }
        ranges.append(&mut here);
    }
}

/// Whether case is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IsFolded {
    Yes,
    No,
}

impl Values {
    pub(super) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut plain, mut digits, mut letters) = (Vec::new(), Vec::new(), Vec::new());
        let mut long = Vec::new();
        for value in values.into_iter().map(str::trim) {
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= MIN_ANYWHERE);
            let lines = lines.filter(|_| value.contains('\n'));
            for part in lines.chain([value]) {
                add(&mut plain, part);
            }
            if value.len() < MIN_ANYWHERE || REDACTED.contains(value) {
                continue;
            }
            long.push(value.to_owned());
            if value.len() <= MAX_ENCODED {
                digits.push(in_hex(value.as_bytes()));
                letters.extend(in_base64(value.as_bytes()));
            }
        }
        Self {
            // Programs that resolve a host name write it in lower case.
            plain: Patterns::new(plain, IsFolded::Yes),
            hex: Patterns::new(digits, IsFolded::No),
            base64: Patterns::new(letters, IsFolded::No),
            long,
        }
    }

    /// Finds the values verbatim, escaped or encoded.
    pub(super) fn find(&self, text: &str, ranges: &mut Ranges) {
        if self.plain.known.is_none() {
            return;
        }
        Stream::new(text).readings(|stream| {
            self.plain.find(stream, ranges);
            if self.hex.known.is_some() {
                self.hex.find(&hex(stream), ranges);
                self.hex.find(&dump(stream), ranges);
                self.base64.find(&base64(stream), ranges);
            }
        });
    }

    /// Finds the start of a value at the end of a truncated text.
    pub(super) fn find_truncated(&self, text: &str, ranges: &mut Ranges) {
        let bytes = text.as_bytes();
        for value in &self.long {
            let longest = value.len().min(bytes.len());
            let is_end = |length: &usize| {
                bytes[bytes.len() - length..].eq_ignore_ascii_case(&value.as_bytes()[..*length])
            };
            let length = (MIN_ANYWHERE..=longest).rev().find(is_end);
            ranges.extend(
                length.map(|length| (text.floor_char_boundary(text.len() - length), text.len())),
            );
        }
    }

    /// Returns how many bytes before the point of truncation may be part of a value.
    pub(super) fn reach(&self) -> usize {
        let reach = |value: &String| match value.len() {
            length @ ..=MAX_ENCODED => length * MAX_ESCAPED_WIDTH,
            length => length + MAX_ENCODED * MAX_ESCAPED_WIDTH,
        };
        // There may be color codes between all characters, so remove too much rather than too little.
        let spaced = |value: &String| (value.len() * MAX_SPACED_WIDTH).min(MAX_SPACED);
        self.long.iter().map(|value| reach(value).max(spaced(value))).max().unwrap_or(0)
    }
}

/// Adds a value in every form that the readings of a text can have.
fn add(patterns: &mut Vec<Vec<u8>>, value: &str) {
    let mut push = |bytes: &[u8]| {
        let is_plain = |plain: &str| bytes.eq_ignore_ascii_case(plain.as_bytes());
        if bytes.len() >= MIN_WORD && !PLAIN.iter().any(|plain| is_plain(plain)) {
            patterns.push(bytes.to_vec());
        }
    };
    if value.len() < MIN_WORD || REDACTED.contains(value) {
        return;
    }
    // A shell writes a quote inside quotes like this.
    for form in [value, &value.replace('\'', "'\\''"), &value.replace(' ', "+")] {
        Stream::new(form).readings(|stream| push(&stream.bytes));
    }
}

fn in_hex(bytes: &[u8]) -> Vec<u8> {
    let digit = |number: u8| b"0123456789abcdef"[usize::from(number)];
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the base64 encodings for each alignment in a longer text, without the characters that depend on neighboring
/// bytes.
fn in_base64(value: &[u8]) -> [Vec<u8>; 3] {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    [0, 1, 2].map(|before| {
        let padded = [vec![0; before], value.to_vec()].concat();
        let mut encoded = Vec::new();
        for group in padded.chunks(3) {
            let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for part in 0..=group.len() {
                let index = (bits >> (18 - 6 * part)) & 63;
                encoded.push(LETTERS[index as usize]);
            }
        }
        // The first characters contain bits of what precedes, and the last one may contain bits of what follows.
        let from = [0, 2, 3][before];
        let to = encoded.len() - usize::from(padded.len() % 3 != 0);
        encoded[from..to].to_vec()
    })
}
