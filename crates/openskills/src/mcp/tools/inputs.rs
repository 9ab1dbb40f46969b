//! The arguments of the tools. The schemas that clients see are derived from these structs.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Failure;
use super::file::{DEFAULT_PART, MAX_PART};
use super::run::MAX_SECONDS;
use crate::mcp::schemas::input_schema;

/// The key for the name or ID of the skill.
pub(super) const NAME: &str = "name";
/// The key for the ID of the skill, as it is named in the runtime's records.
pub(super) const SKILL_ID: &str = "skillId";

/// The arguments that are only listed if the server has a workspace.
pub(in crate::mcp) const WORKSPACE_KEYS: [&str; 2] = ["use_workspace", "dry_run"];

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct ListInput {
    /// Search terms
    pub(super) query: Option<String>,
    /// Cursor from the previous result, to get the next page
    pub(super) cursor: Option<String>,
}

/// The skill, given by either of two keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct SkillInput {
    /// Skill name or ID
    name: Option<String>,
    /// Skill ID, instead of `name`
    #[serde(rename = "skillId")]
    skill_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct ReadInput {
    #[serde(flatten)]
    pub(super) skill: SkillInput,
    /// What the skill should work on, if its instructions take arguments
    pub(super) arguments: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct ReadResourceInput {
    #[serde(flatten)]
    pub(super) skill: SkillInput,
    /// Path relative to the skill's folder
    pub(super) path: String,
    /// Byte offset to start at
    pub(super) offset: Option<u64>,
    #[schemars(extend(
        "minimum" = 1,
        "maximum" = MAX_PART,
        "description" = format!("Maximum number of bytes to return; default {DEFAULT_PART}")
    ))]
    pub(super) limit: Option<u64>,
    /// Allow files more than one folder deep
    #[serde(default)]
    pub(super) nested: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct RunScriptInput {
    #[serde(flatten)]
    pub(super) skill: SkillInput,
    /// Path of the script or module, relative to the skill's folder; optional if there is only one
    pub(super) script: Option<String>,
    /// Arguments for the script
    #[serde(default)]
    pub(super) args: Vec<String>,
    /// JSON value to pass to the script on stdin
    #[serde(default)]
    pub(super) input: Value,
    #[schemars(extend("minimum" = 1, "maximum" = MAX_SECONDS))]
    pub(super) timeout_seconds: Option<u64>,
    /// Seed for the module's random numbers and clocks
    pub(super) seed: Option<u64>,
    /// Run in the workspace instead of an empty folder; changes are applied only if the script exits with 0
    #[serde(default)]
    pub(super) use_workspace: bool,
    /// Return the changes that the script would make in the workspace, without applying them
    #[serde(default)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::mcp) struct RunCommandInput {
    /// Command line for bash; `cd` stays in effect for the next call
    pub(super) command: String,
    /// Time limit in seconds; none by default
    #[schemars(extend("minimum" = 1, "maximum" = MAX_COMMAND_SECONDS))]
    pub(super) timeout_seconds: Option<u64>,
}

/// The maximum timeout of a command line, in seconds.
const MAX_COMMAND_SECONDS: u64 = 24 * 60 * 60;

