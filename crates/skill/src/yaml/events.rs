//! Builds a tree from one pass of the event parser, within limits.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span};

use super::{Data, Entry, MAX_ALIAS_BYTES, MAX_DEPTH, MAX_NODES, Node, Problem, TAB_HINT};
use crate::characters::{FileSection, code_of, describe, suspicious};
use crate::{ByteSize, Code};

/// Reads one document. Offsets in the result are shifted by `base`.
pub(super) fn read(text: &str, base: usize) -> Result<(Option<Node>, Vec<Problem>), Problem> {
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder { text, base, ..Builder::default() };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| builder.syntax(&error))?;
        builder.take(event, &span)?;
    }
    Ok((builder.root, builder.problems))
}

#[derive(Default)]
struct Builder<'a> {
    text: &'a str,
    base: usize,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    alias_bytes: usize,
    documents: usize,
    root: Option<Node>,
    problems: Vec<Problem>,
}

struct Frame {
    start: usize,
    anchor: usize,
    open: Open,
}

enum Open {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, seen: KeySet, key: Key },
}

/// The keys of a mapping so far. Nearly all mappings are small, where a linear search is faster than a hash set.
#[derive(Default)]
struct KeySet {
    few: Vec<String>,
    many: HashSet<String>,
}

impl KeySet {
    const FEW: usize = 16;

    /// Returns false if the key is a duplicate.
    fn insert(&mut self, key: &str) -> bool {
        if self.few.iter().any(|seen| seen == key) || self.many.contains(key) {
            return false;
        }
        if self.few.len() < Self::FEW {
            self.few.push(key.to_owned());
        } else {
            self.many.insert(key.to_owned());
        }
        true
    }
}

