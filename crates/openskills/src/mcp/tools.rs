//! The tools: list skills, read one, read a file of one, run a script of one.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use openskills_runtime::permit::Asked;
use openskills_runtime::uri::uri;
use openskills_runtime::{
    ActivateOptions, Cancel, Depth, Execution, ExecutionOptions, Input, Invoker, OpenSkillRuntime,
    ReadOptions, RuntimeError, Skill, Stage, one_line,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use super::catalogue::{
    MAX_BYTES, base64, own_path, page, page_for_model, served_path, tagged, told,
};
use super::server::{Served, ToolNames};
use crate::commands::run::code_of;

/// How many skills one call lists.
const PAGE: usize = 100;
/// The longest that a script may take.
pub(super) const MOST_SECONDS: u64 = 600;

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    List,
    Read,
    ReadResource,
    RunScript,
}

impl Which {
    pub(super) const ALL: [Self; 4] = [Self::List, Self::Read, Self::ReadResource, Self::RunScript];

    /// Returns its name.
    pub(super) fn name(self, names: ToolNames) -> &'static str {
        match (self, names) {
            (Self::List, ToolNames::Dots) => "skills.list",
            (Self::List, ToolNames::Underscore) => "skills_list",
            (Self::Read, ToolNames::Dots) => "skills.read",
            (Self::Read, ToolNames::Underscore) => "skills_read",
            (Self::ReadResource, ToolNames::Dots) => "skills.read_resource",
            (Self::ReadResource, ToolNames::Underscore) => "skills_read_resource",
            (Self::RunScript, ToolNames::Dots) => "skills.run_script",
            (Self::RunScript, ToolNames::Underscore) => "skills_run_script",
        }
    }
}

/// What is wrong with a call, or what became of it.
pub(super) enum Failure {
    /// The arguments are not those of the tool.
    Arguments(String),
    /// The runtime refused it, or failed.
    Runtime(RuntimeError),
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(error)
    }
}

impl Failure {
    /// Returns it as the model is told of it.
    pub(super) fn result(&self) -> CallToolResult {
        let text = match self {
            Self::Arguments(what) => one_line(what),
            Self::Runtime(error) => {
                let hint = error.hint().map(|hint| format!("\nhint: {}", one_line(&hint)));
                format!("{}{}", one_line(&told(error)), hint.unwrap_or_default())
            }
        };
        CallToolResult::error(vec![ContentBlock::text(text)])
    }
}

/// The arguments of a call, taken one by one; what is left is a slip.
struct Arguments(JsonObject);

impl Arguments {
    fn text(&mut self, key: &str) -> Result<Option<String>, Failure> {
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Failure::Arguments(format!("`{key}` must be a text"))),
        }
    }

    fn required(&mut self, key: &str) -> Result<String, Failure> {
        self.text(key)?.ok_or_else(|| Failure::Arguments(format!("`{key}` is missing")))
    }

    fn number(&mut self, key: &str) -> Result<Option<u64>, Failure> {
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| {
                Failure::Arguments(format!("`{key}` must be a whole number, zero or more"))
            }),
        }
    }

    fn flag(&mut self, key: &str) -> Result<bool, Failure> {
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Failure::Arguments(format!("`{key}` must be true or false"))),
        }
    }

    fn texts(&mut self, key: &str) -> Result<Vec<String>, Failure> {
        let wrong = || Failure::Arguments(format!("`{key}` must be a list of texts"));
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .into_iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect(),
            Some(_) => Err(wrong()),
        }
    }

    fn end(self) -> Result<(), Failure> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(key) => Err(Failure::Arguments(format!("there is no argument `{key}`"))),
        }
    }
}

/// What answers a call that only reads.
pub(super) type Reading =
    fn(&mut OpenSkillRuntime, JsonObject, ToolNames) -> Result<CallToolResult, Failure>;

impl Which {
    /// Returns what answers it, if it only reads.
    pub(super) fn reading(self) -> Option<Reading> {
        match self {
            Self::List => Some(list),
            Self::Read => Some(read),
            Self::ReadResource => Some(read_resource),
            Self::RunScript => None,
        }
    }
}

/// Returns data with the same as text, for clients that read only that.
fn answered(data: Value, text: String) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(data);
    result
}

