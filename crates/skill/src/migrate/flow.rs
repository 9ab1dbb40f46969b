//! Flow mappings such as `metadata: {author: me}`. Entries are removed and added without touching the text of the
//! others.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{plain_or_json, scalar};

/// Returns the lines of a flow mapping after removing, changing and adding entries. Returns `None` if it is not a flow
/// mapping, or if a removed entry has a comment.
pub(super) fn edited(
    block: &str,
    old: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Option<String> {
    let braces = braces(block)?;
    let mut parts = braces.parts();
    // The part after a trailing comma may only be the whitespace before the closing brace.
    let tail = parts.pop_if(|last| block[last.clone()].trim().is_empty());
    if parts.len() != old.len() {
        return None;
    }
    let has_comma = tail.is_some() && !parts.is_empty();
    let lead = parts.first().map_or("", |first| blanks_before(&block[first.clone()]));
    let last = parts.last().map_or("", |last| &block[last.clone()]);
    let tail = tail.map_or(&last[last.trim_end().len()..], |tail| &block[tail]);
    let mut kept: Vec<String> = Vec::new();
    for (range, (key, value)) in parts.into_iter().zip(old) {
        let part = &block[range.clone()];
        match wanted.get(key) {
            Some(same) if same == value => kept.push(part.trim_end().to_owned()),
            _ if braces.comments.iter().any(|at| range.contains(at)) => return None,
            Some(other) => kept.push(format!("{}{}", blanks_before(part), written(key, other))),
            None => {}
        }
    }
    let added = wanted.iter().filter(|(key, _)| !old.contains_key(*key));
    kept.extend(added.map(|(key, value)| format!(" {}", written(key, value))));
    if let Some(first) = kept.first_mut() {
        *first = format!("{lead}{}", first.trim_start());
    }
    let is_on_lines = tail.contains('\n');
    let comma = if has_comma && is_on_lines { "," } else { "" };
    // `{ a: b }` has blanks at both ends or at neither.
    let tail = if is_on_lines || !lead.is_empty() { tail } else { "" };
    let Braces { open, close, .. } = braces;
    Some(format!("{}{}{comma}{tail}{}", &block[..=open], kept.join(","), &block[close..]))
}

fn written(key: &str, value: &Value) -> String {
    format!("{}: {}", plain_or_json(key), scalar(value))
}

fn blanks_before(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

/// The positions of the parts of a flow mapping.
struct Braces {
    open: usize,
    close: usize,
    /// The commas between its own entries.
    commas: Vec<usize>,
    /// The start of each comment.
    comments: Vec<usize>,
}

impl Braces {
    /// Returns the ranges between the commas.
    fn parts(&self) -> Vec<Range<usize>> {
        let starts = [self.open].into_iter().chain(self.commas.iter().copied());
        let ends = self.commas.iter().copied().chain([self.close]);
        starts.zip(ends).map(|(start, end)| start + 1..end).collect()
    }
}

/// Finds the braces around the value of the first entry in `block`.
fn braces(block: &str) -> Option<Braces> {
    let (mut open, mut commas, mut comments, mut depth) = (None, Vec::new(), Vec::new(), 0_usize);
    let (mut before, mut quote, mut is_escaped, mut is_comment) = (' ', None, false, false);
    for (at, c) in block.char_indices() {
        match quote {
            _ if is_comment => is_comment = c != '\n',
            Some(_) if is_escaped => is_escaped = false,
            Some('"') if c == '\\' => is_escaped = true,
            Some(mark) if mark == c => quote = None,
            Some(_) => {}
            None => match c {
                '#' if before.is_whitespace() => {
                    is_comment = true;
                    comments.push(at);
                }
                '\'' | '"' if " \t\n[{,:".contains(before) => quote = Some(c),
                '{' | '[' if open.is_none() => {
                    // Only a value in braces counts: not a list, and not a brace inside a string.
                    if c == '[' || !block[..at].trim_end().ends_with(':') {
                        return None;
                    }
                    open = Some(at);
                }
                '{' | '[' => depth += 1,
                '}' | ']' if depth > 0 => depth -= 1,
                '}' => return Some(Braces { open: open?, close: at, commas, comments }),
                ',' if open.is_some() && depth == 0 => commas.push(at),
                _ => {}
            },
        }
        before = c;
    }
    None
}
