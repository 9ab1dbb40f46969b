//! Reads our JSON files key by key, and reports every problem at once with its position.
//!
//! [`read`] passes the top-level object to a closure, which takes the keys it knows. The remaining keys are reported
//! as unknown. Types are never coerced: a string is not a number.

use std::collections::HashSet;
use std::ops::Range;

use jsonc_parser::ast::{self, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::nearest::nearest;
use crate::report::Report;
use crate::{Code, Diagnostic, Identifier, Source, Strictness};

/// Reads `text` as one JSON object. The value is `Some` exactly when no problem is an error.
pub fn read<T>(
    file: &str,
    text: &str,
    take: impl FnOnce(&mut Object<'_, '_, '_>) -> Option<T>,
) -> (Option<T>, Vec<Diagnostic>) {
    let source = Source::new(text);
    let mut report = Report::new(file, &source, Strictness::Strict);
    let options = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let value = match parse_to_ast(text, &CollectOptions::default(), &options) {
        Ok(parsed) => match parsed.value {
            Some(ast::Value::Object(object)) => {
                let mut object = Object::new(&object, String::new(), &mut report);
                let value = take(&mut object);
                object.finish();
                value
            }
            Some(other) => {
                let message = format!("the file contains {}; expected an object", kind(&other));
                report.add(Code::WrongType, other.range().start..other.range().end, message);
                None
            }
            None => {
                report.add_with_hint(
                    Code::JsonSyntax,
                    0..0,
                    "the file is empty",
                    "write a JSON object; docs/formats lists its keys",
                );
                None
            }
        },
        Err(_) if text.starts_with('\u{feff}') => {
            report.add_with_hint(
                Code::JsonSyntax,
                0..'\u{feff}'.len_utf8(),
                "the file starts with a byte order mark",
                "save the file as UTF-8 without a byte order mark",
            );
            None
        }
        Err(error) => {
            let range = error.range();
            report.add(
                Code::JsonSyntax,
                range.start..range.end,
                format!("invalid JSON: {}", lower(error.kind())),
            );
            None
        }
    };
    let refused = report.has_error();
    (value.filter(|_| !refused), report.finish())
}

fn lower(text: &impl ToString) -> String {
    let text = text.to_string();
    let mut characters = text.trim_end_matches('.').chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

fn kind(value: &ast::Value<'_>) -> &'static str {
    match value {
        ast::Value::StringLit(_) => "a string",
        ast::Value::NumberLit(_) => "a number",
        ast::Value::BooleanLit(_) => "a boolean",
        ast::Value::Object(_) => "an object",
        ast::Value::Array(_) => "a list",
        ast::Value::NullKeyword(_) => "null",
    }
}

/// A string in a file, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The string, with escapes resolved.
    pub value: String,
    /// Byte range in the file.
    pub range: Range<usize>,
}

/// An object whose keys are taken one by one.
#[derive(Debug)]
pub struct Object<'t, 'r, 'a> {
    properties: Vec<&'t ObjectProp<'t>>,
    range: Range<usize>,
    /// The path to this object, for messages: `projects.demo`.
    path: String,
    known: Vec<&'static str>,
    unknown: UnknownKeys,
    report: &'r mut Report<'a>,
}

/// What happens to keys that the caller does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKeys {
    /// They are reported and ignored; null counts as absent.
    Ignored,
    /// They are errors, and so is null.
    Refused,
}

/// One string or a list of strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OneOrMany {
    /// One text.
    One(Text),
    /// A list.
    Many(Vec<Text>),
}

