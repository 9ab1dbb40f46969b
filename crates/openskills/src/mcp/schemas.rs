//! The descriptions and schemas of the tools. The schemas are derived from the structs of their arguments and results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use openskills_runtime::{Skill, one_line};
use rmcp::model::{self, JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::server::ServeConfig;
use super::tools::Tool;
use super::tools::inputs::{
    ListInput, ReadInput, ReadResourceInput, RunCommandInput, RunScriptInput, WORKSPACE_KEYS,
};
use super::tools::outputs::ListOutput;

/// The schemas list the names of the skills only up to this number of skills, because schemas use tokens in every
/// conversation. More skills can be listed with the tool.
pub(super) const MAX_NAMES: usize = 20;

/// Returns the descriptions of the tools; `skills` are the available skills.
pub(super) fn tools(config: &ServeConfig, skills: &[Arc<Skill>]) -> Vec<model::Tool> {
    Tool::offered(config).into_iter().map(|tool| describe(tool, config, skills)).collect()
}

fn describe(tool: Tool, config: &ServeConfig, skills: &[Arc<Skill>]) -> model::Tool {
    let has_workspace = config.workspace.is_some();
    let read_only = || ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    let (title, description, input, annotations) = match tool {
        Tool::List => (
            "List skills",
            "Lists the available skills: what each one does and when to use it. \
             With `query`, the best matches come first.",
            input_schema::<ListInput>(),
            read_only(),
        ),
        Tool::Read => (
            "Read a skill",
            "Activates a skill: returns its instructions and file names. \
             Follow the instructions for the task at hand.",
            with_names(input_schema::<ReadInput>(), skills),
            read_only(),
        ),
        Tool::ReadResource => (
            "Read a skill file",
            "Reads a skill file by its path relative to the skill's folder, such as references/guide.md. \
             Long texts are returned in parts, each with instructions for getting the next one. \
             If the path is a folder, lists its files.",
            with_names(input_schema::<ReadResourceInput>(), skills),
            read_only(),
        ),
        Tool::RunScript => {
            let mut schema = with_names(input_schema::<RunScriptInput>(), skills);
            if !has_workspace {
                for key in WORKSPACE_KEYS {
                    properties(&mut schema).and_then(|all| all.shift_remove(key));
                }
            }
            (
                "Run a skill script",
                "Runs one of a skill's scripts in a sandbox, if the user has approved the skill. \
                 Returns the output, the exit code and the changed files.",
                schema,
                ToolAnnotations::new()
                    .read_only(false)
                    .destructive(has_workspace)
                    // Scripts can reach hosts that the user approved.
                    .open_world(true),
            )
        }
        Tool::RunCommand => (
            "Run a command",
            "Runs a command line in the workspace, in a sandbox that allows only what every active skill may do. \
             Processes in the background keep running for later calls. \
             Returns the output and the exit code.",
            input_schema::<RunCommandInput>(),
            ToolAnnotations::new().read_only(false).destructive(true).open_world(true),
        ),
    };
    let description = model::Tool::new(tool.name(config.tool_names), description, Arc::new(input))
        .with_title(title)
        .with_annotations(annotations);
    match tool {
        Tool::List => description.with_raw_output_schema(Arc::new(output_schema::<ListOutput>())),
        Tool::Read | Tool::ReadResource | Tool::RunScript | Tool::RunCommand => description,
    }
}

/// Returns the schema of a tool's arguments.
pub(super) fn input_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = simplify(derived::<T>());
    schema.entry("required").or_insert_with(|| json!([]));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// Returns the schema of a tool's structured content.
fn output_schema<T: JsonSchema>() -> JsonObject {
    simplify(derived::<T>())
}

/// Returns a schema without references, because some clients do not resolve them.
fn derived<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        // This is the doc comment of the struct, which is for readers of the code.
        schema.shift_remove("description");
    }
    schema
}

/// Removes what strict clients reject or what only uses tokens: formats, defaults, titles, and null for optional
/// properties.
fn simplify(schema: Value) -> JsonObject {
    let Value::Object(mut schema) = schema else { return JsonObject::new() };
    for key in ["$schema", "title", "format", "default"] {
        schema.shift_remove(key);
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = types.as_slice() {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            *property = Value::Object(simplify(property.take()));
        }
    }
    if let Some(items) = schema.get_mut("items") {
        *items = Value::Object(simplify(items.take()));
    }
    schema
}

fn properties(schema: &mut JsonObject) -> Option<&mut JsonObject> {
    schema.get_mut("properties")?.as_object_mut()
}

/// Adds the names of the skills to the schema, unless there are too many.
fn with_names(mut schema: JsonObject, skills: &[Arc<Skill>]) -> JsonObject {
    let should_list = !skills.is_empty() && skills.len() <= MAX_NAMES;
    let name = properties(&mut schema).and_then(|all| all.get_mut("name"));
    if let Some(name) = name.filter(|_| should_list) {
        name["enum"] = json!(unique_names(skills));
    }
    schema
}

/// Returns the name of each skill, or its ID if several skills have the same name.
fn unique_names(skills: &[Arc<Skill>]) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for skill in skills {
        *counts.entry(one_line(&skill.name)).or_default() += 1;
    }
    let unique_name = |skill: &Arc<Skill>| {
        let name = one_line(&skill.name);
        if counts.get(&name) == Some(&1) { name } else { skill.id.clone() }
    };
    skills.iter().map(unique_name).collect()
}
