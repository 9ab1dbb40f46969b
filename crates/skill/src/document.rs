//! Bytes of a SKILL.md in, a [`Document`] and every problem out.

use std::ops::Range;

use crate::characters::{Place, code_of, describe, suspicious};
use crate::fence::Parts;
use crate::frontmatter::{self, Frontmatter};
use crate::yaml;
use crate::{Body, Code, Diagnostic, Position, Report, Source, Span, Strictness, fence};
use crate::{MAX_BODY_LINES, MAX_BODY_TOKENS, Value};

/// The name of a skill's file.
pub const SKILL_FILE: &str = "SKILL.md";
/// The name that is accepted as well.
pub const SKILL_FILE_FALLBACK: &str = "skill.md";
/// The largest SKILL.md that is read. The largest of 5,946 real ones is a tenth of it.
pub const MAX_SKILL_FILE_BYTES: u64 = 1 << 20;
/// Folders of a skill that hold its material (F9). A SKILL.md in there is a template, not a skill.
pub const RESOURCE_FOLDERS: &[&str] = &[
    ".skill_triggers",
    "agents",
    "assets",
    "data",
    "examples",
    "locales",
    "references",
    "scripts",
    "templates",
    "wasm",
];

/// A file to read.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The file as diagnostics name it.
    pub file: &'a str,
    /// The name of its folder; `None` where there is none to compare the name with.
    pub directory: Option<&'a str>,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// A skill's file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it says about itself.
    pub frontmatter: Frontmatter,
    /// Its instructions.
    pub body: Body,
}

/// The result of reading a file: the document unless it is refused, and every problem in order.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// Absent exactly when a diagnostic is an error.
    pub document: Option<Document>,
    /// The body, also of a file that is refused, as long as it can be told apart.
    pub body: Option<Body>,
    /// Everything found, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a SKILL.md.
pub fn parse(input: &Input<'_>, strictness: Strictness) -> Parsed {
    let text = match std::str::from_utf8(input.bytes) {
        Ok(text) => text,
        Err(error) => return not_utf8(input, strictness, error.valid_up_to()),
    };
    let source = Source::new(text);
    let mut report = Report::new(input.file, &source, strictness);
    let (frontmatter, body) = read(input, text, &mut report);
    let refused = report.has_error();
    let document = frontmatter.zip(body.clone()).filter(|_| !refused);
    let document = document.map(|(frontmatter, body)| Document { frontmatter, body });
    Parsed { document, body, diagnostics: report.finish() }
}

/// What the start of a file says: the frontmatter unless it is refused, and every problem in order.
#[derive(Debug, Clone)]
pub struct Head {
    /// Absent exactly when a diagnostic is an error.
    pub frontmatter: Option<Frontmatter>,
    /// The name, also of a file that is refused, as far as it can be read.
    pub name: Option<String>,
    /// Everything found, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Returns how many of the first bytes of a file hold its frontmatter and both fences; `None` while the closing
/// one is not among them.
pub fn frontmatter_end(start_of_file: &[u8]) -> Option<usize> {
    fence::end_of_frontmatter(start_of_file)
}

/// Reads the frontmatter alone. The bytes of `input` end after the closing fence, see [`frontmatter_end`], or with
/// the file.
pub fn parse_head(input: &Input<'_>, strictness: Strictness) -> Head {
    let text = match std::str::from_utf8(input.bytes) {
        Ok(text) => text,
        Err(error) => {
            let Parsed { diagnostics, .. } = not_utf8(input, strictness, error.valid_up_to());
            return Head { frontmatter: None, name: None, diagnostics };
        }
    };
    let source = Source::new(text);
    let mut report = Report::new(input.file, &source, strictness);
    let parts = fence::split(text, &mut report);
    let broken = check_characters(text, parts.as_ref(), &mut report);
    let frontmatter = parts
        .filter(|_| !broken)
        .and_then(|parts| read_frontmatter(input, text, &parts.frontmatter, &mut report));
    let refused = report.has_error();
    let name = frontmatter.as_ref().map(|frontmatter| frontmatter.name.clone());
    let frontmatter = frontmatter.filter(|_| !refused);
    Head { frontmatter, name, diagnostics: report.finish() }
}

/// Returns the frontmatter of `text` as it was written, whatever fields it has: what the JSON Schema of
/// frontmatter judges. `None` where there is no mapping to be read.
pub fn raw_frontmatter(text: &str) -> Option<Value> {
    let source = Source::new(text);
    let mut report = Report::new("", &source, Strictness::Lenient);
    let parts = fence::split(text, &mut report)?;
    let mapping = yaml::read(text, parts.frontmatter, &mut report)?;
    Some(Value::Map(
        mapping.entries.into_iter().map(|entry| (entry.key, entry.value.to_value())).collect(),
    ))
}

/// What is wrong with an `arguments.schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaProblem {
    /// Where in the schema: a JSON pointer, empty for the whole.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// Reports an `arguments.schema` that `judge` says something against, at the value that it says it of.
pub fn check_argument_schema(
    input: &Input<'_>,
    strictness: Strictness,
    judge: impl FnOnce(&serde_json::Value) -> Option<SchemaProblem>,
) -> Vec<Diagnostic> {
    let Ok(text) = std::str::from_utf8(input.bytes) else { return Vec::new() };
    let source = Source::new(text);
    // What else is wrong is told by whoever reads the whole.
    let schema = {
        let mut unheard = Report::new(input.file, &source, strictness);
        fence::split(text, &mut unheard)
            .and_then(|parts| yaml::read(text, parts.frontmatter, &mut unheard))
            .and_then(|mapping| child(mapping.entries, "arguments"))
            .and_then(|arguments| match arguments.data {
                yaml::Data::Map(entries) => child(entries, "schema"),
                _ => None,
            })
    };
    let Some(schema) = schema else { return Vec::new() };
    let mut report = Report::new(input.file, &source, strictness);
    if let Some(SchemaProblem { pointer, message }) = judge(&schema.to_value().to_schema_json()) {
        let hint = "expected a JSON Schema of an object, with nothing that is looked up elsewhere";
        report.add_with_hint(Code::BadValue, place_of(&schema, &pointer), message, hint);
    }
    report.finish()
}

/// Returns where the value at a JSON pointer stands: as far as the pointer leads, and the key where there is no value to be seen.
fn place_of(node: &yaml::Node, pointer: &str) -> Range<usize> {
    let (mut node, mut place) = (node, node.range.clone());
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let next = match &node.data {
            yaml::Data::Map(entries) => entries
                .iter()
                .find(|entry| entry.key == part)
                .map(|entry| (&entry.value, entry.key_range.clone())),
            yaml::Data::List(items) => part
                .parse()
                .ok()
                .and_then(|at: usize| items.get(at))
                .map(|item| (item, item.range.clone())),
            yaml::Data::Null | yaml::Data::Text { .. } => None,
        };
        let Some((value, key)) = next else { break };
        node = value;
        place = if value.range.is_empty() { key } else { value.range.clone() };
    }
    place
}

