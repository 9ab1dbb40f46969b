//! Edits JSON config files, with or without comments. An edit changes only the affected part of the text. Removing the
//! server undoes adding it: a file with other servers is then byte for byte the same as before.

mod splice;

use jsonc_parser::ast::{Object, Value as Tree};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::json;

use super::check_is_own;

/// The format of a server's entry in a client's file.
pub(super) struct EntryFormat {
    /// The keys on the way to the object of all servers.
    pub(super) keys: &'static [&'static str],
    /// The fields of this server.
    pub(super) fields: Vec<(&'static str, Field)>,
    /// Fields that the client needs, and that the user may have changed.
    pub(super) defaults: Vec<(&'static str, Field)>,
}

/// A value in the entry of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Text(String),
    Texts(Vec<String>),
    True,
    /// An entry, or an object around entries.
    Object(Vec<(String, Field)>),
}

impl Field {
    /// Returns true if the file has this value, in any layout.
    fn equals(&self, tree: &Tree<'_>) -> bool {
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

    /// Formats the value on one line.
    fn on_one_line(&self) -> String {
        match self {
            Self::Text(text) => json!(text).to_string(),
            Self::Texts(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| json!(text).to_string()).collect();
                format!("[{}]", texts.join(", "))
            }
            Self::True => "true".to_owned(),
            Self::Object(fields) => {
                let pair = |(key, field): &(String, Self)| {
                    format!("{}: {}", json!(key), field.on_one_line())
                };
                let pairs: Vec<String> = fields.iter().map(pair).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }

    /// Formats the value on several lines. `indent` is the indentation of the first line, `unit` that of one level.
    fn on_lines(&self, indent: &str, unit: &str) -> String {
        let Self::Object(fields) = self else { return self.on_one_line() };
        let inner = format!("{indent}{unit}");
        let pair = |(key, field): &(String, Self)| {
            format!("\n{inner}{}: {}", json!(key), field.on_lines(&inner, unit))
        };
        let pairs: Vec<String> = fields.iter().map(pair).collect();
        format!("{{{}\n{indent}}}", pairs.join(","))
    }
}

/// Returns the text with the server added. An empty text means that the file does not exist.
pub(super) fn add(text: &str, format: &EntryFormat, name: &str) -> Result<String, String> {
    let edited = add_entry(text, format, name)?;
    // Makes sure that the client reads back what was written.
    let path: Vec<&str> = format.keys.iter().copied().chain([name]).collect();
    let is_correct = |entry: &Object<'_>| {
        let has = |(key, field): &(&str, Field)| {
            entry.get(key).is_some_and(|found| field.equals(&found.value))
        };
        format.fields.iter().all(has)
    };
    match inspect(&edited, &path, is_correct) {
        Ok(true) => Ok(edited),
        Ok(false) | Err(_) => Err("its layout is not supported".to_owned()),
    }
}

fn add_entry(text: &str, format: &EntryFormat, name: &str) -> Result<String, String> {
    let mut text = if text.trim().is_empty() { "{}\n".to_owned() } else { text.to_owned() };
    let member = |(key, field): &(&str, Field)| ((*key).to_owned(), field.clone());
    let entry = Field::Object(format.fields.iter().chain(&format.defaults).map(member).collect());
    let path: Vec<&str> = format.keys.iter().copied().chain([name]).collect();
    // Missing objects on the way are added together with the entry.
    for (depth, key) in path.iter().enumerate() {
        let exists = inspect(&text, &path[..depth], |object| object.get(key).is_some())?;
        if !exists {
            let inner = path[depth + 1..].iter().rev();
            let value =
                inner.fold(entry, |value, key| Field::Object(vec![((*key).to_owned(), value)]));
            return set(&text, &path[..depth], key, &value);
        }
    }
    inspect(&text, format.keys, |servers| check_entry(servers, name))??;
    let is_object = inspect(&text, format.keys, |servers| servers.get_object(name).is_some())?;
    if !is_object {
        return set(&text, format.keys, name, &entry);
    }
    // Other fields, such as environment variables, stay.
    for (key, field) in &format.fields {
        let is_same =
            |entry: &Object<'_>| entry.get(key).is_some_and(|found| field.equals(&found.value));
        if !inspect(&text, &path, is_same)? {
            text = set(&text, &path, key, field)?;
        }
    }
    for (key, field) in &format.defaults {
        if !inspect(&text, &path, |entry| entry.get(key).is_some())? {
            text = set(&text, &path, key, field)?;
        }
    }
    Ok(text)
}

/// Returns the text without the server.
pub(super) fn remove(text: &str, format: &EntryFormat, name: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    for depth in 0..format.keys.len() {
        // If there is nothing to remove, the text stays as it is.
        let key = format.keys[depth];
        if !inspect(text, &format.keys[..depth], |object| object.get(key).is_some())? {
            return Ok(text.to_owned());
        }
    }
    if !inspect(text, format.keys, |servers| servers.get(name).is_some())? {
        return Ok(text.to_owned());
    }
    inspect(text, format.keys, |servers| check_entry(servers, name))??;
    let text = inspect(text, format.keys, |servers| splice::remove(text, servers, name))?;
    let is_empty = inspect(&text, format.keys, |servers| servers.text(&text) == "{}")?;
    match format.keys.split_last() {
        // If there is no other server, the object probably did not exist before this server was added.
        Some((last, parents)) if is_empty => {
            inspect(&text, parents, |object| splice::remove(&text, object, last))
        }
        _ => Ok(text),
    }
}

/// Fails if the entry belongs to another server.
fn check_entry(servers: &Object<'_>, name: &str) -> Result<(), String> {
    let mut command_line = Vec::new();
    let fields = servers.get_object(name).into_iter().flat_map(|entry| {
        ["command", "args"].into_iter().filter_map(|key| entry.get(key)).collect::<Vec<_>>()
    });
    for field in fields {
        match &field.value {
            Tree::StringLit(part) => command_line.push(part.value.as_ref()),
            Tree::Array(parts) => {
                command_line.extend(parts.elements.iter().filter_map(|part| match part {
                    Tree::StringLit(part) => Some(part.value.as_ref()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    check_is_own(&command_line, name)
}

/// Returns true if the file has an object at `keys` that is not itself the entry of a server.
pub(super) fn has_servers(text: &str, keys: &[&str]) -> bool {
    inspect(text, keys, |object| object.get("type").is_none()).unwrap_or(false)
}

/// Sets a member of an object in the file.
fn set(text: &str, keys: &[&str], key: &str, value: &Field) -> Result<String, String> {
    inspect(text, keys, |object| splice::set(text, object, key, value))
}

/// Calls `read` with the object at `keys`. Fails if an object on the way has a duplicate key: clients use the last one,
/// so editing the first would have no effect.
fn inspect<T>(text: &str, keys: &[&str], read: impl FnOnce(&Object<'_>) -> T) -> Result<T, String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let tree = parsed.map_err(|error| error.to_string())?.value;
    let Some(Tree::Object(whole)) = &tree else {
        return Err("its content is not an object".to_owned());
    };
    let mut object = whole;
    for key in keys {
        check_duplicates(object)?;
        object = object.get_object(key).ok_or_else(|| format!("`{key}` is not an object"))?;
    }
    check_duplicates(object)?;
    Ok(read(object))
}

fn check_duplicates(object: &Object<'_>) -> Result<(), String> {
    let mut names: Vec<&str> = object.properties.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("duplicate key `{}`", pair[0])),
        None => Ok(()),
    }
}
