//! Arguments that a skill describes by a JSON Schema: read, and held to it, before a model sees anything.
//!
//! The schema is a stranger's. Nothing that it refers to is looked up, and its patterns take time in proportion to the text.

use std::collections::HashMap;

use jsonschema::{PatternOptions, Retrieve, Uri, Validator};
use serde_json::{Map, Value};
use skill::SchemaProblem;

use crate::disclose::arguments::split;

/// Arguments that fit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fitting {
    /// By name.
    pub(crate) data: Value,
    /// The names that the skill declares, in order.
    pub(crate) names: Vec<String>,
    /// Their values as texts, in the same order.
    pub(crate) list: Vec<Option<String>>,
}

/// A skill's `arguments.schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentSchema {
    /// The schema.
    pub json: Value,
    /// The defaults of its properties as JSON, in which a number stays as it was written.
    pub defaults: Vec<(String, String)>,
}

impl ArgumentSchema {
    /// Reads the schema of a skill.
    pub(crate) fn of(schema: &skill::Value) -> Self {
        Self { json: schema.to_schema_json(), defaults: schema.schema_defaults() }
    }
}

/// How much a schema may grow by its references.
const MAX_COST: u64 = 20_000;

/// Returns how many parts a schema has, each reference counted as what it leads to. One that leads to itself counts once: how often it is followed is up to the arguments.
fn cost(whole: &Value, part: &Value, known: &mut HashMap<String, u64>, depth: usize) -> u64 {
    if depth > 200 {
        return MAX_COST + 1;
    }
    match part {
        Value::Array(items) => items
            .iter()
            .fold(1, |sum: u64, item| sum.saturating_add(cost(whole, item, known, depth + 1))),
        Value::Object(fields) => {
            let mut sum = 1_u64;
            for (key, value) in fields {
                // What is only defined costs where it is referred to.
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
                            let found = whole.pointer(pointer);
                            let found =
                                found.map_or(1, |found| cost(whole, found, known, depth + 1));
                            known.insert(pointer.to_owned(), found);
                            found
                        }
                    },
                    None => cost(whole, value, known, depth + 1),
                };
                sum = sum.saturating_add(more);
            }
            sum
        }
        _ => 1,
    }
}

/// Refuses to look anything up.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is not looked up").into())
    }
}

