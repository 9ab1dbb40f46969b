//! Files of JSON, with comments or without. An edit is a splice in the text, and taking a server out is its inverse: a file that had other servers is byte for byte
//! what it was.

mod splice;

use jsonc_parser::ast::{Object, Value as Tree};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::json;

use super::check_own;

/// How a client writes a server down.
pub(super) struct Shape {
    /// The keys that lead to the servers.
    pub(super) keys: &'static [&'static str],
    /// What starts the server.
    pub(super) fields: Vec<(&'static str, Field)>,
    /// What the client needs beside that, and the user may have chosen otherwise.
    pub(super) defaults: Vec<(&'static str, Field)>,
}

/// A value in the entry of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Text(String),
    Texts(Vec<String>),
    True,
    /// The entry itself, or what is around it.
    Object(Vec<(String, Field)>),
}

impl Field {
    /// Returns true if the file says just that, however it is laid out.
    fn is(&self, tree: &Tree<'_>) -> bool {
        match (self, tree) {
            (Self::Text(text), Tree::StringLit(found)) => found.value == text.as_str(),
            (Self::Texts(texts), Tree::Array(found)) => {
                let is_same = |(text, found): (&String, &Tree<'_>)| match found {
                    Tree::StringLit(found) => found.value == text.as_str(),
                    _ => false,
                };
                texts.len() == found.elements.len()
                    && texts.iter().zip(&found.elements).all(is_same)
            }
            (Self::True, Tree::BooleanLit(found)) => found.value,
            _ => false,
        }
    }

    /// Returns it on one line.
    fn line(&self) -> String {
        match self {
            Self::Text(text) => json!(text).to_string(),
            Self::Texts(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| json!(text).to_string()).collect();
                format!("[{}]", texts.join(", "))
            }
            Self::True => "true".to_owned(),
            Self::Object(fields) => {
                let pair =
                    |(key, field): &(String, Self)| format!("{}: {}", json!(key), field.line());
                let pairs: Vec<String> = fields.iter().map(pair).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }

    /// Returns it on several lines, each after the first with the indentation `around` in front.
    fn lines(&self, around: &str, unit: &str) -> String {
        let Self::Object(fields) = self else { return self.line() };
        let inner = format!("{around}{unit}");
        let pair = |(key, field): &(String, Self)| {
            format!("\n{inner}{}: {}", json!(key), field.lines(&inner, unit))
        };
        let pairs: Vec<String> = fields.iter().map(pair).collect();
        format!("{{{}\n{around}}}", pairs.join(","))
    }
}

/// Returns the text with the server in it. An empty text stands for a file that is not there.
pub(super) fn with(text: &str, shape: &Shape, name: &str) -> Result<String, String> {
    let edited = put_entry(text, shape, name)?;
    // A file is never written that the client would read otherwise.
    let path: Vec<&str> = shape.keys.iter().copied().chain([name]).collect();
    let is_right = |entry: &Object<'_>| {
        let has = |(key, field): &(&str, Field)| {
            entry.get(key).is_some_and(|found| field.is(&found.value))
        };
        shape.fields.iter().all(has)
    };
    match found(&edited, &path, is_right) {
        Ok(true) => Ok(edited),
        Ok(false) | Err(_) => Err("it is written in a way that cannot be edited".to_owned()),
    }
}

