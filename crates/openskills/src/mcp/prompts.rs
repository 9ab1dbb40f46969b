//! Prompts: one for each skill that the user may invoke.

use std::sync::Arc;

use openskills_runtime::{ActivateOptions, Invoker, OpenSkillRuntime, Skill, one_line};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::catalog::error_data;
use super::server::ToolNames;
use super::tools::read_hint;

/// The name of a prompt's only argument.
const ARGUMENTS: &str = "arguments";

/// Returns the approved skills that the user may invoke.
pub(super) fn user_invocable(runtime: &OpenSkillRuntime) -> Vec<Arc<Skill>> {
    runtime.approved_skills().into_iter().filter(|skill| skill.user_may_invoke).collect()
}

/// Returns skills as prompts.
pub(super) fn prompts(skills: &[Arc<Skill>]) -> Vec<Prompt> {
    // If several skills have the same name, their prompts are named by ID.
    let is_shared_name =
        |skill: &Skill| skills.iter().filter(|other| other.name == skill.name).nth(1).is_some();
    let has_servers = skills.iter().any(|skill| skill.served_by().is_some());
    let prompt = |skill: &Arc<Skill>| {
        let mut argument = PromptArgument::new(ARGUMENTS);
        argument.description = Some("What the skill should work on".to_owned());
        argument.required = Some(false);
        let use_id = has_servers && is_shared_name(skill);
        let name = if use_id { skill.id.clone() } else { one_line(&skill.name) };
        Prompt::new(name, Some(one_line(&skill.description)), Some(vec![argument]))
    };
    skills.iter().map(prompt).collect()
}

/// Activates a skill on behalf of the user and returns its prompt.
pub(super) fn prompt(
    runtime: &mut OpenSkillRuntime,
    name: &str,
    arguments: Option<&JsonObject>,
    names: ToolNames,
) -> Result<GetPromptResult, ErrorData> {
    runtime.skill(name).map_err(|error| error_data(&error))?;
    let invalid = |message: String| ErrorData::invalid_params(message, None);
    let argument = match arguments.and_then(|arguments| arguments.get(ARGUMENTS)) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => return Err(invalid(format!("`{ARGUMENTS}` must be a string"))),
    };
    let unknown = arguments.and_then(|all| all.keys().find(|key| *key != ARGUMENTS));
    if let Some(key) = unknown {
        return Err(invalid(format!("unknown argument `{key}`")));
    }
    // The user requests the skill now, so its instructions are returned even if it is already active.
    let options = ActivateOptions {
        invoker: Invoker::User,
        arguments: argument,
        repeat: true,
        read_hint: Some(read_hint(names, name)),
        ..ActivateOptions::default()
    };
    let loaded = runtime.activate(name, &options).map_err(|error| error_data(&error))?;
    let message = PromptMessage::new_text(Role::User, loaded.content);
    Ok(GetPromptResult::new(vec![message]).with_description(one_line(&loaded.description)))
}
