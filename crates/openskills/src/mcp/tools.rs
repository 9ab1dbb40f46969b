//! The tools: list skills, read a skill, read a file of a skill (`tools/file.rs`), run a script of a skill
//! (`tools/run.rs`), run a command line (`tools/command.rs`).
//!
//! What a model reads is sent only once, as text: some clients show their model only the text, others only the
//! structured content if there is any. So only the list, which is short, is sent as structured content too. For the
//! other tools, data for programs is in `_meta`.

pub(super) mod command;
pub(super) mod file;
pub(super) mod inputs;
pub(super) mod outputs;
pub(super) mod run;

use std::collections::HashMap;
use std::sync::Arc;

use openskills_runtime::uri::uri;
use openskills_runtime::{
    ActivateOptions, Invoker, OpenSkillRuntime, RuntimeError, Skill, one_line,
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde::Serialize;
use serde_json::Value;

use inputs::{ListInput, ReadInput, parse};
use outputs::{ListOutput, ListedSkill, ReadOutput};

use super::catalog::{page, page_for_model};
use super::error_text::for_model;
use super::server::{ServeConfig, ToolNames};

pub(super) use inputs::skill_argument;

/// The maximum number of skills that one call lists.
const PAGE_SIZE: usize = 100;
/// The key in `_meta` of the data for programs.
const META_KEY: &str = "openskills/result";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    List,
    Read,
    ReadResource,
    RunScript,
    RunCommand,
}

impl Tool {
    pub(super) const ALL: [Self; 5] =
        [Self::List, Self::Read, Self::ReadResource, Self::RunScript, Self::RunCommand];

    /// Returns the tools that this server offers.
    pub(super) fn offered(config: &ServeConfig) -> Vec<Self> {
        let is_offered = |tool: &Self| *tool != Self::RunCommand || config.runs_commands;
        Self::ALL.into_iter().filter(is_offered).collect()
    }

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
            (Self::RunCommand, ToolNames::Dots) => "skills.run_command",
            (Self::RunCommand, ToolNames::Underscore) => "skills_run_command",
        }
    }
}

/// Why a call failed.
pub(super) enum Failure {
    /// The arguments are invalid.
    Arguments(String),
    /// The runtime refused the call, or failed.
    Runtime(RuntimeError),
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(error)
    }
}

impl Failure {
    /// Returns the result for the model.
    pub(super) fn result(&self, config: &ServeConfig) -> CallToolResult {
        let text = match self {
            Self::Arguments(message) => one_line(message),
            Self::Runtime(error) => for_model(error, config),
        };
        CallToolResult::error(vec![ContentBlock::text(text)])
    }
}

/// The implementation of a tool that only reads.
pub(super) type ReadTool =
    fn(&mut OpenSkillRuntime, JsonObject, &ServeConfig) -> Result<CallToolResult, Failure>;

impl Tool {
    /// Returns the implementation of a tool that only reads.
    pub(super) fn read_tool(self) -> Option<ReadTool> {
        match self {
            Self::List => Some(list),
            Self::Read => Some(read),
            Self::ReadResource => Some(file::read),
            Self::RunScript | Self::RunCommand => None,
        }
    }
}

/// Returns a result with content for the model and data for programs.
fn with_meta(
    content: Vec<ContentBlock>,
    output: &impl Serialize,
) -> Result<CallToolResult, Failure> {
    let mut result = CallToolResult::success(content);
    let mut meta = MetaObject::new();
    meta.0.insert(META_KEY.to_owned(), to_json(output)?);
    result.meta = Some(meta);
    Ok(result)
}

fn to_json(output: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(output).map_err(|error| {
        Failure::Runtime(RuntimeError::Setup { message: error.to_string(), hint: None })
    })
}

