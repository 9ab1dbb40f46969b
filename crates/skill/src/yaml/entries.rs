//! Reads frontmatter that is not valid YAML, entry by entry.
//!
//! An entry is a line `key: …` and the deeper lines under it. Each is read by itself, so one broken
//! entry hides no other. A broken entry whose value is plain running text is taken as if it had been
//! quoted (P2): that is what its author meant in nearly all real files.

use std::collections::HashSet;
use std::ops::Range;

use super::{Data, Entry, Mapping, Node, Problem, TAB_HINT, events};
use crate::{Code, field};

/// The most entries of one mapping that are looked at by themselves.
const MAX_ENTRIES: usize = 256;
/// How deep inside an entry a broken line is still looked for.
const MAX_DEPTH: usize = 3;

/// Reads the entries of `text[range]`. `whole` is what is wrong with it as a whole; it is reported
/// unless a better report of a single entry takes its place.
pub(super) fn read(text: &str, range: Range<usize>, whole: Problem) -> (Mapping, Vec<Problem>) {
    let mut reader = Reader { text, problems: Vec::new(), broken: Vec::new() };
    let entries = reader.entries(&range, 0);
    let mut problems = std::mem::take(&mut reader.problems);
    // Aliases to another entry, or a break that no single entry shows: the whole is still not YAML.
    if problems.is_empty() {
        problems.push(whole);
    }
    (Mapping { entries, broken: reader.broken }, problems)
}

struct Reader<'a> {
    text: &'a str,
    problems: Vec<Problem>,
    broken: Vec<String>,
}

impl Reader<'_> {
    fn entries(&mut self, range: &Range<usize>, depth: usize) -> Vec<Entry> {
        let chunks = chunks(self.text, range);
        if chunks.len() > MAX_ENTRIES {
            let message = format!("more than {MAX_ENTRIES} entries, not all of them valid YAML");
            self.problems.push(Problem::new(Code::YamlSyntax, range.start..range.start, message));
            return Vec::new();
        }
        // What stands before the first entry belongs to none, and must not vanish without a word.
        self.refuse(&(range.start..chunks.first().map_or(range.end, |chunk| chunk.start)));
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        let read: Vec<Entry> = chunks.iter().flat_map(|chunk| self.chunk(chunk, depth)).collect();
        for entry in read {
            if seen.insert(entry.key.clone()) {
                entries.push(entry);
            } else {
                let message = format!("the key `{}` stands twice", entry.key);
                self.problems.push(Problem::new(Code::DuplicateKey, entry.key_range, message));
            }
        }
        entries
    }

    fn chunk(&mut self, chunk: &Range<usize>, depth: usize) -> Vec<Entry> {
        match events::read(&self.text[chunk.clone()], chunk.start) {
            Ok((node, problems)) => {
                self.problems.extend(problems);
                match node.map(|node| node.data) {
                    Some(Data::Map(entries)) => entries,
                    Some(Data::Text { .. } | Data::List(_)) => {
                        self.refuse(chunk);
                        Vec::new()
                    }
                    Some(Data::Null) | None => Vec::new(),
                }
            }
            Err(problem) => self.broken_chunk(chunk, problem, depth).into_iter().collect(),
        }
    }

    fn broken_chunk(
        &mut self,
        chunk: &Range<usize>,
        problem: Problem,
        depth: usize,
    ) -> Option<Entry> {
        let Some((key_range, value)) = split_key(self.text, chunk) else {
            self.problems.push(problem);
            return None;
        };
        let key = self.text[key_range.clone()].to_owned();
        let range = trimmed(self.text, &value);
        let first = self.text[value.clone()].lines().next().unwrap_or("").trim();
        if first.is_empty() && depth < MAX_DEPTH && !chunks(self.text, &value).is_empty() {
            let entries = self.entries(&value, depth + 1);
            return Some(Entry { key, key_range, value: Node { range, data: Data::Map(entries) } });
        }
        if !is_running_text(&key, first) || has_tab_indent(&self.text[range.clone()]) {
            self.problems.push(unclosed_quote(&key, &range, self.text).unwrap_or(problem));
            self.broken.push(key);
            return None;
        }
        let text = folded(&self.text[range.clone()]);
        let message = format!("the value of `{key}` must be quoted: {}", reason(&text));
        let hint = quoting_hint(&key, &text);
        self.problems
            .push(Problem::new(Code::UnquotedValue, range.clone(), message).with_hint(hint));
        Some(Entry {
            key,
            key_range,
            value: Node { range, data: Data::Text { text, plain: false } },
        })
    }

    /// Reports a stretch that is no entry, unless there is nothing in it.
    fn refuse(&mut self, range: &Range<usize>) {
        let is_content =
            |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let inside = &self.text[range.clone()];
        let Some(line) = inside.lines().find(is_content) else { return };
        let start = range.start + (line.as_ptr() as usize - inside.as_ptr() as usize);
        let place = trimmed(self.text, &(start..start + line.len()));
        self.problems.push(if line.starts_with('\t') {
            Problem::new(Code::YamlTab, start..start + 1, "a tab indents this line")
                .with_hint(TAB_HINT)
        } else {
            Problem::new(Code::YamlSyntax, place, "this line is not `key: value`")
        });
    }
}

