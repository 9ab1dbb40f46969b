//! Parses arguments with a skill's JSON Schema and validates them before a model sees anything.
//!
//! The schema is untrusted: external references are not resolved, and patterns run in linear time.

use std::collections::HashMap;

use jsonschema::{PatternOptions, Retrieve, Uri, Validator};
use serde_json::{Map, Value};
use skill::SchemaProblem;

use crate::disclose::arguments::split;

/// Arguments that match the schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedArguments {
    /// The arguments by name.
    pub(crate) data: Value,
    /// The declared names, in order.
    pub(crate) names: Vec<String>,
    /// The values as text, in the same order.
    pub(crate) list: Vec<Option<String>>,
}

/// A skill's `arguments.schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentSchema {
    /// The schema as JSON.
    pub json: Value,
    /// The defaults of its properties as JSON text, which keeps numbers as written.
    pub defaults: Vec<(String, String)>,
}

impl ArgumentSchema {
    /// Converts a skill's schema.
    pub(crate) fn of(schema: &skill::Value) -> Self {
        Self { json: schema.to_schema_json(), defaults: schema.schema_defaults() }
    }
}

/// The maximum cost of a schema with its references expanded.
const MAX_COST: u64 = 20_000;

/// Returns the number of parts of a schema with references expanded. A recursive reference counts once, since the
/// arguments determine how often it is followed.
fn cost(root: &Value, part: &Value, known: &mut HashMap<String, u64>, depth: usize) -> u64 {
    if depth > 200 {
        return MAX_COST + 1;
    }
    match part {
        Value::Array(items) => items
            .iter()
            .fold(1, |sum: u64, item| sum.saturating_add(cost(root, item, known, depth + 1))),
        Value::Object(fields) => {
            let mut sum = 1_u64;
            for (key, value) in fields {
                // Definitions are counted where they are referenced.
                if depth == 0 && matches!(key.as_str(), "$defs" | "definitions") {
                    continue;
                }
                let target = value
                    .as_str()
                    .filter(|_| key == "$ref")
                    .and_then(|text| text.strip_prefix('#'));
                let more = match target {
                    Some(pointer) => match known.get(pointer) {
                        Some(cost) => *cost,
                        None => {
                            known.insert(pointer.to_owned(), 1);
                            let found = root.pointer(pointer);
                            let found =
                                found.map_or(1, |found| cost(root, found, known, depth + 1));
                            known.insert(pointer.to_owned(), found);
                            found
                        }
                    },
                    None => cost(root, value, known, depth + 1),
                };
                sum = sum.saturating_add(more);
            }
            sum
        }
        _ => 1,
    }
}

/// A retriever that resolves no external references.
struct NoRetriever;

impl Retrieve for NoRetriever {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("external references such as `{uri}` are not supported").into())
    }
}

/// Compiles a schema.
fn validator(schema: &Value) -> Result<Validator, SchemaProblem> {
    let unusable = |pointer: String, why: String| SchemaProblem {
        pointer,
        message: format!("invalid `arguments.schema`: {why}"),
    };
    if !schema.is_object() {
        return Err(unusable(String::new(), "expected a mapping".to_owned()));
    }
    if cost(schema, schema, &mut HashMap::new(), 0) > MAX_COST {
        return Err(unusable(
            String::new(),
            "its references expand to too many subschemas".to_owned(),
        ));
    }
    jsonschema::options()
        .with_retriever(NoRetriever)
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| {
            let (pointer, why) = (error.instance_path().to_string(), error.to_string());
            let shown = if pointer.is_empty() { String::new() } else { format!(" (at {pointer})") };
            let quoted = || quoted_in(schema, &why).unwrap_or_default();
            let pointer = if pointer.is_empty() { quoted() } else { pointer };
            unusable(pointer, format!("{why}{shown}"))
        })
}

