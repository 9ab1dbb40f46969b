//! The tools as a client is told of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use openskills_runtime::{Skill, one_line};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::server::Served;
use super::tools::Which;
use super::tools::file::{MOST, PART};
use super::tools::run::MOST_SECONDS;

/// With more skills than these their names are not written into the schemas: the list is a tool of its own, and every client pays for the schemas in
/// every conversation.
pub(super) const MOST_NAMES: usize = 20;

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
    let id = text("The id of a skill, in place of `name`");
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
            json!({"name": name, "skillId": id, "arguments": text("What the skill is to work on, if its instructions ask for arguments")}),
            json!([]),
            ToolAnnotations::new().read_only(true).idempotent(true).open_world(false),
        ),
        Which::ReadResource => (
            "Read a file of a skill",
            "Reads a file of a skill by its path below the skill's folder, such as references/guide.md. Of a long text it gives a part, and says how to get the next; of a folder it lists the files.",
            json!({
                "name": name,
                "skillId": id,
                "path": text("The path, seen from the skill"),
                "offset": {"type": "integer", "minimum": 0, "description": "Where to begin, in bytes"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": format!("The most bytes to give; {PART} by default")},
                "nested": {"type": "boolean", "description": "Allow files more than one folder deep"},
            }),
            json!(["path"]),
            ToolAnnotations::new().read_only(true).idempotent(true).open_world(false),
        ),
        Which::RunScript => {
            let mut properties = json!({
                "name": name,
                "skillId": id,
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
                json!([]),
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
    let tool = Tool::new(which.name(served.names), description, Arc::new(object(schema)))
        .with_title(title)
        .with_annotations(annotations);
    match which {
        Which::List => tool.with_raw_output_schema(Arc::new(object(list_schema()))),
        Which::Read | Which::ReadResource | Which::RunScript => tool,
    }
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

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn list_schema() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {
            "skills": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "id": text(), "skillId": text(), "name": text(), "description": text(), "source": text(), "uri": text(), "server": text(),
                },
                "required": ["id", "skillId", "name", "description", "source", "uri"],
            }},
            "nextCursor": text(),
        },
        "required": ["skills"],
    })
}
