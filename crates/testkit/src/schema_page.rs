//! Converts a JSON Schema to a page of the documentation.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Returns the page of a schema.
pub fn schema_page(name: &str, schema: &Value) -> String {
    let title = schema["title"].as_str().unwrap_or(name);
    let mut page = format!(
        "<!-- Generated from `schemas/{name}.schema.json`; a test checks it. -->\n\n# {name}\n\n"
    );
    let about = schema["description"].as_str().unwrap_or(title);
    let _ = writeln!(page, "{about}\n\n[JSON Schema](../../schemas/{name}.schema.json)");
    part(&mut page, schema);
    for (key, one) in schema["$defs"].as_object().into_iter().flatten() {
        let _ = writeln!(page, "\n## {key}");
        if let Some(about) = one["description"].as_str() {
            let _ = writeln!(page, "\n{about}");
        }
        part(&mut page, one);
    }
    page
}

/// Writes the keys of an object, or else the allowed values.
fn part(page: &mut String, schema: &Value) {
    for inner in ["oneOf", "anyOf", "allOf"].iter().filter_map(|key| schema[*key].as_array()) {
        for one in inner.iter().filter(|one| one.get("properties").is_some()) {
            part(page, one);
        }
    }
    let Some(properties) = schema["properties"].as_object() else {
        if schema.get("enum").is_some() || schema.get("oneOf").is_some() {
            let _ = writeln!(page, "\n{}", kind(schema));
        }
        return;
    };
    page.push_str("\n| key | value | |\n|---|---|---|\n");
    rows(page, "", properties, schema["required"].as_array());
}

fn rows(
    page: &mut String,
    around: &str,
    properties: &Map<String, Value>,
    required: Option<&Vec<Value>>,
) {
    for (key, value) in properties {
        let must = required.is_some_and(|all| all.iter().any(|one| one == key));
        let mark = if must { ", required" } else { "" };
        let about = value["description"].as_str().unwrap_or_default();
        let cell = |text: String| text.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(
            page,
            "| `{around}{key}` | {}{mark} | {} |",
            cell(kind(value)),
            cell(about.to_owned())
        );
        // Nested objects, unless they are definitions of their own.
        let inside = [value, &value["items"], &value["additionalProperties"]];
        for (one, sign) in inside.into_iter().zip(["", "[]", ".*"]) {
            if let Some(inner) = one["properties"].as_object() {
                rows(page, &format!("{around}{key}{sign}."), inner, one["required"].as_array());
            }
        }
    }
}

/// Describes the allowed values in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or(name);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if let Some(values) = schema["enum"].as_array() {
        let words: Vec<String> = values
            .iter()
            .map(|value| {
                format!("`{}`", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            })
            .collect();
        return words.join(", ");
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(all) = schema[key].as_array() {
            let mut words: Vec<String> = all.iter().map(kind).collect();
            words.dedup();
            return words.join(" or ");
        }
    }
    let type_name = |name: &str| match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" => "object".to_owned(),
        "string" => "text".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => type_name(name),
        Value::Array(names) => {
            let names: Vec<String> =
                names.iter().filter_map(Value::as_str).map(type_name).collect();
            names.join(" or ")
        }
        _ => "anything".to_owned(),
    }
}