impl<'t, 'r, 'a> Object<'t, 'r, 'a> {
    fn new(object: &'t ast::Object<'t>, path: String, report: &'r mut Report<'a>) -> Self {
        let mut properties: Vec<&ObjectProp<'_>> = Vec::new();
        let mut seen = HashSet::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if !seen.insert(name) {
                let range = property.name.range();
                let message = format!("duplicate key `{name}`");
                report.add(Code::DuplicateKey, range.start..range.end, message);
            } else {
                properties.push(property);
            }
        }
        let range = object.range.start..object.range.end;
        let unknown = UnknownKeys::Ignored;
        Self { properties, range, path, known: Vec::new(), unknown, report }
    }

    /// Returns the range of the opening brace, at which missing keys are reported.
    pub fn opening_brace(&self) -> Range<usize> {
        self.range.start..self.range.start + 1
    }

    /// Sets what happens to unknown keys. Nested objects start with the default.
    pub fn unknown_keys(&mut self, unknown: UnknownKeys) {
        self.unknown = unknown;
    }

    /// Stops reading: the remaining keys are not reported as unknown.
    pub fn abandon(&mut self) {
        self.properties.clear();
    }

    /// Adds a problem.
    pub fn problem(&mut self, code: Code, range: Range<usize>, message: impl Into<String>) {
        self.report.add(code, range, message);
    }

    /// Adds a problem with a hint.
    pub fn problem_with_hint(
        &mut self,
        code: Code,
        range: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.report.add_with_hint(code, range, message, hint);
    }

    /// Checks `schema_version`: it must be present and one of `supported`.
    pub fn schema_version(&mut self, supported: &[u64]) -> Option<u64> {
        self.schema_version_or(supported, |found| {
            let known = supported.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("`schema_version` is {found}; this version supports {known}");
            let is_newer = found.parse::<u64>().is_ok_and(|version| version > 0);
            let hint = if is_newer {
                "update csk; this file requires a newer version"
            } else {
                "write a whole number, without quotes"
            };
            (message, hint.to_owned())
        })
    }

    /// Like [`Self::schema_version`]; `refuse` returns the message and hint for an unsupported version.
    pub fn schema_version_or(
        &mut self,
        supported: &[u64],
        refuse: impl FnOnce(&str) -> (String, String),
    ) -> Option<u64> {
        let (range, found) = match self.take("schema_version") {
            None => {
                self.missing("schema_version", "a number");
                // The version decides which keys exist, so without it none can be checked.
                self.abandon();
                return None;
            }
            Some(ast::Value::NumberLit(number)) => (number.range, number.value.parse::<u64>().ok()),
            Some(other) => (other.range(), None),
        };
        if let Some(version) = found.filter(|version| supported.contains(version)) {
            return Some(version);
        }
        let shown =
            found.map_or_else(|| "not a whole number".to_owned(), |version| version.to_string());
        let (message, hint) = refuse(&shown);
        self.report.add_with_hint(Code::SchemaVersion, range.start..range.end, message, hint);
        self.abandon();
        None
    }

    /// Reads a required string.
    pub fn required(&mut self, key: &'static str) -> Option<Text> {
        match self.take(key) {
            Some(value) => self.as_text(key, value),
            None => {
                self.missing(key, "a string");
                None
            }
        }
    }

    /// Reads a string; null counts as absent.
    pub fn text(&mut self, key: &'static str) -> Option<Text> {
        let value = self.take(key)?;
        self.as_text(key, value)
    }

    /// Reads an identifier; null counts as absent.
    pub fn identifier(&mut self, key: &'static str) -> Option<Identifier> {
        let text = self.text(key)?;
        self.as_identifier(key, &text)
    }

    /// Reads a required identifier.
    pub fn required_identifier(&mut self, key: &'static str) -> Option<Identifier> {
        let text = self.required(key)?;
        self.as_identifier(key, &text)
    }

    /// Reads a boolean; null counts as absent.
    pub fn boolean(&mut self, key: &'static str) -> Option<bool> {
        match self.take(key)? {
            ast::Value::BooleanLit(value) => Some(value.value),
            ast::Value::NullKeyword(_) => None,
            other => {
                self.wrong(key, other, "true or false");
                None
            }
        }
    }

    /// Reads a non-negative integer; null counts as absent.
    pub fn number(&mut self, key: &'static str) -> Option<u64> {
        let value = self.take(key)?;
        let number = match value {
            ast::Value::NumberLit(number) => number.value.parse().ok(),
            ast::Value::NullKeyword(_) => return None,
            _ => None,
        };
        if number.is_none() {
            self.wrong(key, value, "a non-negative integer");
        }
        number
    }

    /// Reads a list of strings; an absent or null value is an empty list.
    pub fn texts(&mut self, key: &'static str) -> Vec<Text> {
        match self.take(key) {
            None | Some(ast::Value::NullKeyword(_)) => Vec::new(),
            Some(ast::Value::Array(array)) => array
                .elements
                .iter()
                .enumerate()
                .filter_map(|(at, item)| {
                    let path = format!("{key}[{at}]");
                    if self.unknown == UnknownKeys::Refused
                        && matches!(item, ast::Value::NullKeyword(_))
                    {
                        self.wrong(&path, item, "a string");
                    }
                    self.as_text(&path, item)
                })
                .collect(),
            Some(other) => {
                self.wrong(key, other, "a list of strings");
                Vec::new()
            }
        }
    }

    /// Reads a list of strings, each with its index; items of other types are reported and skipped.
    pub fn indexed_texts(&mut self, key: &'static str) -> Vec<(usize, Text)> {
        let Some(ast::Value::Array(array)) = self.peek(key) else {
            return self.texts(key).into_iter().enumerate().collect();
        };
        let _ = self.take(key);
        let text = |(at, item)| Some((at, self.as_text(&format!("{key}[{at}]"), item)?));
        array.elements.iter().enumerate().filter_map(text).collect()
    }

    /// Reads a string or a list of strings.
    pub fn one_or_many(&mut self, key: &'static str) -> Option<OneOrMany> {
        if let Some(ast::Value::Array(_)) = self.peek(key) {
            return Some(OneOrMany::Many(self.texts(key)));
        }
        self.text(key).map(OneOrMany::One)
    }

    /// Reads an object with user-defined keys and string values.
    pub fn text_entries(&mut self, key: &'static str) -> Vec<(Text, Text)> {
        let mut entries = Vec::new();
        for (name, value) in self.named(key) {
            let value = self.as_text(&format!("{key}.{}", name.value), value);
            entries.extend(value.map(|value| (name, value)));
        }
        entries
    }

    /// Takes an object with user-defined keys; an absent or null value is an empty one. Duplicate keys are reported,
    /// as in objects with fixed keys.
    fn named(&mut self, key: &'static str) -> Vec<(Text, &'t ast::Value<'t>)> {
        let object = match self.take(key) {
            Some(ast::Value::Object(object)) => object,
            None | Some(ast::Value::NullKeyword(_)) => return Vec::new(),
            Some(other) => {
                self.wrong(key, other, "an object");
                return Vec::new();
            }
        };
        let unique = Object::new(object, self.join(key), self.report).properties;
        let named = |property: &'t ObjectProp<'t>| {
            let range = property.name.range();
            let value = property.name.as_str().to_owned();
            (Text { value, range: range.start..range.end }, &property.value)
        };
        unique.into_iter().map(named).collect()
    }

    /// Reads an optional object.
    pub fn object<T>(
        &mut self,
        key: &'static str,
        take: impl FnOnce(&mut Object<'t, '_, 'a>) -> T,
    ) -> Option<T> {
        match self.take(key)? {
            ast::Value::Object(object) => {
                let mut inner = Object::new(object, self.join(key), self.report);
                let value = take(&mut inner);
                inner.finish();
                Some(value)
            }
            ast::Value::NullKeyword(_) => None,
            other => {
                self.wrong(key, other, "an object");
                None
            }
        }
    }

    /// Reads a required list of objects.
    pub fn required_objects<T>(
        &mut self,
        key: &'static str,
        mut take: impl FnMut(&mut Object<'t, '_, 'a>) -> Option<T>,
    ) -> Vec<T> {
        let array = match self.take(key) {
            Some(ast::Value::Array(array)) => array,
            Some(other) => {
                self.wrong(key, other, "a list of objects");
                return Vec::new();
            }
            None => {
                self.missing(key, "a list of objects");
                return Vec::new();
            }
        };
        let mut values = Vec::new();
        for (at, item) in array.elements.iter().enumerate() {
            let path = self.join(&format!("{key}[{at}]"));
            match item {
                ast::Value::Object(object) => {
                    let mut inner = Object::new(object, path, self.report);
                    values.extend(take(&mut inner));
                    inner.finish();
                }
                other => self.wrong(&format!("{key}[{at}]"), other, "an object"),
            }
        }
        values
    }

    /// Reads an object with user-defined keys, each of whose values is an object.
    pub fn entries<T>(
        &mut self,
        key: &'static str,
        mut take: impl FnMut(&Text, &mut Object<'t, '_, 'a>) -> Option<T>,
    ) -> Vec<T> {
        let mut values = Vec::new();
        for (name, value) in self.named(key) {
            let path = self.join(&format!("{key}.{}", name.value));
            match value {
                ast::Value::Object(inner) => {
                    let mut inner = Object::new(inner, path, self.report);
                    values.extend(take(&name, &mut inner));
                    inner.finish();
                }
                other => self.wrong(&format!("{key}.{}", name.value), other, "an object"),
            }
        }
        values
    }

    fn take(&mut self, key: &'static str) -> Option<&'t ast::Value<'t>> {
        self.known.push(key);
        let at = self.properties.iter().position(|property| property.name.as_str() == key)?;
        let value = &self.properties.remove(at).value;
        if self.unknown == UnknownKeys::Refused && matches!(value, ast::Value::NullKeyword(_)) {
            self.wrong(key, value, "a value; remove the key if there is none");
        }
        Some(value)
    }

    /// Returns true if `key` is present, not null and not taken yet.
    pub fn has(&self, key: &str) -> bool {
        self.peek(key).is_some_and(|value| !matches!(value, ast::Value::NullKeyword(_)))
    }

    fn peek(&self, key: &str) -> Option<&'t ast::Value<'t>> {
        let found = self.properties.iter().find(|property| property.name.as_str() == key);
        found.map(|property| &property.value)
    }

    /// Returns the range of a key that has not been taken yet, without taking it.
    pub fn key_range(&self, key: &str) -> Option<Range<usize>> {
        let found = self.properties.iter().find(|property| property.name.as_str() == key)?;
        let range = found.name.range();
        Some(range.start..range.end)
    }

    /// Takes a key and returns its range.
    pub fn take_key(&mut self, key: &str) -> Option<Range<usize>> {
        let at = self.properties.iter().position(|property| property.name.as_str() == key)?;
        let range = self.properties.remove(at).name.range();
        Some(range.start..range.end)
    }

    /// Returns the path to this object, for messages: `projects.demo`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path to `key` in this object, for messages: `projects.demo.path`.
    pub fn path_of(&self, key: &str) -> String {
        self.join(key)
    }

    fn as_text(&mut self, key: &str, value: &ast::Value<'_>) -> Option<Text> {
        match value {
            ast::Value::StringLit(text) => Some(Text {
                value: text.value.clone().into_owned(),
                range: text.range.start..text.range.end,
            }),
            ast::Value::NullKeyword(_) => None,
            other => {
                self.wrong(key, other, "a string");
                None
            }
        }
    }

    fn as_identifier(&mut self, key: &str, text: &Text) -> Option<Identifier> {
        Identifier::new(text.value.as_str())
            .map_err(|error| {
                let message = format!(
                    "`{}` is `{}`, which is not an identifier: {error}",
                    self.join(key),
                    text.value
                );
                self.report.add(Code::BadIdentifier, text.range.clone(), message);
            })
            .ok()
    }

    fn wrong(&mut self, key: &str, value: &ast::Value<'_>, expected: &str) {
        let range = value.range();
        let message = format!("`{}` is {}; expected {expected}", self.join(key), kind(value));
        self.report.add(Code::WrongType, range.start..range.end, message);
    }

    fn missing(&mut self, key: &str, expected: &str) {
        let message = format!("`{}` is missing; expected {expected}", self.join(key));
        self.report.add(Code::MissingKey, self.opening_brace(), message);
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Reports the keys that were not taken.
    fn finish(self) {
        #[cfg(test)]
        KEYS_READ.with_borrow_mut(|keys| {
            keys.extend(self.known.iter().map(|key| self.join(key)));
        });
        for property in &self.properties {
            let (name, range) = (property.name.as_str(), property.name.range());
            let shown = if self.path.is_empty() {
                name.to_owned()
            } else {
                format!("{}.{name}", self.path)
            };
            let (code, end) = match self.unknown {
                UnknownKeys::Ignored => (Code::UnknownKey, "; it is ignored"),
                UnknownKeys::Refused => (Code::RefusedKey, ""),
            };
            let message = format!("unknown key `{shown}`{end}");
            let hint = nearest(name, self.known.iter().copied())
                .map(|near| format!("did you mean `{near}`?"));
            self.report.add_lazily(code, range.start..range.end, || (message, hint));
        }
    }
}

#[cfg(test)]
thread_local! {
    static KEYS_READ: std::cell::RefCell<std::collections::BTreeSet<String>> = const {
        std::cell::RefCell::new(std::collections::BTreeSet::new())
    };
}

/// Returns every key that is looked up while `read` runs, so that a test can compare them with a schema.
#[cfg(test)]
pub(crate) fn keys_read(read: impl FnOnce()) -> std::collections::BTreeSet<String> {
    KEYS_READ.take();
    read();
    KEYS_READ.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let (_, problems) = read("f.json", text, |object| {
            object.schema_version(&[1])?;
            let name = object.required_identifier("name");
            let _ = object.texts("agents");
            object.object("project", |project| project.text("alias"));
            let _ = object.entries("map", |_, inner| inner.boolean("on"));
            name
        });
        let shown: Vec<String> = problems
            .iter()
            .map(|problem| {
                let start = problem.span.unwrap().start;
                format!("{}:{} {} {}", start.line, start.column, problem.code, problem.message)
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn every_problem_is_reported_with_its_position_and_key() {
        check(
            r#"{"schema_version": 1, "name": "a", "agents": [], "project": {"alias": "x"}, "map": {"k": {"on": true}}}"#,
            &[],
        );
        check(
            "{\"schema_version\": 1,\n \"nmae\": 5,\n \"agents\": [\"a\", 5],\n \"project\": {\"alias\": []},\n \"map\": {\"k\": 1}}",
            &[
                "1:1 missing-key `name` is missing; expected a string",
                "2:2 unknown-key unknown key `nmae`; it is ignored",
                "3:18 wrong-type `agents[1]` is a number; expected a string",
                "4:23 wrong-type `project.alias` is a list; expected a string",
                "5:15 wrong-type `map.k` is a number; expected an object",
            ],
        );
        check(
            r#"{"schema_version": 2}"#,
            &["1:20 schema-version `schema_version` is 2; this version supports 1"],
        );
        check(
            r#"{"schema_version": 1, "name": "../x"}"#,
            &[
                "1:31 bad-identifier `name` is `../x`, which is not an identifier: it starts with '.'; expected an ASCII letter or digit",
            ],
        );
        check("[]", &["1:1 wrong-type the file contains a list; expected an object"]);
        check("", &["1:1 json-syntax the file is empty"]);
    }

    #[test]
    fn text_that_is_not_valid_json_is_rejected() {
        for text in [
            "{",
            "{\"a\": 1,}",
            "{a: 1}",
            "{'a': 1}",
            "{\"a\": 1} x",
            "// c\n{}",
            "{\"a\": 0x1}",
            "nope",
        ] {
            let (value, problems) = read("f.json", text, |_| Some(()));
            assert_eq!(value, None, "{text}");
            assert_eq!(problems[0].code, Code::JsonSyntax, "{text}: {problems:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(read("f.json", &deep, |_| Some(())).0.is_none());
    }
}