impl SkillInput {
    /// Returns the name or ID of the skill.
    pub(super) fn name_or_id(self) -> Result<String, Failure> {
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

/// Returns the skill that a call is for, even if other arguments are invalid.
pub(in crate::mcp) fn skill_argument(arguments: &JsonObject) -> Option<String> {
    let skill = arguments.get(SKILL_ID).or_else(|| arguments.get(NAME));
    skill.and_then(Value::as_str).map(str::to_owned)
}

/// Parses the arguments of a call. Null counts as absent.
pub(super) fn parse<T: DeserializeOwned + JsonSchema>(arguments: JsonObject) -> Result<T, Failure> {
    check(&input_schema::<T>(), &arguments).map_err(Failure::Arguments)?;
    let given: JsonObject = arguments.into_iter().filter(|(_, value)| !value.is_null()).collect();
    serde_json::from_value(Value::Object(given))
        .map_err(|error| Failure::Arguments(error.to_string()))
}

/// Checks arguments against the schema. The error names the invalid argument.
fn check(schema: &JsonObject, given: &JsonObject) -> Result<(), String> {
    let known = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|keys| keys.iter().any(|one| one == key));
    for (key, expected) in known.clone() {
        match given.get(key).filter(|value| !value.is_null()) {
            Some(value) => check_value(key, expected, value)?,
            None if is_required(key) => return Err(format!("`{key}` is missing")),
            None => {}
        }
    }
    match given.keys().find(|key| !known.clone().any(|(name, _)| name == *key)) {
        Some(key) => Err(format!("unknown argument `{key}`")),
        None => Ok(()),
    }
}

fn check_value(key: &str, expected: &Value, value: &Value) -> Result<(), String> {
    let require = |is_valid: bool, what: &str| {
        if is_valid { Ok(()) } else { Err(format!("`{key}` must be {what}")) }
    };
    match expected["type"].as_str() {
        Some("string") => require(value.is_string(), "a string"),
        Some("boolean") => require(value.is_boolean(), "true or false"),
        Some("array") => {
            let are_strings = |items: &Vec<Value>| items.iter().all(Value::is_string);
            require(value.as_array().is_some_and(are_strings), "an array of strings")
        }
        Some("integer") => {
            require(value.as_u64().is_some(), "a non-negative integer")?;
            match (expected["minimum"].as_u64(), expected["maximum"].as_u64(), value.as_u64()) {
                (Some(min), Some(max), Some(number)) => {
                    let range = format!("between {min} and {max}");
                    require((min..=max).contains(&number), &range)
                }
                _ => Ok(()),
            }
        }
        // Any JSON value.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn error_of<T: DeserializeOwned + JsonSchema>(arguments: Value) -> String {
        let Value::Object(arguments) = arguments else { panic!("not an object") };
        match parse::<T>(arguments) {
            Err(Failure::Arguments(message)) => message,
            Err(Failure::Runtime(error)) => error.to_string(),
            Ok(_) => "ok".to_owned(),
        }
    }

    #[test]
    fn an_error_names_the_invalid_argument() {
        let all = [
            error_of::<ListInput>(json!({})),
            error_of::<ListInput>(json!({"query": null, "cursor": "5"})),
            error_of::<ListInput>(json!({"query": 5})),
            error_of::<ListInput>(json!({"other": null})),
            error_of::<ReadResourceInput>(json!({"name": "pdf"})),
            error_of::<ReadResourceInput>(json!({"path": null})),
            error_of::<ReadResourceInput>(json!({"path": "a", "nested": "yes"})),
            error_of::<ReadResourceInput>(json!({"path": "a", "nested": null, "offset": 0})),
            error_of::<ReadResourceInput>(json!({"path": "a", "offset": -1})),
            error_of::<ReadResourceInput>(json!({"path": "a", "offset": 1.5})),
            error_of::<ReadResourceInput>(json!({"path": "a", "limit": 0})),
            error_of::<RunScriptInput>(json!({"args": ["a", 1]})),
            error_of::<RunScriptInput>(json!({"args": "a"})),
            error_of::<RunScriptInput>(json!({"timeout_seconds": 601})),
            error_of::<RunScriptInput>(json!({"args": null, "input": [1, {"a": null}], "seed": 7})),
        ];
        expect![[r#"
            ok
            ok
            `query` must be a string
            unknown argument `other`
            `path` is missing
            `path` is missing
            `nested` must be true or false
            ok
            `offset` must be a non-negative integer
            `offset` must be a non-negative integer
            `limit` must be between 1 and 4194304
            `args` must be an array of strings
            `args` must be an array of strings
            `timeout_seconds` must be between 1 and 600
            ok
        "#]]
        .assert_eq(&(all.join("\n") + "\n"));
    }
}
