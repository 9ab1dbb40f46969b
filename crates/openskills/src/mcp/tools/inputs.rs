//! What the tools take: one struct each, from which the schema that clients see and the reading of a call both come.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Failure;
use super::file::{MAX_PART, PART};
use super::run::MAX_SECONDS;
use crate::mcp::schemas::input_schema;

/// The two keys for the skill that a call is about: its name or id, and its id as the runtime's records call it.
pub(super) const NAME: &str = "name";
pub(super) const SKILL_ID: &str = "skillId";

/// The keys that only a server with a workspace lists.
pub(in crate::mcp) const WORKSPACE_KEYS: [&str; 2] = ["use_workspace", "dry_run"];

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct ListInput {
    /// Words to look for
    pub(super) query: Option<String>,
    /// Where the last answer said that more begins
    pub(super) cursor: Option<String>,
}

/// The skill that a call is about, under either of two keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct SkillInput {
    /// The name or the id of a skill
    name: Option<String>,
    /// The id of a skill, in place of `name`
    #[serde(rename = "skillId")]
    skill_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct ReadInput {
    #[serde(flatten)]
    pub(super) skill: SkillInput,
    /// What the skill is to work on, if its instructions ask for arguments
    pub(super) arguments: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct ReadResourceInput {
    #[serde(flatten)]
    pub(super) skill: SkillInput,
    /// The path, seen from the skill
    pub(super) path: String,
    /// Where to begin, in bytes
    pub(super) offset: Option<u64>,
    #[schemars(extend("minimum" = 1, "maximum" = MAX_PART, "description" = format!("The most bytes to give; {PART} by default")))]
    pub(super) limit: Option<u64>,
    /// Allow files more than one folder deep
    #[serde(default)]
    pub(super) nested: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct RunScriptInput {
    #[serde(flatten)]
    pub(super) skill: SkillInput,
    /// The script or module, seen from the skill; the only one by default
    pub(super) script: Option<String>,
    /// Its arguments
    #[serde(default)]
    pub(super) args: Vec<String>,
    /// What it is given as JSON, on standard input
    #[serde(default)]
    pub(super) input: Value,
    #[schemars(extend("minimum" = 1, "maximum" = MAX_SECONDS))]
    pub(super) timeout_seconds: Option<u64>,
    /// Seed for the module's random numbers and clocks
    pub(super) seed: Option<u64>,
    /// Work in the workspace instead of an empty folder; what it writes is applied if it ends well
    #[serde(default)]
    pub(super) use_workspace: bool,
    /// Show what it would change in the workspace, and change nothing
    #[serde(default)]
    pub(super) dry_run: bool,
}

impl SkillInput {
    /// Returns the skill that is meant, by its name or id.
    pub(super) fn chosen(self) -> Result<String, Failure> {
        match (self.name, self.skill_id) {
            (Some(name), None) | (None, Some(name)) => Ok(name),
            (Some(name), Some(id)) if name == id || id.ends_with(&format!("/{name}")) => Ok(id),
            (Some(_), Some(_)) => Err(Failure::Arguments(format!(
                "`{NAME}` and `{SKILL_ID}` refer to different skills; give only one of them"
            ))),
            (None, None) => Err(Failure::Arguments(format!("`{NAME}` is missing"))),
        }
    }
}

/// Returns the skill that a call names, whatever else is wrong with it.
pub(in crate::mcp) fn named(arguments: &JsonObject) -> Option<String> {
    let given = arguments.get(SKILL_ID).or_else(|| arguments.get(NAME));
    given.and_then(Value::as_str).map(str::to_owned)
}

/// Reads the arguments of a call. Null counts as absent. What is wrong is said by the schema's names.
pub(super) fn parse<T: DeserializeOwned + JsonSchema>(arguments: JsonObject) -> Result<T, Failure> {
    check(&input_schema::<T>(), &arguments).map_err(Failure::Arguments)?;
    let given: JsonObject = arguments.into_iter().filter(|(_, value)| !value.is_null()).collect();
    serde_json::from_value(Value::Object(given))
        .map_err(|error| Failure::Arguments(error.to_string()))
}

/// Says what is wrong with arguments, in words that name the one.
fn check(schema: &JsonObject, given: &JsonObject) -> Result<(), String> {
    let known = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|all| all.iter().any(|one| one == key));
    for (key, expected) in known.clone() {
        match given.get(key).filter(|value| !value.is_null()) {
            Some(value) => check_value(key, expected, value)?,
            None if is_required(key) => return Err(format!("`{key}` is missing")),
            None => {}
        }
    }
    match given.keys().find(|key| !known.clone().any(|(name, _)| name == *key)) {
        Some(key) => Err(format!("there is no argument `{key}`")),
        None => Ok(()),
    }
}

fn check_value(key: &str, expected: &Value, value: &Value) -> Result<(), String> {
    let must = |is_so: bool, what: &str| {
        if is_so { Ok(()) } else { Err(format!("`{key}` must be {what}")) }
    };
    match expected["type"].as_str() {
        Some("string") => must(value.is_string(), "a text"),
        Some("boolean") => must(value.is_boolean(), "true or false"),
        Some("array") => {
            let is_text = |items: &Vec<Value>| items.iter().all(Value::is_string);
            must(value.as_array().is_some_and(is_text), "a list of texts")
        }
        Some("integer") => {
            must(value.as_u64().is_some(), "a whole number, zero or more")?;
            match (expected["minimum"].as_u64(), expected["maximum"].as_u64(), value.as_u64()) {
                (Some(least), Some(most), Some(number)) => {
                    let range = format!("between {least} and {most}");
                    must((least..=most).contains(&number), &range)
                }
                _ => Ok(()),
            }
        }
        // Anything.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn wrong<T: DeserializeOwned + JsonSchema>(arguments: Value) -> String {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        match parse::<T>(arguments) {
            Err(Failure::Arguments(what)) => what,
            Err(Failure::Runtime(error)) => error.to_string(),
            Ok(_) => "nothing".to_owned(),
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let all = [
            wrong::<ListInput>(json!({})),
            wrong::<ListInput>(json!({"query": null, "cursor": "5"})),
            wrong::<ListInput>(json!({"query": 5})),
            wrong::<ListInput>(json!({"other": null})),
            wrong::<ReadResourceInput>(json!({"name": "pdf"})),
            wrong::<ReadResourceInput>(json!({"path": null})),
            wrong::<ReadResourceInput>(json!({"path": "a", "nested": "yes"})),
            wrong::<ReadResourceInput>(json!({"path": "a", "nested": null, "offset": 0})),
            wrong::<ReadResourceInput>(json!({"path": "a", "offset": -1})),
            wrong::<ReadResourceInput>(json!({"path": "a", "offset": 1.5})),
            wrong::<ReadResourceInput>(json!({"path": "a", "limit": 0})),
            wrong::<RunScriptInput>(json!({"args": ["a", 1]})),
            wrong::<RunScriptInput>(json!({"args": "a"})),
            wrong::<RunScriptInput>(json!({"timeout_seconds": 601})),
            wrong::<RunScriptInput>(json!({"args": null, "input": [1, {"a": null}], "seed": 7})),
        ];
        expect![[r#"
            nothing
            nothing
            `query` must be a text
            there is no argument `other`
            `path` is missing
            `path` is missing
            `nested` must be true or false
            nothing
            `offset` must be a whole number, zero or more
            `offset` must be a whole number, zero or more
            `limit` must be between 1 and 4194304
            `args` must be a list of texts
            `args` must be a list of texts
            `timeout_seconds` must be between 1 and 600
            nothing
        "#]]
        .assert_eq(&(all.join("\n") + "\n"));
    }
}