fn child(entries: Vec<yaml::Entry>, key: &str) -> Option<yaml::Node> {
    entries.into_iter().find(|entry| entry.key == key).map(|entry| entry.value)
}

fn read(
    input: &Input<'_>,
    text: &str,
    report: &mut Report<'_>,
) -> (Option<Frontmatter>, Option<Body>) {
    if text.len() as u64 > MAX_SKILL_FILE_BYTES {
        let message =
            format!("the file has {} bytes; at most {MAX_SKILL_FILE_BYTES} are read", text.len());
        report.add(Code::FileTooLarge, 0..0, message);
        return (None, None);
    }
    let parts = fence::split(text, report);
    let broken = check_characters(text, parts.as_ref(), report);
    let Some(parts) = parts else { return (None, None) };
    let body = Body::new(text, parts.body.clone());
    check_body(&body, &parts.body, report);
    let frontmatter =
        if broken { None } else { read_frontmatter(input, text, &parts.frontmatter, report) };
    (frontmatter, Some(body))
}

fn read_frontmatter(
    input: &Input<'_>,
    text: &str,
    range: &Range<usize>,
    report: &mut Report<'_>,
) -> Option<Frontmatter> {
    let mapping = yaml::read(text, range.clone(), report)?;
    let fence = text[..range.start].trim_end().len();
    let place = frontmatter::Place {
        text,
        fence: fence.saturating_sub(3)..fence,
        directory: input.directory,
    };
    Some(frontmatter::read(&place, mapping, report))
}

fn not_utf8(input: &Input<'_>, strictness: Strictness, valid: usize) -> Parsed {
    // The text before the bad byte is text: it gives the line and the column.
    let before = String::from_utf8_lossy(&input.bytes[..valid]);
    let at = Source::new(&before).span(valid..valid).start;
    let message = format!("byte {:#04x} at offset {valid} is not valid UTF-8", input.bytes[valid]);
    let end = Position { offset: valid + 1, column: at.column + 1, ..at };
    let diagnostic = Diagnostic::of_file(Code::NotUtf8, strictness, input.file, message)
        .map(|diagnostic| Diagnostic { span: Some(Span { start: at, end }), ..diagnostic })
        .map(|diagnostic| diagnostic.with_hint("save the file as UTF-8"));
    Parsed { document: None, body: None, diagnostics: diagnostic.into_iter().collect() }
}

/// Reports strange characters; returns true if the frontmatter holds one that YAML does not allow.
fn check_characters(text: &str, parts: Option<&Parts>, report: &mut Report<'_>) -> bool {
    let body = parts.map_or(text.len(), |parts| parts.body.start);
    // A byte order mark at the very start has a report of its own, and a carriage return alone is a line
    // break to some readers only.
    let strange = suspicious(text).filter(|&found| found != (0, '\u{feff}'));
    let returns =
        text[..body].match_indices('\r').filter(|(at, _)| !text[at + 1..].starts_with('\n'));
    let mut broken = false;
    for (at, character) in strange.chain(returns.map(|(at, _)| (at, '\r'))) {
        let code = code_of(character, if at < body { Place::Frontmatter } else { Place::Body });
        broken |= at < body && matches!(code, Code::NulCharacter | Code::ControlCharacter);
        let hint = if character == '\r' {
            "save the file with line feeds as line breaks"
        } else {
            "remove it"
        };
        report.add_lazily(code, at..at + character.len_utf8(), || {
            (describe(character), Some(hint.to_owned()))
        });
    }
    broken
}

fn check_body(body: &Body, range: &Range<usize>, report: &mut Report<'_>) {
    let (lines, tokens) = (body.lines(), body.tokens());
    if lines == 0 {
        let message = "there are no instructions after the frontmatter";
        report.add(Code::BodyEmpty, range.start..range.start, message);
    } else if lines > MAX_BODY_LINES || tokens > MAX_BODY_TOKENS {
        let message = format!(
            "the body has {lines} lines, about {tokens} tokens; up to {MAX_BODY_LINES} lines and {MAX_BODY_TOKENS} tokens are advised"
        );
        let hint = "move details into files under `references/`; they are read only when needed";
        report.add_with_hint(Code::BodyLong, body.start..body.start, message, hint);
    }
}
