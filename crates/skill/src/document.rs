//! Parses the bytes of a SKILL.md into a [`Document`] and a list of all problems.

use std::ops::Range;

use crate::characters::{FileSection, code_of, describe, suspicious};
use crate::fence::Parts;
use crate::frontmatter::{self, Frontmatter};
use crate::yaml;
use crate::{Body, ByteSize, Code, Diagnostic, Position, Report, Source, Span, Strictness, fence};
use crate::{MAX_BODY_LINES, MAX_BODY_TOKENS, Value};

/// File name of a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// File name that is also accepted.
pub const SKILL_FILE_FALLBACK: &str = "skill.md";
/// Maximum size of a SKILL.md. The largest of 5,946 real ones is a tenth of this.
pub const MAX_SKILL_FILE_BYTES: u64 = 1 << 20;
/// Resource folders of a skill (F9). A SKILL.md inside one is a template, not a skill.
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

/// A file to parse.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The file name used in diagnostics.
    pub file: &'a str,
    /// The name of its folder; `None` if there is none to compare with the skill's name.
    pub directory: Option<&'a str>,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// A parsed SKILL.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The typed fields.
    pub frontmatter: Frontmatter,
    /// The instructions.
    pub body: Body,
}

/// The result of parsing a file: the document unless it is rejected, and every problem in order.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// `None` exactly when a diagnostic is an error.
    pub document: Option<Document>,
    /// The body, even of a rejected file, if it can be separated from the frontmatter.
    pub body: Option<Body>,
    /// Every problem, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a SKILL.md.
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

/// The result of parsing only the frontmatter: the fields unless rejected, and every problem in order.
#[derive(Debug, Clone)]
pub struct Head {
    /// `None` exactly when a diagnostic is an error.
    pub frontmatter: Option<Frontmatter>,
    /// The name, even of a rejected file, if it is readable.
    pub name: Option<String>,
    /// Every problem, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Returns the length of the frontmatter including both fences; `None` if `start_of_file` does not include the closing
/// fence yet.
pub fn frontmatter_end(start_of_file: &[u8]) -> Option<usize> {
    fence::end_of_frontmatter(start_of_file)
}

/// Parses only the frontmatter. The bytes of `input` end after the closing fence (see [`frontmatter_end`]) or at the
/// end of the file.
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

/// Returns the frontmatter of `text` as written, with all its fields, for validation against the JSON Schema. Returns
/// `None` if there is no readable mapping.
pub fn raw_frontmatter(text: &str) -> Option<Value> {
    let source = Source::new(text);
    let mut report = Report::new("", &source, Strictness::Lenient);
    let parts = fence::split(text, &mut report)?;
    let mapping = yaml::read(text, parts.frontmatter, &mut report)?;
    Some(Value::Map(
        mapping.entries.into_iter().map(|entry| (entry.key, entry.value.to_value())).collect(),
    ))
}

/// A problem with an `arguments.schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaProblem {
    /// JSON pointer into the schema; empty for the whole schema.
    pub pointer: String,
    /// The error message.
    pub message: String,
}

/// Reports an invalid `arguments.schema`, at the value that `judge` complains about.
pub fn check_argument_schema(
    input: &Input<'_>,
    strictness: Strictness,
    judge: impl FnOnce(&serde_json::Value) -> Option<SchemaProblem>,
) -> Vec<Diagnostic> {
    let Ok(text) = std::str::from_utf8(input.bytes) else { return Vec::new() };
    let source = Source::new(text);
    // Other problems are reported when the whole file is parsed.
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
        let hint = "write a JSON Schema for an object, without references to other documents";
        report.add_with_hint(Code::BadValue, range_at(&schema, &pointer), message, hint);
    }
    report.finish()
}

/// Returns the range of the value at a JSON pointer. If the pointer leads nowhere, returns the closest ancestor; if
/// the value is empty, its key.
fn range_at(node: &yaml::Node, pointer: &str) -> Range<usize> {
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
        let (size, limit) = (ByteSize(text.len() as u64), ByteSize(MAX_SKILL_FILE_BYTES));
        let message = format!("the file is {size}; the limit is {limit}");
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
    let place = frontmatter::SkillFileContext {
        text,
        fence: fence.saturating_sub(3)..fence,
        directory: input.directory,
    };
    Some(frontmatter::read(&place, mapping, report))
}

fn not_utf8(input: &Input<'_>, strictness: Strictness, valid: usize) -> Parsed {
    // The bytes before the invalid one are valid text, so they give the line and column.
    let before = String::from_utf8_lossy(&input.bytes[..valid]);
    let at = Source::new(&before).span(valid..valid).start;
    let message = format!("byte {:#04x} at offset {valid} is not valid UTF-8", input.bytes[valid]);
    let end = Position { offset: valid + 1, column: at.column + 1, ..at };
    let diagnostic = Diagnostic::of_file(Code::NotUtf8, strictness, input.file, message)
        .map(|diagnostic| Diagnostic { span: Some(Span { start: at, end }), ..diagnostic })
        .map(|diagnostic| diagnostic.with_hint("save the file as UTF-8"));
    Parsed { document: None, body: None, diagnostics: diagnostic.into_iter().collect() }
}

/// Reports suspicious characters. Returns true if the frontmatter contains one that YAML does not allow.
fn check_characters(text: &str, parts: Option<&Parts>, report: &mut Report<'_>) -> bool {
    let body = parts.map_or(text.len(), |parts| parts.body.start);
    // A byte order mark at the start has its own diagnostic. A lone carriage return is included because only some
    // readers treat it as a line break.
    let strange = suspicious(text).filter(|&found| found != (0, '\u{feff}'));
    let returns =
        text[..body].match_indices('\r').filter(|(at, _)| !text[at + 1..].starts_with('\n'));
    let mut broken = false;
    for (at, character) in strange.chain(returns.map(|(at, _)| (at, '\r'))) {
        let code = code_of(
            character,
            if at < body { FileSection::Frontmatter } else { FileSection::Body },
        );
        broken |= at < body && matches!(code, Code::NulCharacter | Code::ControlCharacter);
        let hint = if character == '\r' {
            "save the file with LF line endings"
        } else {
            "remove this character"
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
            "the body has {lines} lines, about {tokens} tokens; the recommended maximum is {MAX_BODY_LINES} lines and {MAX_BODY_TOKENS} tokens"
        );
        let hint = "move details into files under `references/`; agents read them only when needed";
        report.add_with_hint(Code::BodyLong, body.start..body.start, message, hint);
    }
}
