//! Parses untrusted YAML into a tree with positions: bounded, and with all problems at once.
//!
//! [`read`] first tries one fast pass of the event parser. Only if that fails, it parses each top-level entry
//! separately ([`entries`]), so that every broken line is reported, and entries that only lack quotes can still be
//! used.

mod entries;
mod events;
mod plain;
mod repair;

use std::ops::Range;

use crate::{ByteSize, Code, Report, Value};

pub(crate) use repair::single_quoted;

/// Maximum nesting depth.
pub(crate) const MAX_DEPTH: usize = 64;
/// Maximum number of values, counting expanded aliases.
pub(crate) const MAX_NODES: usize = 10_000;
/// Maximum size of the frontmatter in bytes.
pub(crate) const MAX_BYTES: usize = 64 << 10;
/// Maximum number of bytes that aliases may add.
pub(crate) const MAX_ALIAS_BYTES: usize = 1 << 20;

const TAB_HINT: &str = "indent with spaces; YAML does not allow tabs here";

/// A value and its range in the file.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) range: Range<usize>,
    pub(crate) data: Data,
}

#[derive(Debug, Clone)]
pub(crate) enum Data {
    Null,
    Text { text: String, plain: bool },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One `key: value` entry of a mapping.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_range: Range<usize>,
    pub(crate) value: Node,
}

impl Node {
    /// Returns the value without its position.
    pub(crate) fn to_value(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Text { text, plain } => Value::Text { text: text.clone(), plain: *plain },
            Data::List(items) => Value::List(items.iter().map(Self::to_value).collect()),
            Data::Map(entries) => Value::Map(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value())).collect(),
            ),
        }
    }

    /// Returns the name of the type, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "empty",
            Data::Text { .. } => "a string",
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }
}

/// A problem found in YAML, before the file is known.
#[derive(Debug, Clone)]
struct Problem {
    code: Code,
    range: Range<usize>,
    message: String,
    hint: Option<String>,
}

impl Problem {
    fn new(code: Code, range: Range<usize>, message: impl Into<String>) -> Self {
        Self { code, range, message: message.into(), hint: None }
    }

    fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn report(self, report: &mut Report<'_>) {
        match self.hint {
            Some(hint) => report.add_with_hint(self.code, self.range, self.message, hint),
            None => report.add(self.code, self.range, self.message),
        }
    }
}

/// The entries of a mapping, and the keys whose values could not be read.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    pub(crate) entries: Vec<Entry>,
    pub(crate) broken: Vec<String>,
}

/// Reads the mapping in `text[range]`. Returns `None` if nothing in it can be used; the report says why.
pub(crate) fn read(text: &str, range: Range<usize>, report: &mut Report<'_>) -> Option<Mapping> {
    if range.len() > MAX_BYTES {
        let (size, limit) = (ByteSize(range.len() as u64), ByteSize(MAX_BYTES as u64));
        let message = format!("the frontmatter is {size}; the limit is {limit}");
        let hint = "move the data into a file, for example under `assets/`";
        report.add_with_hint(Code::YamlTooBig, range.start..range.start, message, hint);
        return None;
    }
    if let Some(entries) = plain::read(&text[range.clone()], range.start) {
        return Some(Mapping { entries, broken: Vec::new() });
    }
    let (node, problems) = match events::read(&text[range.clone()], range.start) {
        Ok(read) => read,
        Err(problem) if problem.code == Code::YamlTooDeep || problem.code == Code::YamlTooBig => {
            problem.report(report);
            return None;
        }
        Err(whole) => {
            let (mapping, problems) = entries::read(text, range, whole);
            problems.into_iter().for_each(|problem| problem.report(report));
            return Some(mapping);
        }
    };
    problems.into_iter().for_each(|problem| problem.report(report));
    let Some(node) = node else { return Some(Mapping::default()) };
    let kind = node.kind();
    match node.data {
        Data::Null => Some(Mapping::default()),
        Data::Map(entries) => Some(Mapping { entries, broken: Vec::new() }),
        Data::Text { .. } | Data::List(_) => {
            let message = format!("the frontmatter is {kind}; expected `key: value` lines");
            report.add_with_hint(
                Code::NotAMapping,
                node.range,
                message,
                "write at least `name:` and `description:`",
            );
            None
        }
    }
}

/// Returns `range` without surrounding whitespace.
fn trimmed(text: &str, range: &Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + inside.len() - inside.trim_start().len();
    start..(range.start + inside.trim_end().len()).max(start)
}

/// Returns the range of the key and the value of the entry at `path` in `text[range]`.
pub(crate) fn find(
    text: &str,
    range: Range<usize>,
    path: &[&str],
) -> Option<(Range<usize>, Range<usize>)> {
    let (node, _) = events::read(&text[range.clone()], range.start).ok()?;
    let mut node = node?;
    let (last, parents) = path.split_last()?;
    let take = |node: Node, key: &str| match node.data {
        Data::Map(entries) => entries.into_iter().find(|entry| entry.key == key),
        Data::Null | Data::Text { .. } | Data::List(_) => None,
    };
    for key in parents {
        node = take(node, key)?.value;
    }
    take(node, last).map(|entry| (entry.key_range, entry.value.range))
}
