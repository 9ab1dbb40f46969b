//! The tools as a client is told of them. Their schemas are derived from what the tools take and answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use openskills_runtime::{Skill, one_line};
use rmcp::model::{self, JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::server::Served;
use super::tools::Tool;
use super::tools::inputs::{
    ListInput, ReadInput, ReadResourceInput, RunScriptInput, WORKSPACE_KEYS,
};
use super::tools::outputs::ListOutput;

/// With more skills than these their names are not written into the schemas: the list is a tool of its own, and every client pays for the schemas in
/// every conversation.
pub(super) const MAX_NAMES: usize = 20;

/// Returns the tools as a client is told of them; `skills` are those that can be used.
pub(super) fn tools(served: &Served, skills: &[Arc<Skill>]) -> Vec<model::Tool> {
    Tool::ALL.into_iter().map(|tool| listing(tool, served, skills)).collect()
}

fn listing(tool: Tool, served: &Served, skills: &[Arc<Skill>]) -> model::Tool {
    let has_workspace = served.workspace.is_some();
    let reads = || ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    let (title, description, input, annotations) = match tool {
        Tool::List => (
            "List skills",
            "Lists the skills that there are: what each does and when to use it. With `query` the best matches come first.",
            input_schema::<ListInput>(),
            reads(),
        ),
        Tool::Read => (
            "Read a skill",
            "Activates a skill: returns its instructions and the names of its files. Follow the instructions for the task at hand.",
            with_names(input_schema::<ReadInput>(), skills),
            reads(),
        ),
        Tool::ReadResource => (
            "Read a file of a skill",
            "Reads a file of a skill by its path below the skill's folder, such as references/guide.md. Of a long text it gives a part, and says how to get the next; of a folder it lists the files.",
            with_names(input_schema::<ReadResourceInput>(), skills),
            reads(),
        ),
        Tool::RunScript => {
            let mut schema = with_names(input_schema::<RunScriptInput>(), skills);
            if !has_workspace {
                for key in WORKSPACE_KEYS {
                    properties(&mut schema).and_then(|all| all.shift_remove(key));
                }
            }
            (
                "Run a script of a skill",
                "Runs a script of a skill in a sandbox, if the user has approved it. Returns its output, its exit code and what it changed.",
                schema,
                ToolAnnotations::new()
                    .read_only(false)
                    .destructive(has_workspace)
                    // Hosts that the user approved.
                    .open_world(true),
            )
        }
    };
    let listing = model::Tool::new(tool.name(served.names), description, Arc::new(input))
        .with_title(title)
        .with_annotations(annotations);
    match tool {
        Tool::List => listing.with_raw_output_schema(Arc::new(output_schema::<ListOutput>())),
        Tool::Read | Tool::ReadResource | Tool::RunScript => listing,
    }
}

/// Returns the schema of what a tool takes.
pub(super) fn input_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = plain(derived::<T>());
    schema.entry("required").or_insert_with(|| json!([]));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// Returns the schema of what a tool answers as data.
fn output_schema<T: JsonSchema>() -> JsonObject {
    plain(derived::<T>())
}

/// Returns a schema without references: not every client follows them.
fn derived<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        // The type's own comment is for those who read the code.
        schema.shift_remove("description");
    }
    schema
}

/// Takes out what strict clients do not know, and what every client would pay for: formats, defaults, titles, and null where absent is meant.
fn plain(schema: Value) -> JsonObject {
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
            *property = Value::Object(plain(property.take()));
        }
    }
    if let Some(items) = schema.get_mut("items") {
        *items = Value::Object(plain(items.take()));
    }
    schema
}

fn properties(schema: &mut JsonObject) -> Option<&mut JsonObject> {
    schema.get_mut("properties")?.as_object_mut()
}

/// Names the skills that there are, if they are few.
fn with_names(mut schema: JsonObject, skills: &[Arc<Skill>]) -> JsonObject {
    let is_few = !skills.is_empty() && skills.len() <= MAX_NAMES;
    let name = properties(&mut schema).and_then(|all| all.get_mut("name"));
    if let Some(name) = name.filter(|_| is_few) {
        name["enum"] = json!(called(skills));
    }
    schema
}

/// Returns what skills are called by: a name that means one of them, else an id.
fn called(skills: &[Arc<Skill>]) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for skill in skills {
        *counts.entry(one_line(&skill.name)).or_default() += 1;
    }
    let word = |skill: &Arc<Skill>| {
        let name = one_line(&skill.name);
        if counts.get(&name) == Some(&1) { name } else { skill.id.clone() }
    };
    skills.iter().map(word).collect()
}