/// Returns the JSON pointer of the reference or pattern that an error message quotes. Errors about these have no
/// pointer of their own.
fn quoted_in(schema: &Value, message: &str) -> Option<String> {
    let below = |name: &str, value: &Value| {
        let name = name.replace('~', "~0").replace('/', "~1");
        Some(format!("/{name}{}", quoted_in(value, message)?))
    };
    match schema {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| match value {
            Value::String(text) => {
                let is_quoted =
                    matches!(name.as_str(), "$ref" | "$dynamicRef" | "$schema" | "pattern")
                        && message.contains(text.trim_end_matches('#'));
                is_quoted.then(|| format!("/{name}"))
            }
            value => below(name, value),
        }),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| below(&at.to_string(), item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Returns what is wrong with a skill's `arguments.schema`, and where in it.
pub fn argument_schema_problem(schema: &Value) -> Option<SchemaProblem> {
    if let Err(problem) = validator(schema) {
        return Some(problem);
    }
    let kind = schema.get("type").and_then(Value::as_str);
    let is_other = kind.is_some_and(|kind| kind != "object");
    let message = "`arguments.schema` must describe an object".to_owned();
    is_other.then(|| SchemaProblem { pointer: "/type".to_owned(), message })
}

/// Parses arguments: a JSON object, or words that are `name=value` or the value of the next property.
pub(crate) fn parse_arguments(
    argument_schema: &ArgumentSchema,
    input: Option<&str>,
) -> Result<ParsedArguments, String> {
    let schema = &argument_schema.json;
    let input = input.unwrap_or_default().trim();
    let validator = validator(schema).map_err(|problem| problem.message)?;
    let properties = schema.get("properties").and_then(Value::as_object);
    let names: Vec<String> = properties.into_iter().flat_map(Map::keys).cloned().collect();
    // The object may have been quoted for a shell.
    let words = split(input);
    let object = match words.as_slice() {
        [one] if one.starts_with('{') => Some(one.clone()),
        _ => Some(input.to_owned()).filter(|input| input.starts_with('{')),
    };
    let is_object = object.is_some();
    // The original text of values, because JSON numbers do not keep every digit.
    let mut written: Vec<(String, String)> = argument_schema.defaults.clone();
    let mut data = if let Some(object) = object {
        serde_json::from_str(&object)
            .map_err(|error| format!("the arguments are not valid JSON: {error}"))?
    } else {
        let words = from_words(properties, &names, words)?;
        written.splice(0..0, words.iter().map(|(name, (text, _))| (name.clone(), text.clone())));
        Value::Object(words.into_iter().map(|(name, (_, value))| (name, value)).collect())
    };
    let is_given = |name: &String| data.get(name).is_some();
    written.retain(|(name, _)| !(is_object && is_given(name)));
    if let Value::Object(fields) = &mut data {
        for (name, default) in defaults(schema) {
            fields.entry(name.clone()).or_insert_with(|| default.clone());
        }
    }
    check(&validator, &data)?;
    let text = |name: &String| match data.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => {
            let text = written.iter().find(|(known, _)| known == name);
            Some(text.map_or_else(|| other.to_string(), |(_, text)| text.clone()))
        }
    };
    let list = names.iter().map(text).collect();
    Ok(ParsedArguments { data, names, list })
}

/// Returns the properties of a schema that have a default.
pub(crate) fn defaults(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.filter_map(|(name, property)| Some((name, property.get("default")?)))
}

/// Validates data against a schema.
pub(crate) fn validate(schema: &Value, data: &Value) -> Result<(), String> {
    check(&validator(schema).map_err(|problem| problem.message)?, data)
}

fn check(validator: &Validator, data: &Value) -> Result<(), String> {
    let problem = validator.iter_errors(data).next().map(|error| {
        let at = error.instance_path().to_string();
        let at = at.trim_start_matches('/').replace('/', ".");
        if at.is_empty() { error.to_string() } else { format!("{at}: {error}") }
    });
    problem.map_or(Ok(()), Err)
}

/// The name of an argument, with its text and its parsed value.
type NamedArgument = (String, (String, Value));

fn from_words(
    properties: Option<&Map<String, Value>>,
    names: &[String],
    words: Vec<String>,
) -> Result<Vec<NamedArgument>, String> {
    let mut found: Vec<NamedArgument> = Vec::new();
    let schema = |name: &str| properties.and_then(|all| all.get(name));
    for word in words {
        let named = word.split_once('=').filter(|(name, _)| schema(name).is_some());
        let (name, text) = match named {
            Some((name, text)) => (name.to_owned(), text.to_owned()),
            None => {
                let is_found = |name: &&String| found.iter().any(|(known, _)| known == *name);
                let next = names.iter().find(|name| !is_found(name));
                let next = next.ok_or_else(|| {
                    format!("unexpected argument `{word}`; expected: {}", names.join(", "))
                })?;
                (next.clone(), word)
            }
        };
        if found.iter().any(|(known, _)| *known == name) {
            return Err(format!("duplicate argument `{name}`"));
        }
        let value = typed(schema(&name), text.clone());
        found.push((name, (text, value)));
    }
    Ok(found)
}

/// Converts a word to the type in its schema. If that fails it stays a string, so that validation reports the error.
fn typed(schema: Option<&Value>, text: String) -> Value {
    match schema.and_then(|schema| schema.get("type")).and_then(Value::as_str) {
        None | Some("string") => Value::String(text),
        Some(_) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Parses arguments with a schema given as JSON.
    fn parse_arguments(schema: &Value, input: Option<&str>) -> Result<ParsedArguments, String> {
        let defaults = defaults(schema).map(|(name, value)| (name.clone(), value.to_string()));
        let argument_schema = ArgumentSchema { defaults: defaults.collect(), json: schema.clone() };
        super::parse_arguments(&argument_schema, input)
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "topic": {"type": "string", "minLength": 2},
                "rounds": {"type": "integer", "minimum": 1, "maximum": 9},
                "deep": {"type": "boolean"},
            },
            "required": ["topic"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn words_and_json_are_parsed_according_to_the_schema() {
        for (input, data) in [
            ("bees", json!({"topic": "bees"})),
            ("'honey bees' 3", json!({"topic": "honey bees", "rounds": 3})),
            ("deep=true bees", json!({"deep": true, "topic": "bees"})),
            ("{\"topic\": \"bees\", \"rounds\": 2}", json!({"topic": "bees", "rounds": 2})),
            ("42", json!({"topic": "42"})),
            (r#""{\"topic\": \"bees\"}""#, json!({"topic": "bees"})),
        ] {
            assert_eq!(parse_arguments(&schema(), Some(input)).unwrap().data, data, "{input}");
        }
        let parsed = parse_arguments(&schema(), Some("rounds=2 bees")).unwrap();
        assert_eq!(parsed.names, ["topic", "rounds", "deep"]);
        let texts = [Some("bees".to_owned()), Some("2".to_owned()), None];
        assert_eq!(parsed.list, texts);
        let number = json!({"type": "object", "properties": {"n": {"type": "number"}}});
        assert_eq!(parse_arguments(&number, Some("0.10")).unwrap().list, [Some("0.10".to_owned())]);
        let mut schema = schema();
        schema["properties"]["rounds"]["default"] = json!(4);
        assert_eq!(
            parse_arguments(&schema, Some("bees")).unwrap().data,
            json!({"topic": "bees", "rounds": 4})
        );
    }

    #[test]
    fn invalid_arguments_are_explained() {
        for (input, expected) in [
            (None, "topic"),
            (Some(""), "topic"),
            (Some("x"), "topic"),
            (Some("bees many"), "rounds"),
            (Some("bees 10"), "rounds"),
            (Some("bees 1 true more"), "unexpected argument"),
            (Some("topic=a1 topic=b2"), "duplicate argument"),
            (Some("{\"topic\": 1}"), "topic"),
            (Some("{\"topic\": \"bees\", \"other\": 1}"), "other"),
            (Some("{"), "not valid JSON"),
        ] {
            let error = parse_arguments(&schema(), input).unwrap_err();
            assert!(error.contains(expected), "{input:?}: {error}");
        }
    }

    #[test]
    fn schemas_cannot_reach_outside_or_cost_much() {
        for reference in ["file:///etc/passwd", "http://evil.example/x.json", "other.json"] {
            let schema = json!({"type": "object", "properties": {"a": {"$ref": reference}}});
            let error = parse_arguments(&schema, Some("x")).unwrap_err();
            assert!(error.contains("invalid `arguments.schema`"), "{error}");
        }
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}});
        let input = format!("{}!", "a".repeat(40_000));
        assert!(parse_arguments(&schema, Some(&input)).is_err());
        // References that double what they refer to, forty times.
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = format!("#/$defs/d{}", level + 1);
            definitions
                .insert(format!("d{level}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
        }
        definitions.insert("d40".to_owned(), json!({"type": "object"}));
        let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        assert!(
            parse_arguments(&schema, Some("{}"))
                .unwrap_err()
                .contains("expand to too many subschemas")
        );
        let tree = json!({"type": "object", "properties": {"a": {"type": "string"}, "more": {"$ref": "#"}}});
        assert!(parse_arguments(&tree, Some("x")).is_ok());
        assert!(parse_arguments(&json!({"type": "nonsense"}), Some("x")).is_err());
        assert!(parse_arguments(&json!(true), Some("x")).is_err());
    }
}
