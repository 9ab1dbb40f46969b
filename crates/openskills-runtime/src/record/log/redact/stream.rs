//! Decoded text, in which each byte knows the range of the original text that it comes from.
//!
//! Programs write the same value in many ways: `\u00e4`, `%C3%A4`, `&#228;`, with color codes between its characters.
//! Decoding all of them first means that a value has to be searched for only once, and a match says what to redact in
//! the original.

use std::ops::Range;

/// Bytes, and the range of the original text that each comes from.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) bytes: Vec<u8>,
    spans: Vec<(usize, usize)>,
}

impl Stream {
    /// Returns a text without any decoding.
    pub(super) fn new(text: &str) -> Self {
        let span =
            |(at, c): (usize, char)| std::iter::repeat_n((at, at + c.len_utf8()), c.len_utf8());
        Self {
            bytes: text.as_bytes().to_vec(),
            spans: text.char_indices().flat_map(span).collect(),
        }
    }

    /// Returns the range of the original text that some bytes come from. There must be at least one byte.
    pub(super) fn source_range(&self, start: usize, end: usize) -> (usize, usize) {
        (self.spans[start].0, self.spans[end - 1].1)
    }

    /// Returns true if nothing was skipped between a byte and the one before it.
    pub(super) fn touches(&self, at: usize) -> bool {
        // Bytes of one character have the same range.
        at > 0 && (self.spans[at - 1].1 == self.spans[at].0 || self.spans[at - 1] == self.spans[at])
    }

    /// Adds bytes that come from a range of another stream.
    pub(super) fn push(&mut self, bytes: &[u8], from: &Self, range: Range<usize>) {
        self.bytes.extend_from_slice(bytes);
        self.spans
            .extend(std::iter::repeat_n(from.source_range(range.start, range.end), bytes.len()));
    }

    /// Passes on the stream as it is and after each decoding step: with escapes replaced by what they stand for, and
    /// without invisible characters.
    ///
    /// The two are separate, because each may consume a character that the other one needs.
    pub(super) fn readings(self, mut see: impl FnMut(&Self)) {
        /// How deeply a text may be escaped inside another one.
        const MAX_LEVELS: usize = 3;
        let mut stream = self;
        see(&stream);
        for _ in 0..MAX_LEVELS {
            let mut is_same = true;
            for reading in [decoded, invisible] {
                if let Some(next) = stream.read(reading) {
                    see(&next);
                    (stream, is_same) = (next, false);
                }
            }
            if is_same {
                return;
            }
        }
    }

    /// Returns the stream with `reading` applied throughout, or `None` if that changes nothing.
    fn read(&self, reading: fn(&[u8]) -> Option<(Decoded, usize)>) -> Option<Self> {
        let is_plain = |byte: &u8| !matches!(byte, b'\\' | b'%' | b'&' | 0x1b | 0xc2 | 0xe2 | 0xef);
        if self.bytes.iter().all(is_plain) {
            return None;
        }
        let mut next = Self::default();
        let mut at = 0;
        while at < self.bytes.len() {
            let read = reading(&self.bytes[at..]);
            let (read, length) = read.unwrap_or((Decoded::one(self.bytes[at]), 1));
            next.push(read.as_bytes(), self, at..at + length);
            at += length;
        }
        (next.bytes != self.bytes).then_some(next)
    }

    /// Returns the stream as text, or `None` if it is not valid UTF-8 any more.
    pub(super) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
}

/// Returns a text without invisible characters and with full-width letters as plain ones, or `None` if that changes
/// nothing.
pub(super) fn visible(text: &str) -> Option<Stream> {
    let is_plain = |byte: u8| !matches!(byte, 0x1b | 0xc2 | 0xe2 | 0xef);
    if text.bytes().all(is_plain) { None } else { Stream::new(text).read(invisible) }
}

/// Up to four decoded bytes.
#[derive(Debug, Clone, Copy)]
struct Decoded {
    bytes: [u8; 4],
    length: usize,
}

impl Decoded {
    const NOTHING: Self = Self { bytes: [0; 4], length: 0 };