/// Returns what holds arguments to a schema.
fn validator(schema: &Value) -> Result<Validator, SchemaProblem> {
    let unusable = |pointer: String, why: String| SchemaProblem {
        pointer,
        message: format!("`arguments.schema` cannot be used: {why}"),
    };
    if !schema.is_object() {
        return Err(unusable(String::new(), "it is no mapping".to_owned()));
    }
    if cost(schema, schema, &mut HashMap::new(), 0) > MAX_COST {
        return Err(unusable(String::new(), "it grows too much by its references".to_owned()));
    }
    jsonschema::options()
        .with_retriever(Nothing)
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

/// Returns where the reference, or pattern, stands that a message quotes: of what cannot be looked up or compiled it says no place.
fn quoted_in(schema: &Value, message: &str) -> Option<String> {
    let below = |name: &str, value: &Value| {
        let name = name.replace('~', "~0").replace('/', "~1");
        Some(format!("/{name}{}", quoted_in(value, message)?))
    };
    match schema {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| match value {
            Value::String(text) => {
                let is_meant =
                    matches!(name.as_str(), "$ref" | "$dynamicRef" | "$schema" | "pattern")
                        && message.contains(text.trim_end_matches('#'));
                is_meant.then(|| format!("/{name}"))
            }
            value => below(name, value),
        }),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| below(&at.to_string(), item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Says what stands against a skill's `arguments.schema`, and where in it.
pub fn argument_schema_problem(schema: &Value) -> Option<SchemaProblem> {
    if let Err(problem) = validator(schema) {
        return Some(problem);
    }
    let kind = schema.get("type").and_then(Value::as_str);
    let is_other = kind.is_some_and(|kind| kind != "object");
    let message = "`arguments.schema` is no schema of an object; arguments are one".to_owned();
    is_other.then(|| SchemaProblem { pointer: "/type".to_owned(), message })
}

/// Reads what was typed by a schema: an object of JSON, or words, each for the next property, or `name=value`.
pub(crate) fn fit(whole: &ArgumentSchema, given: Option<&str>) -> Result<Fitting, String> {
    let schema = &whole.json;
    let given = given.unwrap_or_default().trim();
    let validator = validator(schema).map_err(|problem| problem.message)?;
    let properties = schema.get("properties").and_then(Value::as_object);
    let names: Vec<String> = properties.into_iter().flat_map(Map::keys).cloned().collect();
    // An object may have been quoted on its way here.
    let words = split(given);
    let object = match words.as_slice() {
        [one] if one.starts_with('{') => Some(one.clone()),
        _ => Some(given.to_owned()).filter(|given| given.starts_with('{')),
    };
    let is_object = object.is_some();
    // What was written, where the data does not keep every digit of it.
    let mut written: Vec<(String, String)> = whole.defaults.clone();
    let mut data = if let Some(object) = object {
        serde_json::from_str(&object)
            .map_err(|error| format!("the arguments are no JSON: {error}"))?
    } else {
        let words = by_words(properties, &names, words)?;
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
    Ok(Fitting { data, names, list })
}

/// Returns the properties of a schema that have a default.
pub(crate) fn defaults(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.filter_map(|(name, property)| Some((name, property.get("default")?)))
}

/// Holds data to a schema.
pub(crate) fn holds(schema: &Value, data: &Value) -> Result<(), String> {
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

/// The name of an argument, with its text and its value.
type GivenArgument = (String, (String, Value));

fn by_words(
    properties: Option<&Map<String, Value>>,
    names: &[String],
    words: Vec<String>,
) -> Result<Vec<GivenArgument>, String> {
    let mut found: Vec<GivenArgument> = Vec::new();
    let schema = |name: &str| properties.and_then(|all| all.get(name));
    for word in words {
        let named = word.split_once('=').filter(|(name, _)| schema(name).is_some());
        let (name, text) = match named {
            Some((name, text)) => (name.to_owned(), text.to_owned()),
            None => {
                let is_found = |name: &&String| found.iter().any(|(known, _)| known == *name);
                let next = names.iter().find(|name| !is_found(name));
                let next = next.ok_or_else(|| {
                    format!("`{word}` is one argument too many; it takes: {}", names.join(", "))
                })?;
                (next.clone(), word)
            }
        };
        if found.iter().any(|(known, _)| *known == name) {
            return Err(format!("`{name}` is given twice"));
        }
        let value = typed(schema(&name), text.clone());
        found.push((name, (text, value)));
    }
    Ok(found)
}

/// Returns a word as what its schema asks for; a text where that does not fit, so that the schema says what is wrong.
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

    /// Fits arguments to a schema that is written as JSON.
    fn fit(schema: &Value, given: Option<&str>) -> Result<Fitting, String> {
        let defaults = defaults(schema).map(|(name, value)| (name.clone(), value.to_string()));
        let whole = ArgumentSchema { defaults: defaults.collect(), json: schema.clone() };
        super::fit(&whole, given)
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
    fn words_and_json_are_read_by_the_schema() {
        for (given, data) in [
            ("bees", json!({"topic": "bees"})),
            ("'honey bees' 3", json!({"topic": "honey bees", "rounds": 3})),
            ("deep=true bees", json!({"deep": true, "topic": "bees"})),
            ("{\"topic\": \"bees\", \"rounds\": 2}", json!({"topic": "bees", "rounds": 2})),
            ("42", json!({"topic": "42"})),
            (r#""{\"topic\": \"bees\"}""#, json!({"topic": "bees"})),
        ] {
            assert_eq!(fit(&schema(), Some(given)).unwrap().data, data, "{given}");
        }
        let fitting = fit(&schema(), Some("rounds=2 bees")).unwrap();
        assert_eq!(fitting.names, ["topic", "rounds", "deep"]);
        let texts = [Some("bees".to_owned()), Some("2".to_owned()), None];
        assert_eq!(fitting.list, texts);
        let number = json!({"type": "object", "properties": {"n": {"type": "number"}}});
        assert_eq!(fit(&number, Some("0.10")).unwrap().list, [Some("0.10".to_owned())]);
        let mut schema = schema();
        schema["properties"]["rounds"]["default"] = json!(4);
        assert_eq!(fit(&schema, Some("bees")).unwrap().data, json!({"topic": "bees", "rounds": 4}));
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (given, told) in [
            (None, "topic"),
            (Some(""), "topic"),
            (Some("x"), "topic"),
            (Some("bees many"), "rounds"),
            (Some("bees 10"), "rounds"),
            (Some("bees 1 true more"), "one argument too many"),
            (Some("topic=a1 topic=b2"), "given twice"),
            (Some("{\"topic\": 1}"), "topic"),
            (Some("{\"topic\": \"bees\", \"other\": 1}"), "other"),
            (Some("{"), "no JSON"),
        ] {
            let told_is = fit(&schema(), given).unwrap_err();
            assert!(told_is.contains(told), "{given:?}: {told_is}");
        }
    }

    #[test]
    fn a_schema_reaches_nothing_and_costs_little() {
        for reference in ["file:///etc/passwd", "http://evil.example/x.json", "other.json"] {
            let schema = json!({"type": "object", "properties": {"a": {"$ref": reference}}});
            let error = fit(&schema, Some("x")).unwrap_err();
            assert!(error.contains("cannot be used"), "{error}");
        }
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}});
        let given = format!("{}!", "a".repeat(40_000));
        assert!(fit(&schema, Some(&given)).is_err());
        // References that double what they refer to, forty times.
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = format!("#/$defs/d{}", level + 1);
            definitions
                .insert(format!("d{level}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
        }
        definitions.insert("d40".to_owned(), json!({"type": "object"}));
        let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        assert!(fit(&schema, Some("{}")).unwrap_err().contains("grows too much"));
        let tree = json!({"type": "object", "properties": {"a": {"type": "string"}, "more": {"$ref": "#"}}});
        assert!(fit(&tree, Some("x")).is_ok());
        assert!(fit(&json!({"type": "nonsense"}), Some("x")).is_err());
        assert!(fit(&json!(true), Some("x")).is_err());
    }
}