fn list(
    runtime: &mut OpenSkillRuntime,
    arguments: JsonObject,
    _: ToolNames,
) -> Result<CallToolResult, Failure> {
    let mut arguments = Arguments(arguments);
    let (query, cursor) = (arguments.text("query")?, arguments.text("cursor")?);
    arguments.end()?;
    let wrong = |error: rmcp::ErrorData| Failure::Arguments(error.message.to_string());
    let (skills, next) = match query.filter(|query| !query.trim().is_empty()) {
        None => page_for_model(runtime, cursor.as_deref(), PAGE).map_err(wrong)?,
        Some(query) => {
            let all: HashMap<String, Arc<Skill>> = runtime
                .skills_for_model()
                .into_iter()
                .map(|skill| (skill.id.clone(), skill))
                .collect();
            let hits = runtime.search(&query);
            let found = hits.iter().filter_map(|hit| all.get(&hit.skill.id).cloned()).collect();
            page(found, cursor.as_deref(), PAGE).map_err(wrong)?
        }
    };
    let line = |skill: &Arc<Skill>| format!("{}: {}\n", one_line(&skill.id), skill.listing());
    let lines: String = skills.iter().map(line).collect();
    let lines = if lines.is_empty() { "no skill".to_owned() } else { lines };
    let entry = |skill: &Arc<Skill>| {
        let mut entry = json!({
            "id": skill.id,
            "name": one_line(&skill.name),
            "description": one_line(&skill.description),
            "source": skill.source.to_string(),
            "uri": uri(&skill.id, "SKILL.md"),
        });
        if let Some((server, _)) = skill.served_by() {
            entry["server"] = Value::from(server);
        }
        entry
    };
    let mut data = json!({"skills": skills.iter().map(entry).collect::<Vec<_>>()});
    if let Some(next) = next {
        data["nextCursor"] = Value::from(next);
    }
    Ok(answered(data, lines))
}

fn read(
    runtime: &mut OpenSkillRuntime,
    arguments: JsonObject,
    names: ToolNames,
) -> Result<CallToolResult, Failure> {
    let mut arguments = Arguments(arguments);
    let (name, given) = (arguments.required("name")?, arguments.text("arguments")?);
    arguments.end()?;
    // One server may serve many conversations: none of them knows what another was told.
    let options = ActivateOptions {
        invoker: Invoker::Model,
        arguments: given,
        again: true,
        read_by: Some(read_by(names, &name)),
        ..ActivateOptions::default()
    };
    runtime.skill_for_model(&name)?;
    let loaded = runtime.activate(&name, &options)?;
    let data = json!({
        "id": loaded.id,
        "name": loaded.name,
        "content": loaded.content,
        "hash": loaded.activation.hash,
        "source": loaded.activation.source.to_string(),
        "files": loaded.resources.files,
        "moreFiles": loaded.resources.more,
    });
    Ok(answered(data, loaded.content))
}

fn read_resource(
    runtime: &mut OpenSkillRuntime,
    arguments: JsonObject,
    _: ToolNames,
) -> Result<CallToolResult, Failure> {
    let mut arguments = Arguments(arguments);
    let (name, path) = (arguments.required("name")?, arguments.required("path")?);
    arguments.end()?;
    let options =
        ReadOptions { depth: Depth::Nested, max_bytes: MAX_BYTES, invoker: Invoker::Model };
    let own = own_path(runtime, &name, &path).unwrap_or_else(|| path.clone());
    runtime.check_model_reads(&name, &own)?;
    let (resource, read) = runtime.read_resource(&name, &own, &options)?;
    let skill = runtime.skill(&read.skill_id)?;
    let path = served_path(skill, &resource.path);
    let server = skill.served_by().map(|(server, _)| server.to_owned());
    let mut data = json!({
        "uri": uri(&read.skill_id, &path),
        "path": path,
        "sha256": resource.sha256,
        "size": resource.bytes.len(),
    });
    let text = match resource.text() {
        Some(text) => {
            data["text"] = Value::from(text);
            text.to_owned()
        }
        None => {
            data["base64"] = Value::from(base64(&resource.bytes));
            format!("{} bytes that are no text", resource.bytes.len())
        }
    };
    let mut result = answered(data, text);
    if let Some(server) = server {
        let told =
            format!("The next text comes from the MCP server `{server}`: a stranger wrote it.");
        result.content.insert(0, ContentBlock::text(told));
        result.meta = Some(tagged(&server));
    }
    Ok(result)
}

/// Returns how a client reads a file of a skill, in words.
pub(super) fn read_by(names: ToolNames, skill: &str) -> String {
    let tool = Which::ReadResource.name(names);
    let name = serde_json::to_string(skill).unwrap_or_default();
    format!("call {tool} with name {name} and the path of the file")
}

