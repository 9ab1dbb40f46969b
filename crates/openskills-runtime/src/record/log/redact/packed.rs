//! Hexadecimal digits and base64, without line breaks, blanks, colons and the offsets of a dump in between.

use super::stream::Stream;

/// Separates runs of digits, so that nothing is found across a gap.
const BREAK: u8 = 0;

/// Returns the hexadecimal digits of a text in lower case.
pub(super) fn hex(from: &Stream) -> Stream {
    let (bytes, mut digits) = (&from.bytes, Stream::default());
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let is_prefix = byte == b'0'
            && matches!(bytes.get(at + 1), Some(b'x' | b'X'))
            && bytes.get(at + 2).is_some_and(u8::is_ascii_hexdigit)
            && !at.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_hexdigit());
        if is_prefix {
            at += 2;
            continue;
        }
        if byte.is_ascii_hexdigit() {
            digits.push(&[byte.to_ascii_lowercase()], from, at..at + 1);
        } else if !byte.is_ascii_whitespace() && !matches!(byte, b':' | b',' | b'-') {
            separate(&mut digits, from, at);
        }
        at += 1;
    }
    digits
}

/// Returns the digits of a dump as written by `od`, `xxd` and `hexdump`: an offset, at most sixteen bytes, and
/// optionally the same as text.
pub(super) fn dump(from: &Stream) -> Stream {
    let mut digits = Stream::default();
    let mut start = 0;
    for line in from.bytes.split_inclusive(|byte| *byte == b'\n') {
        dump_line(line, start, from, &mut digits);
        start += line.len();
    }
    digits
}

fn dump_line(line: &[u8], start: usize, from: &Stream, digits: &mut Stream) {
    /// Number of digits in the offset.
    const OFFSET_DIGITS: std::ops::RangeInclusive<usize> = 6..=16;
    const MAX_DIGITS: usize = 32;
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
    let mut at = line.iter().take_while(|byte| !is_end(byte)).count();
    if !OFFSET_DIGITS.contains(&at) || !line[..at].iter().all(u8::is_ascii_hexdigit) {
        separate(digits, from, start);
        return;
    }
    let mut left = MAX_DIGITS;
    while left > 0 {
        at += line[at..].iter().take_while(|byte| is_end(byte)).count();
        let length = line[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let is_word = line.get(at + length).is_none_or(u8::is_ascii_whitespace);
        if length == 0 || length % 2 != 0 || length > left || !is_word {
            return;
        }
        for (index, digit) in line[at..at + length].iter().enumerate() {
            let here = start + at + index;
            digits.push(&[digit.to_ascii_lowercase()], from, here..here + 1);
        }
        at += length;
        left -= length;
    }
}

/// Returns the base64 characters of a text, with the URL-safe alphabet mapped to the standard one.
pub(super) fn base64(from: &Stream) -> Stream {
    let mut letters = Stream::default();
    for (at, byte) in from.bytes.iter().enumerate() {
        let letter = match byte {
            b'-' => b'+',
            b'_' => b'/',
            b'+' | b'/' => *byte,
            _ if byte.is_ascii_alphanumeric() => *byte,
            _ if byte.is_ascii_whitespace() => continue,
            _ => {
                separate(&mut letters, from, at);
                continue;
            }
        };
        letters.push(&[letter], from, at..at + 1);
    }
    letters
}

fn separate(to: &mut Stream, from: &Stream, at: usize) {
    if to.bytes.last().is_some_and(|last| *last != BREAK) {
        to.push(&[BREAK], from, at..at + 1);
    }
}
