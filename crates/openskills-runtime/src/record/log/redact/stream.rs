//! Text as it is meant: each byte with the place in the text that it comes from.
//!
//! Programs write one value in many ways: `\u00e4`, `%C3%A4`, `&#228;`, with colors between its letters. Here every such way is one byte or a
//! few, so that a value is looked for once, and what is found says what to take out of the text.

use std::ops::Range;

/// Bytes, and where in a text each of them stands.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) bytes: Vec<u8>,
    spans: Vec<(usize, usize)>,
}

impl Stream {
    /// Returns a text as it is.
    pub(super) fn new(text: &str) -> Self {
        let span =
            |(at, c): (usize, char)| std::iter::repeat_n((at, at + c.len_utf8()), c.len_utf8());
        Self {
            bytes: text.as_bytes().to_vec(),
            spans: text.char_indices().flat_map(span).collect(),
        }
    }

    /// Returns the place in the text of some bytes, which must not be none.
    pub(super) fn place(&self, start: usize, end: usize) -> (usize, usize) {
        (self.spans[start].0, self.spans[end - 1].1)
    }

    /// Returns true if nothing was passed over between a byte and the one before it.
    pub(super) fn touches(&self, at: usize) -> bool {
        // Bytes of one letter have one place.
        at > 0 && (self.spans[at - 1].1 == self.spans[at].0 || self.spans[at - 1] == self.spans[at])
    }

    /// Adds bytes that stand where some of another stream stand.
    pub(super) fn push(&mut self, bytes: &[u8], from: &Self, place: Range<usize>) {
        self.bytes.extend_from_slice(bytes);
        self.spans.extend(std::iter::repeat_n(from.place(place.start, place.end), bytes.len()));
    }

