//! The JSON Schema of the frontmatter, generated from the tables and limits that the parser uses.
//!
//! It describes what strict mode accepts, as far as a schema can: it cannot check the folder name, duplicate keys or
//! the YAML syntax. Editors type scalars themselves, so the schema allows a number or a boolean wherever the parser
//! accepts a string.

use serde_json::{Map, Value, json};

use crate::frontmatter::choices;
use crate::{FIELDS, MAX_COMPATIBILITY, MAX_DESCRIPTION, MAX_NAME, SKILL_FORMAT};

/// Returns the schema.
pub fn frontmatter_schema() -> Value {
    let accepted = FIELDS.iter().filter(|field| field.owner.is_accepted());
    let properties: Map<String, Value> =
        accepted.map(|field| (field.name.to_owned(), property(field.name))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SKILL.md frontmatter",
        "description": "What `openskills validate` accepts between the two `---` lines of SKILL.md.",
        "type": "object",
        "required": ["name", "description"],
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns the schema of a corteza.skill/v1 bundle: the same, with the format required.
pub fn corteza_schema() -> Value {
    let mut schema = frontmatter_schema();
    schema["title"] = json!("corteza.skill/v1 bundle frontmatter");
    schema["description"] = json!("See docs/spec/corteza.skill-v1.md.");
    schema["required"] = json!(["skill_format", "name", "description"]);
    schema["properties"]["skill_format"] = json!({ "const": SKILL_FORMAT });
    schema
}

fn property(name: &str) -> Value {
    match name {
        "name" => json!({
            "description": "Lower-case letters, digits and single inner hyphens; must match the folder name.",
            "type": SCALAR,
            "maxLength": MAX_NAME,
            "pattern": NAME,
            "not": { "type": "string", "pattern": NOT_IN_NAME },
        }),
        "description" => json!({
            "description": "What the skill does and when to use it.",
            "type": SCALAR,
            "pattern": format!("^\\s*\\S(?:[\\s\\S]{{0,{}}}\\S)?\\s*$", MAX_DESCRIPTION - 2),
            "not": { "type": "string", "pattern": "<(?:/?[A-Za-z!?])[^<>]*>" },
        }),
        "license" => described("License, as free text.", &text()),
        "compatibility" => json!({
            "description": "The skill's environment requirements.",
            "type": SCALAR,
            "pattern": format!("^\\s*\\S(?:[\\s\\S]{{0,{}}}\\S)?\\s*$", MAX_COMPATIBILITY - 2),
        }),
        "metadata" => json!({
            "description": "Arbitrary key-value data. The standard requires string values; other values are kept.",
            "type": ["object", "null"],
        }),
        "allowed-tools" => {
            described("Tools that the skill may use; an empty list means none.", &tools())
        }
        "disallowed-tools" => described("Tools that the skill must not use.", &tools()),
        "disable-model-invocation" => described("Hides the skill from the model.", &boolean()),
        "user-invocable" => described("Shows the skill in the slash menu.", &boolean()),
        "background" => described("Runs the skill in the background.", &boolean()),
        "attach" => described("Attaches the libraries instead of only loading them.", &boolean()),
        "argument-hint" => json!({ "type": ["string", "number", "boolean", "null", "array"] }),
        "arguments" => json!({
            "description": "Positional argument names, or a mapping with a JSON Schema.",
            "anyOf": [texts(), { "type": "object", "required": ["schema"] }],
        }),
        "context" => one_of(choices::CONTEXT),
        "shell" => one_of(choices::SHELL),
        "model_invocation" => one_of(choices::MODEL_INVOCATION),
        "trust" => one_of(choices::TRUST),
        "interaction" => one_of(choices::INTERACTION),
        "skill_format" => json!({ "const": choices::SKILL_FORMAT }),
        "hooks" => json!({ "description": "Lifecycle hooks.", "type": ["object", "null"] }),
        "paths" | "library_depends" => texts(),
        "side_effects" => side_effects(),
        "tools" => json!({
            "description": "Tools allowed and denied at dispatch.",
            "type": "object",
            "additionalProperties": false,
            "properties": { "allow": tools(), "deny": tools() },
        }),
        "generated_from" => json!({
            "description": "The package that a derived bundle was generated from.",
            "type": ["object", "null"],
            "required": ["package"],
            "properties": {
                "package": { "type": SCALAR, "minLength": 1 },
                "kind": { "enum": ["r", "python", "rust", "npm"] },
                "source_hash": { "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" },
            },
        }),
        _ => text(),
    }
}

/// The types that other parsers may give a YAML scalar.
const SCALAR: [&str; 3] = ["string", "number", "boolean"];

/// Words of letters, digits and combining marks, joined by single hyphens.
const NAME: &str =
    "^\\s*[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}]*(?:-[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}]*)*\\s*$";

/// Capital letters and invisible characters.
const NOT_IN_NAME: &str = r"\p{Lu}|\p{Lt}|[\u{34F}\u{115F}\u{1160}\u{17B4}\u{17B5}\u{180E}\u{3164}\u{FE00}-\u{FE0F}\u{FFA0}\u{E0100}-\u{E01EF}]";

/// One tool rule: a name, optionally with a specifier in parentheses. Nested parentheses are matched one level deep; a
/// regular expression cannot do more.
const TOOL_RULE: &str = r"[^\s(),]+(?:\((?=\s*[^\s)])(?:[^()]|\([^()]*\))*\))?";

fn described(description: &str, schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema["description"] = description.into();
    schema
}

fn text() -> Value {
    json!({ "type": ["string", "number", "boolean", "null"] })
}

fn texts() -> Value {
    json!({ "anyOf": [text(), { "type": "array", "items": { "type": SCALAR } }] })
}

fn tools() -> Value {
    let text = format!(r"^(?:[\s,]*{TOOL_RULE}(?=[\s,]|$))*[\s,]*$");
    let item = format!(r"^\s*{TOOL_RULE}\s*$");
    json!({ "anyOf": [
        { "type": ["null", "number", "boolean"] },
        { "type": "string", "pattern": text },
        { "type": "array", "items": { "type": SCALAR, "pattern": item } },
    ] })
}

fn boolean() -> Value {
    json!({ "anyOf": [
        { "type": ["boolean", "null"] },
        { "enum": [0, 1] },
        { "type": "string", "pattern": "^\\s*(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Yy][Ee][Ss]|[Nn][Oo]|[Oo][Nn]|[Oo][Ff][Ff]|0|1)\\s*$" },
    ] })
}

fn one_of<T>(values: &[(&str, T)]) -> Value {
    let values = values.iter().map(|(value, _)| Value::from(*value)).chain([Value::Null]);
    json!({ "enum": values.collect::<Vec<_>>() })
}

fn side_effects() -> Value {
    let effects: Vec<&str> = choices::SIDE_EFFECTS.iter().map(|(effect, _)| *effect).collect();
    json!({
        "description": "What the skill changes. If absent, its side effects are not declared.",
        "anyOf": [
            { "type": "null" },
            { "enum": effects },
            { "type": "array", "items": { "const": "none" } },
            { "type": "array", "items": { "enum": effects[1..] } },
        ],
    })
}