/// Returns true if a tab starts one of the lines after the first: what it belongs to is anybody's guess.
fn has_tab_indent(text: &str) -> bool {
    text.lines().skip(1).any(|line| line.trim_start_matches(' ').starts_with('\t'))
}

/// Splits into stretches that start at a line of the least indentation and hold all deeper lines.
fn chunks(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = range.start;
    for line in text[range.clone()].split_inclusive('\n') {
        lines.push((start, line));
        start += line.len();
    }
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let least = lines
        .iter()
        .filter(|(_, line)| is_content(line))
        .map(|(_, line)| indent(line))
        .min()
        .unwrap_or(0);
    // A list may stand at the indentation of its key, so `- ` never starts an entry. A tab never does
    // either: it was meant as indentation.
    let starts = lines.iter().filter(|(_, line)| {
        let rest = &line[indent(line)..];
        is_content(line)
            && indent(line) == least
            && !rest.starts_with("- ")
            && rest.trim() != "-"
            && !rest.starts_with('\t')
    });
    let mut starts: Vec<usize> = starts.map(|(at, _)| *at).collect();
    starts.push(range.end);
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Splits `key: value` at the first colon that ends a simple key.
fn split_key(text: &str, chunk: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let line = &text[chunk.clone()];
    let indent = line.len() - line.trim_start_matches(' ').len();
    let colon = line.find(':')?;
    let key = line[indent..colon].trim_end();
    let simple =
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let after = &line[colon + 1..];
    if !simple || !(after.is_empty() || after.starts_with([' ', '\t', '\n', '\r'])) {
        return None;
    }
    let start = chunk.start + indent;
    Some((start..start + key.len(), chunk.start + colon + 1..chunk.end))
}

/// Returns true if a value that starts with `first` was meant as plain text.
fn is_running_text(key: &str, first: &str) -> bool {
    match first.chars().next() {
        None | Some('"' | '\'' | '|' | '>') => false,
        // Elsewhere these would be a list, an alias or a tag that is broken, and not text.
        Some('[' | '{' | '&' | '!' | '*') => field::is_free_text(key),
        Some(_) => true,
    }
}

/// Returns the better report for a value whose only quote is the one it starts with.
fn unclosed_quote(key: &str, range: &Range<usize>, text: &str) -> Option<Problem> {
    let quote = text[range.clone()].chars().next().filter(|first| matches!(first, '"' | '\''))?;
    if text[range.clone()].matches(quote).count() > 1 {
        return None;
    }
    let message = format!("the quote that the value of `{key}` starts with is never closed");
    let hint = "close it, or remove it";
    Some(Problem::new(Code::YamlSyntax, range.start..range.start + 1, message).with_hint(hint))
}

fn reason(text: &str) -> String {
    match text.chars().next() {
        Some(
            first @ ('@' | '`' | '%' | '*' | '&' | '!' | '[' | '{' | ']' | '}' | ',' | '-' | '?'),
        ) => {
            format!("it starts with `{first}`, which means something else in YAML")
        }
        _ if text.contains(": ") || text.ends_with(':') => {
            "it holds a colon, which starts a new value in YAML".to_owned()
        }
        _ => "as it stands it is not valid YAML".to_owned(),
    }
}

fn quoting_hint(key: &str, text: &str) -> String {
    let quoted = format!("{key}: '{}'", text.replace('\'', "''"));
    if quoted.chars().count() <= 100 {
        format!("write `{quoted}`")
    } else {
        let end: String = text.chars().skip(text.chars().count().saturating_sub(12)).collect();
        let start: String = text.chars().take(30).collect();
        format!("put it in quotes: `{key}: '{start}…{end}'` (a quote inside is written twice)")
    }
}

fn trimmed(text: &str, range: &Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + inside.len() - inside.trim_start().len();
    start..(range.start + inside.trim_end().len()).max(start)
}

/// Joins lines as YAML folds running text: a line break is a space, a blank line a line break.
fn folded(text: &str) -> String {
    let mut folded = String::new();
    let mut breaks = 0;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            breaks += 1;
            continue;
        }
        match (folded.is_empty(), breaks) {
            (true, _) => {}
            (false, 0) => folded.push(' '),
            (false, _) => folded.extend(std::iter::repeat_n('\n', breaks)),
        }
        folded.push_str(line);
        breaks = 0;
    }
    folded
}
