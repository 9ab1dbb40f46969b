//! The JSON Schemas of the runtime's own files. The parsers are stricter where a schema cannot be.

use serde_json::{Value, json};

/// Returns every schema, by the name of its file under `schemas/`.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("openskills-config", config()),
        ("openskills-trusted-folders", lists("The folders that are trusted", &["folders"])),
        (
            "openskills-disabled-skills",
            lists("Skills that are switched off", &["names", "folders"]),
        ),
    ]
}

fn config() -> Value {
    let path = json!({ "type": "string", "pattern": "^(/|~/|[A-Za-z]:)" });
    let directory = json!({
        "type": "object",
        "required": ["path"],
        "properties": {
            "path": path,
            "source": { "enum": ["org", "user", "third_party"] },
        },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Folders of skills that the user named",
        "type": "object",
        "required": ["schema_version"],
        "properties": {
            "schema_version": { "const": 1 },
            "directories": { "type": "object", "additionalProperties": directory },
            "packages": { "type": "array", "items": path },
        },
    })
}

fn lists(title: &str, keys: &[&str]) -> Value {
    let mut properties = json!({ "schema_version": { "const": 1 } });
    for key in keys {
        properties[key] = json!({ "type": "array", "items": { "type": "string" } });
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "required": ["schema_version"],
        "properties": properties,
    })
}
