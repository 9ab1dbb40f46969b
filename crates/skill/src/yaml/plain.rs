//! The fast path for the simplest frontmatter: `key: words` lines, and one level of such lines under a key.
//!
//! Nearly all skills are written this way, and the full parser costs more than everything else about reading one.
//! Anything that some YAML parser could read differently is left to the full parser; a test compares the two.

use std::ops::Range;

use super::{Data, Entry, Node};

/// Frontmatter with more entries is left to the full parser.
const MAX_ENTRIES: usize = 64;
/// A longer key is left to the full parser.
const MAX_KEY: usize = 64;

/// Reads `text`, with offsets shifted by `base`. `None` means that the full parser must read it.
pub(super) fn read(text: &str, base: usize) -> Option<Vec<Entry>> {
    let mut lines = Lines { text, at: 0 }.peekable();
    let mut entries: Vec<Entry> = Vec::with_capacity(8);
    while let Some(line) = lines.next() {
        let (indent, key, words) = entry(text, line)?;
        if indent != 0 || entries.len() >= MAX_ENTRIES || is_duplicate(&entries, &text[key.clone()])
        {
            return None;
        }
        let value = if words.is_empty() {
            let inner = nested(text, &mut lines, base)?;
            let start = inner.first()?.key_range.start;
            let end = inner.last()?.value.range.end;
            Node { range: start..end, data: Data::Map(inner) }
        } else {
            scalar(text, words, base)
        };
        entries.push(Entry {
            key: text[key.clone()].to_owned(),
            key_range: moved(key, base),
            value,
        });
    }
    (!entries.is_empty()).then_some(entries)
}

/// Reads the lines under a key without a value: a mapping of words.
fn nested(
    text: &str,
    lines: &mut std::iter::Peekable<Lines<'_>>,
    base: usize,
) -> Option<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut depth = 0;
    while let Some(line) = lines.peek().cloned() {
        let (indent, key, words) = entry(text, line)?;
        if indent == 0 {
            break;
        }
        let is_first = entries.is_empty();
        let fits = is_first || indent == depth;
        if !fits
            || words.is_empty()
            || entries.len() >= MAX_ENTRIES
            || is_duplicate(&entries, &text[key.clone()])
        {
            return None;
        }
        depth = indent;
        lines.next();
        entries.push(Entry {
            key: text[key.clone()].to_owned(),
            key_range: moved(key, base),
            value: scalar(text, words, base),
        });
    }
    (!entries.is_empty()).then_some(entries)
}

/// Returns true if `entries`, which are few, contain the key.
fn is_duplicate(entries: &[Entry], key: &str) -> bool {
    entries.iter().any(|entry| entry.key == key)
}

/// Splits a line into its indent, key and words. Returns `None` for any other line.
fn entry(text: &str, line: Range<usize>) -> Option<(usize, Range<usize>, Range<usize>)> {
    let content = &text[line.clone()];
    let indent = content.bytes().take_while(|&byte| byte == b' ').count();
    let key = content[indent..].bytes().take_while(|&byte| is_key(byte)).count();
    let start = line.start + indent;
    let starts_as_key =
        content[indent..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if key > MAX_KEY || !starts_as_key || is_null(&text[start..start + key]) {
        return None;
    }
    let rest = content[indent + key..].strip_prefix(':')?;
    let after = start + key + 1;
    if rest.trim_matches(' ').is_empty() {
        return rest.is_empty().then_some((indent, start..start + key, after..after));
    }
    let words = rest.strip_prefix(' ')?;
    let blanks = words.len() - words.trim_start_matches(' ').len();
    let words = words.trim_matches(' ');
    let place = after + 1 + blanks..after + 1 + blanks + words.len();
    is_plain(words).then_some((indent, start..start + key, place))
}

/// Returns true for words that are a plain scalar on one line in any context.
fn is_plain(words: &str) -> bool {
    let bytes = words.as_bytes();
    // A colon before a blank starts a value, and a hash after one starts a comment.
    let is_split = |pair: &[u8]| matches!(pair, [b':', b' '] | [b' ', b'#']);
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last() != Some(&b':')
        && !bytes.windows(2).any(is_split)
        && (bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) || words.chars().all(is_clear))
        && !is_null(words)
}