    /// Returns it as it is, and read once more and once more: with every escape as what it stands for, and without what is not seen.
    ///
    /// The two are apart, since each may take a letter for its own that it is not.
    pub(super) fn readings(self, mut see: impl FnMut(&Self)) {
        /// How often a text may be written into another.
        const MAX_LEVELS: usize = 3;
        let mut stream = self;
        see(&stream);
        for _ in 0..MAX_LEVELS {
            let mut is_same = true;
            for reading in [meant, unseen] {
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

    /// Returns it with some bytes read as others; nothing if that is the same.
    fn read(&self, reading: fn(&[u8]) -> Option<(Meant, usize)>) -> Option<Self> {
        let is_plain = |byte: &u8| !matches!(byte, b'\\' | b'%' | b'&' | 0x1b | 0xc2 | 0xe2 | 0xef);
        if self.bytes.iter().all(is_plain) {
            return None;
        }
        let mut next = Self::default();
        let mut at = 0;
        while at < self.bytes.len() {
            let read = reading(&self.bytes[at..]);
            let (read, length) = read.unwrap_or((Meant::one(self.bytes[at]), 1));
            next.push(read.as_bytes(), self, at..at + length);
            at += length;
        }
        (next.bytes != self.bytes).then_some(next)
    }

    /// Returns it as text; nothing if it is none any more.
    pub(super) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
}

/// Returns a text without what is not seen, and wide letters as plain ones; nothing if that is the same.
pub(super) fn seen(text: &str) -> Option<Stream> {
    let is_plain = |byte: u8| !matches!(byte, 0x1b | 0xc2 | 0xe2 | 0xef);
    if text.bytes().all(is_plain) { None } else { Stream::new(text).read(unseen) }
}

/// A few bytes.
#[derive(Debug, Clone, Copy)]
struct Meant {
    bytes: [u8; 4],
    length: usize,
}

impl Meant {
    const NOTHING: Self = Self { bytes: [0; 4], length: 0 };

    fn one(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], length: 1 }
    }

    /// A number that is no letter is one that nothing is.
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

/// Returns what stands at the beginning, and how long it is written; nothing for a byte that is meant as it is.
fn meant(rest: &[u8]) -> Option<(Meant, usize)> {
    match rest {
        // However often it was written into other text.
        [b'\\', ..] => {
            let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
            let (meant, length) = escaped(&rest[slashes..]).unwrap_or((Meant::NOTHING, 0));
            Some((meant, slashes + length))
        }
        [b'%', digits @ ..] => Some((Meant::one(u8::try_from(number(digits, 2, 16)?).ok()?), 3)),
        [b'&', ..] => entity(rest),
        _ => None,
    }
}

/// Returns a number of so many digits.
fn number(digits: &[u8], length: usize, radix: u32) -> Option<u32> {
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    digits
        .get(..length)?
        .iter()
        .try_fold(0_u32, |number, byte| number.checked_mul(radix)?.checked_add(digit(byte)?))
}

/// What stands behind a backslash.
fn escaped(rest: &[u8]) -> Option<(Meant, usize)> {
    match rest {
        [b'u', b'{', digits @ ..] => {
            let length = digits.iter().take(8).position(|byte| *byte == b'}')?;
            Some((Meant::letter(number(digits, length, 16)?), length + 3))
        }
        [b'u', digits @ ..] => {
            let first = number(digits, 4, 16)?;
            // The second half of a letter that takes two.
            let slashes = digits[4..].iter().take_while(|byte| **byte == b'\\').count();
            let second = match digits.get(4 + slashes..) {
                Some([b'u', digits @ ..]) if slashes > 0 => number(digits, 4, 16),
                _ => None,
            };
            match (first, second) {
                (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) => {
                    let letter = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    Some((Meant::letter(letter), 10 + slashes))
                }
                _ => Some((Meant::letter(first), 5)),
            }
        }
        [b'U', digits @ ..] => Some((Meant::letter(number(digits, 8, 16)?), 9)),
        [b'x', digits @ ..] => Some((Meant::one(u8::try_from(number(digits, 2, 16)?).ok()?), 3)),
        [b'0'..=b'3', ..] => Some((Meant::one(u8::try_from(number(rest, 3, 8)?).ok()?), 3)),
        [b'n', ..] => Some((Meant::one(b'\n'), 1)),
        [b'r', ..] => Some((Meant::one(b'\r'), 1)),
        [b't', ..] => Some((Meant::one(b'\t'), 1)),
        [b'e', ..] => Some((Meant::one(0x1b), 1)),
        _ => None,
    }
}

/// `&amp;`, `&#38;`, `&#x26;`.
fn entity(rest: &[u8]) -> Option<(Meant, usize)> {
    let end = rest.iter().take(12).position(|byte| *byte == b';')?;
    let meant = match &rest[1..end] {
        b"amp" => Meant::one(b'&'),
        b"lt" => Meant::one(b'<'),
        b"gt" => Meant::one(b'>'),
        b"quot" => Meant::one(b'"'),
        b"apos" => Meant::one(b'\''),
        [b'#', b'x' | b'X', digits @ ..] if !digits.is_empty() => {
            Meant::letter(number(digits, digits.len(), 16)?)
        }
        [b'#', digits @ ..] if !digits.is_empty() => {
            Meant::letter(number(digits, digits.len(), 10)?)
        }
        _ => return None,
    };
    Some((meant, end + 1))
}

/// Colors and letters without width, which are nothing, and wide letters.
fn unseen(rest: &[u8]) -> Option<(Meant, usize)> {
    match rest {
        [0x1b, b'[', sequence @ ..] => {
            /// More than any color has.
            const MOST: usize = 32;
            let end = sequence.iter().take(MOST).position(|byte| (0x40..0x7f).contains(byte));
            Some((Meant::NOTHING, end.map_or(2, |end| end + 3)))
        }
        [0x1b, ..] => Some((Meant::NOTHING, 1)),
        [0xc2, 0xad, ..] => Some((Meant::NOTHING, 2)),
        [0xe2, 0x80, 0x8b..=0x8f, ..]
        | [0xe2, 0x81, 0xa0..=0xa4, ..]
        | [0xef, 0xbb, 0xbf, ..]
        | [0xef, 0xb8, 0x80..=0x8f, ..] => Some((Meant::NOTHING, 3)),
        [0xef, 0xbc, last @ 0x81..=0xbf, ..] => Some((Meant::one(last - 0x81 + b'!'), 3)),
        [0xef, 0xbd, last @ 0x80..=0x9e, ..] => Some((Meant::one(last - 0x80 + b'`'), 3)),
        _ => None,
    }
}