fn list(
    runtime: &mut OpenSkillRuntime,
    arguments: JsonObject,
    config: &ServeConfig,
) -> Result<CallToolResult, Failure> {
    let ListInput { query, cursor } = parse(arguments)?;
    let query = query.filter(|query| !query.trim().is_empty());
    let failure = |error: rmcp::ErrorData| Failure::Arguments(error.message.to_string());
    let (skills, next, total) = match &query {
        None => {
            let (skills, next) =
                page_for_model(runtime, cursor.as_deref(), PAGE_SIZE).map_err(failure)?;
            // Counting is slow, because it checks every skill.
            let is_complete = next.is_none() && cursor.as_deref().is_none_or(str::is_empty);
            let total = if is_complete { skills.len() } else { runtime.skills_for_model().len() };
            (skills, next, total)
        }
        Some(query) => {
            let all: HashMap<String, Arc<Skill>> = runtime
                .skills_for_model()
                .into_iter()
                .map(|skill| (skill.id.clone(), skill))
                .collect();
            let hits = runtime.search(query);
            let found: Vec<_> =
                hits.iter().filter_map(|hit| all.get(&hit.skill.id).cloned()).collect();
            let total = found.len();
            let (skills, next) = page(found, cursor.as_deref(), PAGE_SIZE).map_err(failure)?;
            (skills, next, total)
        }
    };
    let line = |skill: &Arc<Skill>| format!("{}: {}\n", one_line(&skill.id), skill.listing());
    let lines: String = skills.iter().map(line).collect();
    let has_skills = !lines.is_empty();
    let mut text = if has_skills { lines } else { "no skills found\n".to_owned() };
    // Many clients show their model only the text.
    text += &match &next {
        Some(next) => format!(
            "[{} of {} skills; for more, call {} with {}cursor \"{next}\"]",
            skills.len(),
            total,
            Tool::List.name(config.tool_names),
            query
                .as_deref()
                .map_or(String::new(), |query| format!("query {} and ", Value::from(query)))
        ),
        None if has_skills && total > skills.len() => {
            format!("[the last {} of {total} skills]", skills.len())
        }
        None if has_skills => format!("[all skills: {total}]"),
        None => String::new(),
    };
    let skills = skills.iter().map(|skill| list_entry(skill)).collect();
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(to_json(&ListOutput { skills, next_cursor: next })?);
    Ok(result)
}

fn list_entry(skill: &Skill) -> ListedSkill {
    ListedSkill {
        id: skill.id.clone(),
        skill_id: skill.id.clone(),
        name: one_line(&skill.name),
        description: one_line(&skill.description),
        source: skill.source.to_string(),
        uri: uri(&skill.id, "SKILL.md"),
        server: skill.served_by().map(|(server, _)| server.to_owned()),
    }
}

fn read(
    runtime: &mut OpenSkillRuntime,
    arguments: JsonObject,
    config: &ServeConfig,
) -> Result<CallToolResult, Failure> {
    let ReadInput { skill, arguments } = parse(arguments)?;
    let name = skill.name_or_id()?;
    // A server may serve many conversations, so the instructions are always returned in full.
    let options = ActivateOptions {
        invoker: Invoker::Model,
        arguments,
        repeat: true,
        read_hint: Some(read_hint(config.tool_names, &name)),
        ..ActivateOptions::default()
    };
    runtime.skill_for_model(&name)?;
    let loaded = runtime.activate(&name, &options)?;
    let output = ReadOutput {
        skill_id: loaded.id.clone(),
        id: loaded.id,
        name: loaded.name,
        hash: loaded.activation.hash,
        source: loaded.activation.source.to_string(),
        files: loaded.resources.files,
        more_files: loaded.resources.more,
    };
    with_meta(vec![ContentBlock::text(loaded.content)], &output)
}

/// Returns the sentence that tells the model how to read a file of a skill.
pub(super) fn read_hint(names: ToolNames, skill: &str) -> String {
    let tool = Tool::ReadResource.name(names);
    let name = serde_json::to_string(skill).unwrap_or_default();
    format!(
        "call {tool} with name {name} and the file path (plus nested true if it is more than one folder deep); \
         to list the files in a folder, pass the folder path"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_listed() {
        let all: Vec<String> = Tool::ALL.iter().map(|tool| format!("{tool:?}")).collect();
        assert_eq!(testkit::tidy::plain_variants(include_str!("tools.rs"), "Tool"), all);
    }
}
