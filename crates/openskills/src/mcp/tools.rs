//! The tools: list skills, read one, read a file of one (`tools/file.rs`), run a script of one (`tools/run.rs`).
//!
//! What a model reads goes out once, as text: some clients give their model the text alone, others the data alone if there is any. So there is data only
//! where it repeats little (the list); what a program wants to know of the rest is in `_meta`.

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

use super::catalogue::{page, page_for_model};
use super::error_text::for_model;
use super::server::{Served, ToolNames};

pub(super) use inputs::named;

/// How many skills one call lists.
const PAGE: usize = 100;
/// The key in `_meta` under which programs find what a call was about.
const META: &str = "openskills/result";

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    List,
    Read,
    ReadResource,
    RunScript,
}

impl Tool {
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
    pub(super) fn result(&self, served: &Served) -> CallToolResult {
        let text = match self {
            Self::Arguments(what) => one_line(what),
            Self::Runtime(error) => for_model(error, served),
        };
        CallToolResult::error(vec![ContentBlock::text(text)])
    }
}

/// What answers a call that only reads.
pub(super) type Reading =
    fn(&mut OpenSkillRuntime, JsonObject, &Served) -> Result<CallToolResult, Failure>;

impl Tool {
    /// Returns what answers it, if it only reads.
    pub(super) fn reading(self) -> Option<Reading> {
        match self {
            Self::List => Some(list),
            Self::Read => Some(read),
            Self::ReadResource => Some(file::read),
            Self::RunScript => None,
        }
    }
}

/// Returns what a model reads, and what programs want to know beside it.
fn answered(content: Vec<ContentBlock>, about: &impl Serialize) -> Result<CallToolResult, Failure> {
    let mut result = CallToolResult::success(content);
    let mut meta = MetaObject::new();
    meta.0.insert(META.to_owned(), data(about)?);
    result.meta = Some(meta);
    Ok(result)
}

fn data(output: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(output).map_err(|error| {
        Failure::Runtime(RuntimeError::Setup { message: error.to_string(), hint: None })
    })
}

fn list(
    runtime: &mut OpenSkillRuntime,
    arguments: JsonObject,
    served: &Served,
) -> Result<CallToolResult, Failure> {
    let ListInput { query, cursor } = parse(arguments)?;
    let asked = query.filter(|query| !query.trim().is_empty());
    let wrong = |error: rmcp::ErrorData| Failure::Arguments(error.message.to_string());
    let (skills, next, total) = match asked.clone() {
        None => {
            let (skills, next) = page_for_model(runtime, cursor.as_deref(), PAGE).map_err(wrong)?;
            // Counting looks at every skill, which one page does not need.
            let is_all = next.is_none() && cursor.as_deref().is_none_or(str::is_empty);
            let total = if is_all { skills.len() } else { runtime.skills_for_model().len() };
            (skills, next, total)
        }
        Some(query) => {
            let all: HashMap<String, Arc<Skill>> = runtime
                .skills_for_model()
                .into_iter()
                .map(|skill| (skill.id.clone(), skill))
                .collect();
            let hits = runtime.search(&query);
            let found: Vec<_> =
                hits.iter().filter_map(|hit| all.get(&hit.skill.id).cloned()).collect();
            let total = found.len();
            let (skills, next) = page(found, cursor.as_deref(), PAGE).map_err(wrong)?;
            (skills, next, total)
        }
    };
    let line = |skill: &Arc<Skill>| format!("{}: {}\n", one_line(&skill.id), skill.listing());
    let lines: String = skills.iter().map(line).collect();
    let is_some = !lines.is_empty();
    let mut text = if is_some { lines } else { "no skills found\n".to_owned() };
    // Many clients give their model the text alone.
    text += &match &next {
        Some(next) => format!(
            "[{} of {} skills; for more, call {} with {}cursor \"{next}\"]",
            skills.len(),
            total,
            Tool::List.name(served.names),
            asked
                .as_deref()
                .map_or(String::new(), |query| format!("query {} and ", Value::from(query)))
        ),
        None if is_some && total > skills.len() => {
            format!("[the last {} of {total} skills]", skills.len())
        }
        None if is_some => format!("[all skills: {total}]"),
        None => String::new(),
    };
    let skills = skills.iter().map(|skill| listed(skill)).collect();
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(data(&ListOutput { skills, next_cursor: next })?);
    Ok(result)
}

fn listed(skill: &Skill) -> ListedSkill {
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
    served: &Served,
) -> Result<CallToolResult, Failure> {
    let ReadInput { skill, arguments } = parse(arguments)?;
    let name = skill.chosen()?;
    // One server may serve many conversations: none of them knows what another was told.
    let options = ActivateOptions {
        invoker: Invoker::Model,
        arguments,
        again: true,
        read_by: Some(read_by(served.names, &name)),
        ..ActivateOptions::default()
    };
    runtime.skill_for_model(&name)?;
    let loaded = runtime.activate(&name, &options)?;
    let about = ReadOutput {
        skill_id: loaded.id.clone(),
        id: loaded.id,
        name: loaded.name,
        hash: loaded.activation.hash,
        source: loaded.activation.source.to_string(),
        files: loaded.resources.files,
        more_files: loaded.resources.more,
    };
    answered(vec![ContentBlock::text(loaded.content)], &about)
}

/// Returns how a client reads a file of a skill, in words.
pub(super) fn read_by(names: ToolNames, skill: &str) -> String {
    let tool = Tool::ReadResource.name(names);
    let name = serde_json::to_string(skill).unwrap_or_default();
    format!(
        "call {tool} with name {name} and the path of the file (and nested true, if that is more than one folder deep); the path of a folder lists what is in it"
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
