//! Parses frontmatter that is not valid YAML, entry by entry.
//!
//! An entry is a `key: …` line with the deeper lines under it. Each is parsed separately, so one broken entry does not
//! hide another. If the value of a broken entry is plain prose, it is read as if it were quoted (P2), which is what
//! the author meant in nearly all real files.

use std::collections::HashSet;
use std::ops::Range;

use super::{Data, Entry, Mapping, Node, Problem, TAB_HINT, events, repair, trimmed};
use crate::{Code, field};

/// Maximum number of entries in one mapping that are parsed separately.
const MAX_ENTRIES: usize = 256;
/// How deep inside an entry to look for a broken line.
const MAX_DEPTH: usize = 3;

/// Reads the entries of `text[range]`. `whole` is the problem with the text as a whole; it is reported unless a single
/// entry yields a more precise one.
pub(super) fn read(text: &str, range: Range<usize>, whole: Problem) -> (Mapping, Vec<Problem>) {
    let mut reader = Reader { text, problems: Vec::new(), broken: Vec::new() };
    let entries = reader.entries(&range, 0);
    let mut problems = std::mem::take(&mut reader.problems);
    // An alias to another entry, or an error that no single entry shows: the whole is still not valid YAML.
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
        // Text before the first entry belongs to none, and must be reported.
        self.refuse(&(range.start..chunks.first().map_or(range.end, |chunk| chunk.start)));
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        let read: Vec<Entry> = chunks.iter().flat_map(|chunk| self.chunk(chunk, depth)).collect();
        for entry in read {
            if seen.insert(entry.key.clone()) {
                entries.push(entry);
            } else {
                let message = format!("duplicate key `{}`", entry.key);
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
        let first = self.text[value.clone()].lines().next().unwrap_or("").trim();
        if first.is_empty() && depth < MAX_DEPTH && !chunks(self.text, &value).is_empty() {
            let entries = self.entries(&value, depth + 1);
            let value = Node { range: trimmed(self.text, &value), data: Data::Map(entries) };
            return Some(Entry { key, key_range, value });
        }
        match repair::quoted(self.text, &key, &value) {
            Ok((text, range, report)) => {
                self.problems.push(report);
                let value = Node { range, data: Data::Text { text, plain: false } };
                Some(Entry { key, key_range, value })
            }
            Err(better) => {
                self.problems.push(better.unwrap_or(problem));
                self.broken.push(key);
                None
            }
        }
    }

    /// Reports text that is not an entry, unless it is blank.
    fn refuse(&mut self, range: &Range<usize>) {
        let is_content =
            |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let inside = &self.text[range.clone()];
        let Some(line) = inside.lines().find(is_content) else { return };
        let start = range.start + (line.as_ptr() as usize - inside.as_ptr() as usize);
        let place = trimmed(self.text, &(start..start + line.len()));
        self.problems.push(if line.starts_with('\t') {
            Problem::new(Code::YamlTab, start..start + 1, "this line is indented with a tab")
                .with_hint(TAB_HINT)
        } else {
            let lacks_blank =
                line.split_once(':').is_some_and(|(key, _)| field::owner(key.trim()).is_some());
            let problem = Problem::new(Code::YamlSyntax, place, "this line is not `key: value`");
            if lacks_blank { problem.with_hint("put a space after the colon") } else { problem }
        });
    }
}

/// Splits the text into chunks that start at a line with the least indentation and include all deeper lines.
fn chunks(text: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let inside = &text[range.clone()];
    let least = inside.lines().filter(|line| is_content(line)).map(indent).min().unwrap_or(0);
    let mut starts = Vec::new();
    let mut at = range.start;
    let mut open_quote = None;
    for line in inside.split_inclusive('\n') {
        let rest = &line[indent(line).min(line.len())..];
        let starts_here =
            is_content(line) && indent(line) == least && open_quote.is_none() && starts_entry(rest);
        if starts_here {
            starts.push(at);
            let after = &text[at + line.len()..range.end];
            let opened = rest.split_once(':').and_then(|(_, value)| opened_quote(value));
            // An unclosed quote must not swallow the entries after it.
            open_quote = opened.filter(|quote| after.contains(*quote));
        } else if open_quote.is_some_and(|quote| line.contains(quote)) {
            open_quote = None;
        }
        at += line.len();
    }
    starts.push(range.end);
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Returns true unless a line with the least indentation continues the previous entry: a list may have the same
/// indentation as its key, and a bracket may be closed there. A leading tab was meant as indentation.
fn starts_entry(line: &str) -> bool {
    !line.starts_with("- ") && line.trim() != "-" && !line.starts_with(['\t', '}', ']'])
}

/// Returns the quote that a value opens but does not close on the same line.
fn opened_quote(value: &str) -> Option<char> {
    let value = value.trim();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    (value.matches(quote).count() == 1).then_some(quote)
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