/// The state of the next node in a mapping.
enum Key {
    Awaited,
    Text(String, Range<usize>),
    /// A key that was reported; its value is skipped.
    Unusable,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Problem> {
        let range = self.range(span);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Problem::new(
                        Code::YamlSyntax,
                        range,
                        "a second YAML document starts here",
                    ));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, &range)?;
                if style == ScalarStyle::DoubleQuoted {
                    self.check_escapes(&text, &range);
                }
                let plain = style == ScalarStyle::Plain;
                let is_null =
                    plain && tag.is_none() && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let data = if is_null {
                    Data::Null
                } else {
                    Data::Text { text: text.into_owned(), plain }
                };
                self.complete(Node { range, data }, anchor)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(range.start, anchor, Open::List(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, _) => {
                let open =
                    Open::Map { entries: Vec::new(), seen: KeySet::default(), key: Key::Awaited };
                self.open(range.start, anchor, open)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range)?,
            Event::Alias(id) => {
                // An alias inside its own anchor has no node yet.
                let Some(node) = self.anchors.get(&id).cloned() else {
                    let message = "an alias refers to the value that contains it";
                    return Err(Problem::new(Code::YamlSyntax, range, message));
                };
                let (nodes, bytes) = weight(&node);
                self.alias_bytes += bytes;
                self.count(nodes, &range)?;
                self.complete(Node { range, data: node.data }, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Reports characters written as escapes: what is not allowed in the file must not hide there either.
    fn check_escapes(&mut self, text: &str, range: &Range<usize>) {
        let source = &self.text[range.start - self.base..range.end - self.base];
        for (_, character) in suspicious(text).filter(|(_, character)| !source.contains(*character))
        {
            let code = code_of(character, FileSection::Frontmatter);
            let message =
                format!("this escape produces a forbidden character: {}", describe(character));
            self.problems
                .push(Problem::new(code, range.clone(), message).with_hint("remove the escape"));
        }
    }

    fn open(&mut self, start: usize, anchor: usize, open: Open) -> Result<(), Problem> {
        self.count(1, &(start..start))?;
        if self.frames.len() >= MAX_DEPTH {
            return Err(too_deep(start..start));
        }
        self.frames.push(Frame { start, anchor, open });
        Ok(())
    }

    fn close(&mut self, end: Range<usize>) -> Result<(), Problem> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let data = match frame.open {
            Open::List(items) => Data::List(items),
            Open::Map { entries, .. } => Data::Map(entries),
        };
        // A block collection ends where the next token starts, so use the end of its last value.
        let last = match &data {
            Data::List(items) => items.last().map(|item| item.range.end),
            Data::Map(entries) => {
                entries.last().map(|entry| entry.value.range.end.max(entry.key_range.end))
            }
            Data::Null | Data::Text { .. } => None,
        };
        let end = if end.is_empty() { last.unwrap_or(end.end) } else { end.end };
        self.complete(Node { range: frame.start..end.max(frame.start), data }, frame.anchor)
    }

    fn complete(&mut self, node: Node, anchor: usize) -> Result<(), Problem> {
        if anchor != 0 {
            let (nodes, bytes) = weight(&node);
            self.alias_bytes += bytes;
            self.count(nodes, &node.range)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.frames.last_mut().map(|frame| &mut frame.open) {
            None => self.root = Some(node),
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map { entries, seen, key }) => match std::mem::replace(key, Key::Awaited) {
                Key::Awaited => match key_of(node, seen) {
                    Ok((text, range)) => *key = Key::Text(text, range),
                    Err(problem) => {
                        self.problems.push(problem);
                        *key = Key::Unusable;
                    }
                },
                Key::Text(text, key_range) => {
                    entries.push(Entry { key: text, key_range, value: node });
                }
                Key::Unusable => {}
            },
        }
        Ok(())
    }

    fn count(&mut self, nodes: usize, range: &Range<usize>) -> Result<(), Problem> {
        self.nodes += nodes;
        let message = if self.nodes > MAX_NODES {
            format!(
                "the frontmatter contains more than {MAX_NODES} values, counting expanded aliases"
            )
        } else if self.alias_bytes > MAX_ALIAS_BYTES {
            let limit = ByteSize(MAX_ALIAS_BYTES as u64);
            format!("aliases add more than {limit} to the frontmatter")
        } else {
            return Ok(());
        };
        Err(Problem::new(Code::YamlTooBig, range.clone(), message)
            .with_hint("move the data into a file, for example under `assets/`"))
    }

    fn range(&self, span: &Span) -> Range<usize> {
        let range = span.byte_range().unwrap_or(0..0);
        // The span of a plain scalar may include trailing blanks.
        let end = self
            .text
            .get(range.clone())
            .map_or(range.end, |text| range.start + text.trim_end().len());
        self.base + range.start..self.base + end.max(range.start)
    }

    fn syntax(&self, error: &ScanError) -> Problem {
        let at = error.marker().byte_offset().unwrap_or(self.text.len()).min(self.text.len());
        let width =
            self.text[at..].chars().next().filter(|c| !c.is_whitespace()).map_or(0, char::len_utf8);
        let range = self.base + at..self.base + at + width;
        let problem = Problem::new(
            Code::YamlSyntax,
            range.clone(),
            format!("the frontmatter is not valid YAML: {}", error.info()),
        );
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => too_deep(range),
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar => {
                Problem::new(Code::YamlTab, self.tab_near(at), "this line is indented with a tab")
                    .with_hint(TAB_HINT)
            }
            ErrorKind::MappingValueNotAllowed
            | ErrorKind::InvalidColonPlacement
            | ErrorKind::SimpleKeyExpected => problem.with_hint(
                "quote values that contain a colon, and write every field as `key: value`",
            ),
            ErrorKind::InvalidTrailingSingleQuotedScalar => {
                problem.with_hint("double any quote inside single quotes")
            }
            ErrorKind::UnknownQuotedScalarEscape => problem
                .with_hint("use single quotes, in which a backslash is literal, or write `\\\\`"),
            ErrorKind::InvalidQuotedScalarIndent => {
                problem.with_hint("indent every line of the value")
            }
            _ => problem,
        }
    }

    /// Returns the tab that indents a line at or after `at`, where the parser noticed it.
    fn tab_near(&self, at: usize) -> Range<usize> {
        let line = self.text[..at].rfind('\n').map_or(0, |before| before + 1);
        let indents = |&(tab, _): &(usize, &str)| {
            self.text[..tab].trim_end_matches([' ', '\t']).ends_with('\n')
        };
        let tab = self.text[line..]
            .match_indices('\t')
            .map(|(tab, text)| (line + tab, text))
            .find(indents);
        let tab = tab.map_or(at, |(tab, _)| tab);
        self.base + tab..self.base + tab + 1
    }
}

fn too_deep(range: Range<usize>) -> Problem {
    Problem::new(
        Code::YamlTooDeep,
        range,
        format!("the frontmatter is nested more than {MAX_DEPTH} levels deep"),
    )
    .with_hint("move the data into a file, for example under `assets/`")
}

/// Returns the number of nodes and bytes of text that a copy of `node` adds.
fn weight(node: &Node) -> (usize, usize) {
    let add = |(nodes, bytes): (usize, usize), (n, b): (usize, usize)| (nodes + n, bytes + b);
    match &node.data {
        Data::Null => (1, 0),
        Data::Text { text, .. } => (1, text.len()),
        Data::List(items) => items.iter().map(weight).fold((1, 0), add),
        Data::Map(entries) => entries
            .iter()
            .map(|entry| add(weight(&entry.value), (0, entry.key.len())))
            .fold((1, 0), add),
    }
}

fn key_of(node: Node, seen: &mut KeySet) -> Result<(String, Range<usize>), Problem> {
    let kind = node.kind();
    let Data::Text { text, .. } = node.data else {
        return Err(Problem::new(
            Code::KeyNotText,
            node.range,
            format!("this key is {kind}; expected a string"),
        ));
    };
    if seen.insert(&text) {
        return Ok((text, node.range));
    }
    Err(Problem::new(Code::DuplicateKey, node.range, format!("duplicate key `{text}`"))
        .with_hint("keep only one; which one is used depends on the parser"))
}