fn put_entry(text: &str, shape: &Shape, name: &str) -> Result<String, String> {
    let mut text = if text.trim().is_empty() { "{}\n".to_owned() } else { text.to_owned() };
    let named = |(key, field): &(&str, Field)| ((*key).to_owned(), field.clone());
    let entry = Field::Object(shape.fields.iter().chain(&shape.defaults).map(named).collect());
    let path: Vec<&str> = shape.keys.iter().copied().chain([name]).collect();
    // Everything on the way that is not there yet comes with the entry.
    for (depth, key) in path.iter().enumerate() {
        let is_there = found(&text, &path[..depth], |object| object.get(key).is_some())?;
        if !is_there {
            let inner = path[depth + 1..].iter().rev();
            let value =
                inner.fold(entry, |value, key| Field::Object(vec![((*key).to_owned(), value)]));
            return put(&text, &path[..depth], key, &value);
        }
    }
    found(&text, shape.keys, |servers| check_entry(servers, name))??;
    let is_object = found(&text, shape.keys, |servers| servers.get_object(name).is_some())?;
    if !is_object {
        return put(&text, shape.keys, name, &entry);
    }
    // What else somebody wrote there, such as variables, stays.
    for (key, field) in &shape.fields {
        let is_same =
            |entry: &Object<'_>| entry.get(key).is_some_and(|found| field.is(&found.value));
        if !found(&text, &path, is_same)? {
            text = put(&text, &path, key, field)?;
        }
    }
    for (key, field) in &shape.defaults {
        if !found(&text, &path, |entry| entry.get(key).is_some())? {
            text = put(&text, &path, key, field)?;
        }
    }
    Ok(text)
}

/// Returns the text without the server.
pub(super) fn without(text: &str, shape: &Shape, name: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    for depth in 0..shape.keys.len() {
        // Nothing is written where there is nothing to take out.
        let key = shape.keys[depth];
        if !found(text, &shape.keys[..depth], |object| object.get(key).is_some())? {
            return Ok(text.to_owned());
        }
    }
    if !found(text, shape.keys, |servers| servers.get(name).is_some())? {
        return Ok(text.to_owned());
    }
    found(text, shape.keys, |servers| check_entry(servers, name))??;
    let text = found(text, shape.keys, |servers| splice::without(text, servers, name))?;
    let is_empty = found(&text, shape.keys, |servers| servers.text(&text) == "{}")?;
    match shape.keys.split_last() {
        // A file that has no other server usually had no place for any.
        Some((last, around)) if is_empty => {
            found(&text, around, |object| splice::without(&text, object, last))
        }
        _ => Ok(text),
    }
}

/// Refuses an entry that is another server's.
fn check_entry(servers: &Object<'_>, name: &str) -> Result<(), String> {
    let mut words = Vec::new();
    let fields = servers.get_object(name).into_iter().flat_map(|entry| {
        ["command", "args"].into_iter().filter_map(|key| entry.get(key)).collect::<Vec<_>>()
    });
    for field in fields {
        match &field.value {
            Tree::StringLit(word) => words.push(word.value.as_ref()),
            Tree::Array(all) => words.extend(all.elements.iter().filter_map(|one| match one {
                Tree::StringLit(word) => Some(word.value.as_ref()),
                _ => None,
            })),
            _ => {}
        }
    }
    check_own(&words, name)
}

/// Returns true if the file has an object at the end of `keys` that is itself no server.
pub(super) fn has_servers(text: &str, keys: &[&str]) -> bool {
    found(text, keys, |object| object.get("type").is_none()).unwrap_or(false)
}

/// Puts a value into an object of the file, in place of what it has there.
fn put(text: &str, keys: &[&str], key: &str, value: &Field) -> Result<String, String> {
    found(text, keys, |object| splice::with(text, object, key, value))
}

/// Looks at an object of the file. A key on the way that is there twice is refused: readers take the last of them, and editing the first would do nothing.
fn found<T>(text: &str, keys: &[&str], look: impl FnOnce(&Object<'_>) -> T) -> Result<T, String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let tree = parsed.map_err(|error| error.to_string())?.value;
    let Some(Tree::Object(whole)) = &tree else {
        return Err("the whole file is not an object".to_owned());
    };
    let mut object = whole;
    for key in keys {
        check_once(object)?;
        object = object.get_object(key).ok_or_else(|| format!("`{key}` is not an object"))?;
    }
    check_once(object)?;
    Ok(look(object))
}

fn check_once(object: &Object<'_>) -> Result<(), String> {
    let mut names: Vec<&str> = object.properties.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("duplicate key `{}`", pair[0])),
        None => Ok(()),
    }
}