    fn one(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], length: 1 }
    }

    /// A number that is not a character decodes to nothing.
    fn letter(number: u32) -> Self {
        let mut bytes = [0; 4];
        let letter = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
        let length = letter.encode_utf8(&mut bytes).len();
        Self { bytes, length }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Decodes the escape at the start, and returns its length. Returns `None` for an ordinary byte.
fn decoded(rest: &[u8]) -> Option<(Decoded, usize)> {
    match rest {
        // It may have been escaped any number of times.
        [b'\\', ..] => {
            let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
            let (decoded, length) = escaped(&rest[slashes..]).unwrap_or((Decoded::NOTHING, 0));
            Some((decoded, slashes + length))
        }
        [b'%', digits @ ..] => Some((Decoded::one(u8::try_from(number(digits, 2, 16)?).ok()?), 3)),
        [b'&', ..] => entity(rest),
        _ => None,
    }
}

/// Parses a number with this many digits.
fn number(digits: &[u8], length: usize, radix: u32) -> Option<u32> {
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    digits
        .get(..length)?
        .iter()
        .try_fold(0_u32, |number, byte| number.checked_mul(radix)?.checked_add(digit(byte)?))
}

/// Decodes what follows a backslash.
fn escaped(rest: &[u8]) -> Option<(Decoded, usize)> {
    match rest {
        [b'u', b'{', digits @ ..] => {
            let length = digits.iter().take(8).position(|byte| *byte == b'}')?;
            Some((Decoded::letter(number(digits, length, 16)?), length + 3))
        }
        [b'u', digits @ ..] => {
            let first = number(digits, 4, 16)?;
            // The second half of a surrogate pair.
            let slashes = digits[4..].iter().take_while(|byte| **byte == b'\\').count();
            let second = match digits.get(4 + slashes..) {
                Some([b'u', digits @ ..]) if slashes > 0 => number(digits, 4, 16),
                _ => None,
            };
            match (first, second) {
                (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) => {
                    let letter = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    Some((Decoded::letter(letter), 10 + slashes))
                }
                _ => Some((Decoded::letter(first), 5)),
            }
        }
        [b'U', digits @ ..] => Some((Decoded::letter(number(digits, 8, 16)?), 9)),
        [b'x', digits @ ..] => Some((Decoded::one(u8::try_from(number(digits, 2, 16)?).ok()?), 3)),
        [b'0'..=b'3', ..] => Some((Decoded::one(u8::try_from(number(rest, 3, 8)?).ok()?), 3)),
        [b'n', ..] => Some((Decoded::one(b'\n'), 1)),
        [b'r', ..] => Some((Decoded::one(b'\r'), 1)),
        [b't', ..] => Some((Decoded::one(b'\t'), 1)),
        [b'e', ..] => Some((Decoded::one(0x1b), 1)),
        _ => None,
    }
}

/// Decodes `&amp;`, `&#38;`, `&#x26;`.
fn entity(rest: &[u8]) -> Option<(Decoded, usize)> {
    let end = rest.iter().take(12).position(|byte| *byte == b';')?;
    let decoded = match &rest[1..end] {
        b"amp" => Decoded::one(b'&'),
        b"lt" => Decoded::one(b'<'),
        b"gt" => Decoded::one(b'>'),
        b"quot" => Decoded::one(b'"'),
        b"apos" => Decoded::one(b'\''),
        [b'#', b'x' | b'X', digits @ ..] if !digits.is_empty() => {
            Decoded::letter(number(digits, digits.len(), 16)?)
        }
        [b'#', digits @ ..] if !digits.is_empty() => {
            Decoded::letter(number(digits, digits.len(), 10)?)
        }
        _ => return None,
    };
    Some((decoded, end + 1))
}

/// Decodes color codes and zero-width characters, which become nothing, and full-width letters.
fn invisible(rest: &[u8]) -> Option<(Decoded, usize)> {
    match rest {
        [0x1b, b'[', sequence @ ..] => {
            /// Longer than any color code.
            const MAX_SEQUENCE: usize = 32;
            let end =
                sequence.iter().take(MAX_SEQUENCE).position(|byte| (0x40..0x7f).contains(byte));
            Some((Decoded::NOTHING, end.map_or(2, |end| end + 3)))
        }
        [0x1b, ..] => Some((Decoded::NOTHING, 1)),
        [0xc2, 0xad, ..] => Some((Decoded::NOTHING, 2)),
        [0xe2, 0x80, 0x8b..=0x8f, ..]
        | [0xe2, 0x81, 0xa0..=0xa4, ..]
        | [0xef, 0xbb, 0xbf, ..]
        | [0xef, 0xb8, 0x80..=0x8f, ..] => Some((Decoded::NOTHING, 3)),
        [0xef, 0xbc, last @ 0x81..=0xbf, ..] => Some((Decoded::one(last - 0x81 + b'!'), 3)),
        [0xef, 0xbd, last @ 0x80..=0x9e, ..] => Some((Decoded::one(last - 0x80 + b'`'), 3)),
        _ => None,
    }
}
