//! The tools as a client is told of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use openskills_runtime::{Skill, one_line};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::server::Served;
use super::tools::{MOST_SECONDS, Which};

/// With more skills than these their names are not written into the schemas: the list is a tool of its own.
pub(super) const MOST_NAMES: usize = 200;

/// Returns the tools as a client is told of them; `skills` are those that can be used.
pub(super) fn tools(served: &Served, skills: &[Arc<Skill>]) -> Vec<Tool> {
    Which::ALL.into_iter().map(|which| tool(which, served, skills)).collect()
}

fn tool(which: Which, served: &Served, skills: &[Arc<Skill>]) -> Tool {
    let has_workspace = served.workspace.is_some();
    let mut name = json!({"type": "string", "description": "The name or the id of a skill"});
    if !skills.is_empty() && skills.len() <= MOST_NAMES {
        name["enum"] = json!(called(skills));
    }
    let text = |what: &str| json!({"type": "string", "description": what});
    let (title, description, properties, required, annotations) = match which {
        Which::List => (
            "List skills",
            "Lists the skills that there are: what each does and when to use it. With `query` the best matches come first.",
            json!({"query": text("Words to look for"), "cursor": text("Where the last answer said that more begins")}),
            json!([]),
            ToolAnnotations::new().read_only(true).idempotent(true).open_world(false),
        ),
        Which::Read => (
            "Read a skill",
            "Activates a skill: returns its instructions and the names of its files. Follow the instructions for the task at hand.",
            json!({"name": name, "arguments": text("What the skill is to work on, if its instructions ask for arguments")}),
            json!(["name"]),
            ToolAnnotations::new().read_only(true).idempotent(true).open_world(false),
        ),
        Which::ReadResource => (
            "Read a file of a skill",
            "Reads a file of a skill by its path below the skill's folder, such as references/guide.md.",
            json!({"name": name, "path": text("The path, seen from the skill")}),
            json!(["name", "path"]),
            ToolAnnotations::new().read_only(true).idempotent(true).open_world(false),
        ),
        Which::RunScript => {
            let mut properties = json!({
                "name": name,
                "script": text("The script or module, seen from the skill; the only one by default"),
                "args": {"type": "array", "items": {"type": "string"}, "description": "Its arguments"},
                "input": {"description": "What it is given as JSON, on standard input"},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS},
                "seed": {"type": "integer", "minimum": 0, "description": "Fixes what a module is told of chance and time"},
            });
            if has_workspace {
                properties["use_workspace"] = json!({"type": "boolean", "description": "Work in the workspace instead of an empty folder; what it writes is committed if it ends well"});
                properties["dry_run"] = json!({"type": "boolean", "description": "Show what it would change in the workspace, and change nothing"});
            }
            (
                "Run a script of a skill",
                "Runs a script of a skill in a sandbox, if the user has approved it. Returns its output, its exit code and what it changed.",
                properties,
                json!(["name"]),
                ToolAnnotations::new()
                    .read_only(false)
                    .destructive(has_workspace)
                    // Hosts that the user approved.
                    .open_world(true),
            )
        }
    };
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    Tool::new(which.name(served.names), description, Arc::new(object(schema)))
        .with_title(title)
        .with_raw_output_schema(Arc::new(object(output_schema(which))))
        .with_annotations(annotations)
}

/// Returns what skills can be called by: their ids, and names that mean one of them.
fn called(skills: &[Arc<Skill>]) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for skill in skills {
        *counts.entry(one_line(&skill.name)).or_default() += 1;
    }
    let names = counts.into_iter().filter(|(_, count)| *count == 1).map(|(name, _)| name);
    names.chain(skills.iter().map(|skill| skill.id.clone())).collect()
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn output_schema(which: Which) -> Value {
    let text = || json!({"type": "string"});
    let (properties, required) = match which {
        Which::List => (
            json!({
                "skills": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"id": text(), "name": text(), "description": text(), "source": text(), "uri": text(), "server": text()},
                    "required": ["id", "name", "description", "source", "uri"],
                }},
                "nextCursor": text(),
            }),
            json!(["skills"]),
        ),
        Which::Read => (
            json!({
                "id": text(), "name": text(), "content": text(), "hash": text(), "source": text(),
                "files": {"type": "array", "items": text()}, "moreFiles": {"type": "integer"},
            }),
            json!(["id", "name", "content", "hash", "source", "files", "moreFiles"]),
        ),
        Which::ReadResource => (
            json!({"uri": text(), "path": text(), "sha256": text(), "size": {"type": "integer"}, "text": text(), "base64": text()}),
            json!(["uri", "path", "sha256", "size"]),
        ),
        Which::RunScript => (
            json!({
                "exitCode": {"type": "integer"}, "exitStatus": text(), "stdout": text(), "stderr": text(), "output": {},
                "changes": {"type": "array", "items": text()}, "committed": {"type": "boolean"},
                "tried": {"type": "array", "items": text()}, "note": text(), "diff": text(), "notCommitted": text(),
                "notGranted": {"type": "array", "items": text()}, "review": text(),
                "cut": {"type": "array", "items": text()},
            }),
            json!(["exitCode", "exitStatus", "stdout", "stderr", "changes", "committed", "tried"]),
        ),
    };
    json!({"type": "object", "properties": properties, "required": required})
}