/// Runs a script of a skill, until it ends or is cancelled.
pub(super) fn run_script(
    runtime: &mut OpenSkillRuntime,
    served: &Served,
    arguments: JsonObject,
    cancel: Cancel,
) -> Result<CallToolResult, Failure> {
    let mut arguments = Arguments(arguments);
    let name = arguments.required("name")?;
    let script = arguments.text("script")?;
    let args = arguments.texts("args")?.into_iter().map(OsString::from).collect();
    let input = arguments.0.remove("input").filter(|input| !input.is_null()).map(Input::from);
    let timeout = arguments.number("timeout_seconds")?;
    let seed = arguments.number("seed")?;
    let (use_workspace, dry_run) = (arguments.flag("use_workspace")?, arguments.flag("dry_run")?);
    arguments.end()?;
    if timeout.is_some_and(|seconds| seconds == 0 || seconds > MOST_SECONDS) {
        return Err(Failure::Arguments(format!(
            "`timeout_seconds` must be between 1 and {MOST_SECONDS}"
        )));
    }
    let workspace = served.workspace.clone().filter(|_| use_workspace);
    if use_workspace && workspace.is_none() {
        let what =
            "this server was started without a workspace; `openskills mcp --workspace DIR` has one";
        return Err(Failure::Arguments(what.to_owned()));
    }
    let options = ExecutionOptions {
        script,
        args,
        input,
        workspace,
        timeout: timeout.map(Duration::from_secs),
        asked: Asked::default(),
        dry_run,
        seed,
        // Where it ends with its client: a process can be ended, a thread cannot.
        stage: Stage::Always,
        cancel,
        look: served.look.clone(),
        ..ExecutionOptions::default()
    };
    runtime.check_model_starts(runtime.skill_for_model(&name)?)?;
    let done = runtime.execute_skill(&name, options);
    Ok(executed(&done?))
}

fn executed(done: &Execution) -> CallToolResult {
    let code = code_of(done);
    // A model needs no secret that a script was given, and what it reads may be kept elsewhere.
    let clean = |text: &str| done.for_model(text).into_owned();
    let [stdout, stderr] = done.streams_for_model();
    let change = |change: &openskills_runtime::sandbox::Change| {
        clean(&format!("{} {}", change.kind.as_str(), change.shown()))
    };
    let output = if stdout == done.output {
        done.json.clone()
    } else {
        serde_json::from_str(stdout.trim()).ok()
    };
    let changes: Vec<String> = done.changes.iter().take(1000).map(change).collect();
    let tried: std::collections::BTreeSet<&str> =
        done.violations.iter().map(|violation| violation.call.as_str()).collect();
    let mut data = json!({
        "exitCode": code,
        "exitStatus": done.record.exit_status,
        "stdout": stdout,
        "stderr": stderr,
        "changes": changes,
        "committed": done.committed,
        "tried": tried,
        "notGranted": done.left_out,
    });
    let streams = ["stdout", "stderr"].into_iter().zip(done.written);
    let streams = streams.zip([done.stdout.len(), done.stderr.len()]);
    let cut: Vec<&str> = streams
        .filter(|((_, written), kept)| *written > *kept as u64)
        .map(|((name, _), _)| name)
        .collect();
    if !cut.is_empty() {
        data["cut"] = json!(cut);
    }
    for (key, value) in [
        ("output", output),
        ("note", done.note.as_deref().map(clean).map(Value::from)),
        ("diff", done.diff.as_deref().map(clean).map(Value::from)),
        ("notCommitted", done.not_committed.as_ref().map(|error| clean(&error.to_string()).into())),
        ("review", done.review.as_deref().map(clean).map(Value::from)),
    ] {
        if let Some(value) = value {
            data[key] = value;
        }
    }
    let mut text = stdout;
    if !stderr.is_empty() {
        text += &format!("\n[standard error]\n{stderr}");
    }
    if !cut.is_empty() {
        let written = done.written;
        text += &format!(
            "\n[it wrote too much: {} cut; there were {} bytes of stdout and {} of stderr]",
            if cut.len() == 1 {
                format!("{} is", cut[0])
            } else {
                "stdout and stderr are".to_owned()
            },
            written[0],
            written[1]
        );
    }
    if let Some(error) = &done.not_committed {
        text += &format!("\n[{}]", clean(&error.to_string()));
    } else if code != 0 {
        text += &format!("\n[it ended with code {code}]");
    }
    if done.is_dropped() {
        text += "\n[it failed, so nothing that it wrote to the workspace was kept]";
    }
    for cause in &done.causes {
        text += &format!("\n[{}]", clean(cause));
    }
    let mut result = answered(data, text);
    result.is_error = Some(code != 0);
    result
}
