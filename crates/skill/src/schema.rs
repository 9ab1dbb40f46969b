//! The JSON Schema of frontmatter, from the same tables and limits that the parser uses.
//!
//! It says what strict reading accepts, as far as a schema can: the folder's name, duplicate keys and
//! the YAML itself are out of its reach. Scalars are judged as editors read them, so a number or a
//! boolean stands wherever the parser takes its text.

use serde_json::{Map, Value, json};

use crate::frontmatter::words;
use crate::{FIELDS, MAX_COMPATIBILITY, MAX_DESCRIPTION, MAX_NAME, SKILL_FORMAT};

/// Returns the schema.
pub fn frontmatter_schema() -> Value {
    let accepted = FIELDS.iter().filter(|field| field.owner.is_accepted());
    let properties: Map<String, Value> =
        accepted.map(|field| (field.name.to_owned(), property(field.name))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Frontmatter of a SKILL.md",
        "description": "What `openskills validate` accepts between the two `---` lines of a SKILL.md.",
        "type": "object",
        "required": ["name", "description"],
        "additionalProperties": false,
        "properties": properties,
    })
}

/// Returns the schema of a bundle of corteza.skill/v1: the same, with the format named.
pub fn corteza_schema() -> Value {
    let mut schema = frontmatter_schema();
    schema["title"] = json!("Frontmatter of a bundle of corteza.skill/v1");
    schema["description"] = json!("See docs/spec/corteza.skill-v1.md.");
    schema["required"] = json!(["skill_format", "name", "description"]);
    schema["properties"]["skill_format"] = json!({ "const": SKILL_FORMAT });
    schema
}

fn property(name: &str) -> Value {
    match name {
        "name" => json!({
            "description": "Lower-case letters, digits and single inner hyphens; the same as the folder's name.",
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
        "license" => described("The licence, as free text.", &text()),
        "compatibility" => json!({
            "description": "What the skill needs around it.",
            "type": SCALAR,
            "pattern": format!("^\\s*\\S(?:[\\s\\S]{{0,{}}}\\S)?\\s*$", MAX_COMPATIBILITY - 2),
        }),
        "metadata" => json!({
            "description": "Free key-value data. The standard asks for text values; more is kept.",
            "type": ["object", "null"],
        }),
        "allowed-tools" => described("The tools the skill may use; empty means none.", &tools()),
        "disallowed-tools" => described("Tools taken away.", &tools()),
        "disable-model-invocation" => described("Hides the skill from the model.", &boolean()),
        "user-invocable" => described("Shows the skill in the slash menu.", &boolean()),
        "background" => described("Runs in the background.", &boolean()),
        "attach" => described("Attaches the libraries instead of only loading them.", &boolean()),
        "argument-hint" => json!({ "type": ["string", "number", "boolean", "null", "array"] }),
        "arguments" => json!({
            "description": "Names of positional arguments, or a mapping with a JSON Schema.",
            "anyOf": [texts(), { "type": "object", "required": ["schema"] }],
        }),
        "context" => words(words::CONTEXT),
        "shell" => words(words::SHELL),
        "model_invocation" => words(words::MODEL_INVOCATION),
        "trust" => words(words::TRUST),
        "interaction" => words(words::INTERACTION),
        "skill_format" => json!({ "const": words::SKILL_FORMAT }),
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
            "description": "What a derived bundle was made from.",
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

/// The types a YAML scalar may have to a reader that is not ours.
const SCALAR: [&str; 3] = ["string", "number", "boolean"];

/// Words of letters, digits and the marks on them, joined by single hyphens.
const NAME: &str =
    "^\\s*[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}]*(?:-[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{M}]*)*\\s*$";

/// Capital letters, and characters that cannot be seen.
const NOT_IN_NAME: &str = r"\p{Lu}|\p{Lt}|[\u{34F}\u{115F}\u{1160}\u{17B4}\u{17B5}\u{180E}\u{3164}\u{FE00}-\u{FE0F}\u{FFA0}\u{E0100}-\u{E01EF}]";

/// One rule of a list of tools: a name, perhaps with something in parentheses. Parentheses inside it
/// are matched one level deep; a regular expression cannot do more.
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

fn words<T>(words: &[(&str, T)]) -> Value {
    let words = words.iter().map(|(word, _)| Value::from(*word)).chain([Value::Null]);
    json!({ "enum": words.collect::<Vec<_>>() })
}

fn side_effects() -> Value {
    let words: Vec<&str> = words::SIDE_EFFECTS.iter().map(|(word, _)| *word).collect();
    json!({
        "description": "What the skill changes. Absent means unknown.",
        "anyOf": [
            { "type": "null" },
            { "enum": words },
            { "type": "array", "items": { "const": "none" } },
            { "type": "array", "items": { "enum": words[1..] } },
        ],
    })
}