/// Returns true for characters that every parser reads literally.
fn is_clear(character: char) -> bool {
    match character {
        ' '..='~' | '‘' | '’' | '“' | '”' | '–' | '—' | '…' | '→' | '•' => true,
        _ => character.is_alphanumeric(),
    }
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_null(text: &str) -> bool {
    matches!(text, "null" | "Null" | "NULL")
}

fn scalar(text: &str, words: Range<usize>, base: usize) -> Node {
    let data = Data::Text { text: text[words.clone()].to_owned(), plain: true };
    Node { range: moved(words, base), data }
}

fn moved(range: Range<usize>, base: usize) -> Range<usize> {
    range.start + base..range.end + base
}

/// The ranges of the lines in a text, without line feeds.
#[derive(Clone)]
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.at >= self.text.len() {
            return None;
        }
        let end = memchr::memchr(b'\n', &self.text.as_bytes()[self.at..])
            .map_or(self.text.len(), |length| self.at + length);
        let line = self.at..end;
        self.at = end + 1;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::events;
    use super::*;

    /// Checks that the full parser reads the same as the fast path, including positions.
    fn check(text: &str) -> bool {
        let Some(entries) = read(text, 4) else { return false };
        let (node, problems) = match events::read(text, 4) {
            Ok(read) => read,
            Err(problem) => panic!("{text:?} is rejected: {problem:?}"),
        };
        assert!(problems.is_empty(), "{text:?}: {problems:?}");
        match node.map(|node| node.data) {
            Some(Data::Map(full)) => {
                assert_eq!(format!("{entries:#?}"), format!("{full:#?}"), "{text:?}");
            }
            other => panic!("{text:?} is {other:?}"),
        }
        true
    }

    #[test]
    fn plain_lines_take_the_fast_path() {
        for text in [
            "name: pdf\ndescription: Reads PDFs. Use when asked.\n",
            "name:   pdf  \nmetadata:\n  author: me\n  version: 1.0\nlicense: MIT",
            "a: b, c [d] {e} 'f' \"g\" - h ? i & * ! | > % @ ` x:y z? a#b\n",
            "a: déjà — vu\n",
            "a: http://x.test/y#z\n",
            "a: 2026-01-01\nb: true\nc: 1e3\nd_e.f-g: ~x~\n",
        ] {
            let is_quick = check(text);
            assert!(is_quick || text.contains("~x~"), "{text:?}");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_full_parser() {
        for text in [
            "",
            "\n",
            "a: b: c\n",
            "a: b #c\n",
            "a: b:\n",
            "a:\n",
            "a: \n",
            "a:b\n",
            "a: 'b'\n",
            "a: [b]\n",
            "a: b\n  c\n",
            "a: b\nc\n",
            "a: b\r\n",
            "a:\tb\n",
            "a: b\na: c\n",
            "a: null\n",
            "null: a\n",
            "a:\n  - b\n",
            "a:\n  b:\n    c: d\n",
            "a:\n  b: c\n   d: e\n",
            "a:\n  b: c\n  b: d\n",
            " a: b\n",
            "# a\na: b\n",
            "a: b\n\nc: d\n",
            "a: b\u{85}c\n",
            "a: \u{202e}b\n",
            "...\n",
        ] {
            assert!(read(text, 0).is_none(), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn the_fast_path_never_differs(text in "([a-c]{0,2}(: |:|)( {0,3})[a-z0-9 :#'\"\\-\\[\\]{},&*!|>%@`?~.—é\t]{0,8}\n? {0,3}){0,6}") {
            check(&text);
        }

        #[test]
        fn realistic_lines_never_differ(
            text in "((name|description|license|metadata|  author|  version|    deep|a.b|true|null): ?[A-Za-z0-9 ,.:#/()—é'\"-]{0,16}\n){1,6}",
        ) {
            check(&text);
        }
    }
}
