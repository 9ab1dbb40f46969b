//! The JSON Schema of `csk-skill.json`. A test checks that it covers exactly the keys that the parser reads.
//!
//! Version 1 ignores unknown keys; versions 2 and 3 reject them.

use serde_json::{Value, json};

use super::RESERVED_COMMANDS;
use crate::Identifier;
use crate::json::UnknownKeys;

/// A relative path of a file in the skill.
const FILE: &str = r"^(?![A-Za-z]:)(?!/)(?!.*//)(?!(?:.*/)?\.\.?(?:/|$))[^\\\x00-\x1f\x7f]+$";
/// A relative path of a folder, which may end with a slash.
const FOLDER: &str = r"^(?![A-Za-z]:)(?!/)(?!.*//[^/])(?!(?:.*/)?\.\.?(?:/|$))[^\\\x00-\x1f\x7f]+$";
/// A program name, which may contain spaces.
const COMMAND: &str = r"^[^-/\\\x00-\x1f][^/\\\x00-\x1f]*$";
const PROGRAM: &str = r"^[^-/\\ \x00-\x1f][^/\\ \x00-\x1f]*$";
const HOST: &str = r"^(?:\*\.[A-Za-z0-9_][A-Za-z0-9_-]*\.)?[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*$";
const PATH: &str = r"^(?!(?:.*/)?\.\.(?:/|$))[^\\\x00-\x1f]+$";
const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";
/// A non-blank line.
const LINE: &str = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$";

/// Returns the schema.
pub fn manifest_schema() -> Value {
    let roots = json!({ "type": "array", "items": text(FOLDER), "uniqueItems": true });
    let version = |number: u64| json!({ "const": number });
    let strict = commands(UnknownKeys::Refused);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "csk-skill.json",
        "description": "The commands a skill provides and requires, and its capabilities. csk also checks that paths exist and roots do not overlap.",
        "type": "object",
        "required": ["schema_version"],
        "oneOf": [
            { "properties": { "schema_version": version(1), "commands": { "anyOf": [commands(UnknownKeys::Ignored), { "type": "null" }] } } },
            {
                "additionalProperties": false,
                "properties": { "schema_version": version(2), "runtime_roots": roots, "commands": strict },
            },
            {
                "additionalProperties": false,
                "properties": { "schema_version": version(3), "runtime_roots": roots, "commands": strict, "capabilities": capabilities() },
            },
        ],
    })
}

fn commands(unknown: UnknownKeys) -> Value {
    let reserved = |name: &&str| {
        let script =
            json!({ "properties": { "type": { "const": "script" } }, "required": ["type"] });
        json!({ "required": [name], "properties": { *name: script } })
    };
    let reserved: Vec<Value> = RESERVED_COMMANDS.iter().map(reserved).collect();
    let kinds = [script(), system()].map(|kind| with_unknown_keys(kind, unknown));
    json!({
        "type": "object",
        "propertyNames": { "pattern": Identifier::PATTERN },
        "additionalProperties": { "type": "object", "oneOf": kinds },
        "not": { "anyOf": reserved },
    })
}

fn script() -> Value {
    json!({
        "required": ["type"],
        "properties": { "type": { "const": "script" }, "unix_path": text(FILE), "win_path": text(FILE) },
        "anyOf": [{ "required": ["unix_path"] }, { "required": ["win_path"] }],
    })
}

fn system() -> Value {
    json!({
        "required": ["type", "command"],
        "properties": {
            "type": { "const": "system" },
            "command": text(COMMAND),
            "hint": { "type": "string" },
        },
    })
}

fn capabilities() -> Value {
    let list =
        |item: Value| json!({ "anyOf": [{ "const": "none" }, { "type": "array", "items": item }] });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "network": list(text(HOST)),
            "filesystem": { "anyOf": [{ "enum": ["repo", "home-config"] }, { "type": "array", "items": text(PATH) }] },
            "exec": list(text(PROGRAM)),
            "secrets": list(text(LINE)),
            "env_read": { "type": "array", "items": text(VARIABLE) },
            "prompt_scope": text(LINE),
        },
    })
}

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

/// Applies the policy for unknown keys to a schema.
fn with_unknown_keys(mut schema: Value, unknown: UnknownKeys) -> Value {
    match unknown {
        UnknownKeys::Ignored => {}
        UnknownKeys::Refused => schema["additionalProperties"] = false.into(),
    }
    schema
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::json::keys_read;
    use crate::{MANIFEST_FILE, Manifest, TreeEntry};

    /// Returns the keys that the parser looks up, with their path: `commands.script.unix_path`.
    fn parsed(version: u64) -> BTreeSet<String> {
        let text = json!({
            "schema_version": version,
            "runtime_roots": ["scripts"],
            "commands": {
                "script": { "type": "script", "unix_path": "scripts/a" },
                "system": { "type": "system", "command": "git" },
            },
            "capabilities": { "network": "none" },
        });
        let tree =
            |path: &str| Some(if path.contains('/') { TreeEntry::File } else { TreeEntry::Folder });
        keys_read(|| drop(Manifest::parse(MANIFEST_FILE, &text.to_string(), &tree)))
    }

    /// Returns the keys in the schema, in the same form.
    fn described(version: u64) -> BTreeSet<String> {
        let schema = manifest_schema();
        let is_it = |one: &&Value| one["properties"]["schema_version"]["const"] == version;
        let schema = schema["oneOf"].as_array().unwrap().iter().find(is_it).unwrap();
        let keys = |schema: &Value, path: &str| -> Vec<String> {
            let keys = schema["properties"].as_object().unwrap().keys();
            keys.map(|key| format!("{path}{key}")).collect()
        };
        let mut all = keys(schema, "");
        let commands = &schema["properties"]["commands"];
        let commands = commands["anyOf"].get(0).unwrap_or(commands);
        for kind in commands["additionalProperties"]["oneOf"].as_array().unwrap() {
            let name = kind["properties"]["type"]["const"].as_str().unwrap();
            all.extend(keys(kind, &format!("commands.{name}.")));
        }
        let capabilities = &schema["properties"]["capabilities"];
        if !capabilities.is_null() {
            all.extend(keys(capabilities, "capabilities."));
        }
        all.into_iter().collect()
    }

    #[test]
    fn the_parser_reads_exactly_the_schema_keys() {
        for version in [1, 2, 3] {
            assert_eq!(parsed(version), described(version), "version {version}");
        }
    }
}
