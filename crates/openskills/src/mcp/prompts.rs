//! Skills that the user may start, as prompts.

use std::sync::Arc;

use openskills_runtime::{ActivateOptions, Invoker, OpenSkillRuntime, Skill, one_line};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::catalogue::failed;
use super::server::ToolNames;
use super::tools::read_by;

/// What the one argument of a prompt is called.
const ARGUMENTS: &str = "arguments";

/// Returns the skills that the user may start by name.
pub(super) fn startable(runtime: &OpenSkillRuntime) -> Vec<Arc<Skill>> {
    runtime.approved_skills().into_iter().filter(|skill| skill.user_may_invoke).collect()
}

/// Returns skills as prompts.
pub(super) fn prompts(skills: &[Arc<Skill>]) -> Vec<Prompt> {
    // Of several with one name each is called by its id.
    let is_shared =
        |skill: &Skill| skills.iter().filter(|other| other.name == skill.name).nth(1).is_some();
    let has_servers = skills.iter().any(|skill| skill.served_by().is_some());
    let prompt = |skill: &Arc<Skill>| {
        let mut argument = PromptArgument::new(ARGUMENTS);
        argument.description = Some("What the skill is to work on".to_owned());
        argument.required = Some(false);
        let by_id = has_servers && is_shared(skill);
        let name = if by_id { skill.id.clone() } else { one_line(&skill.name) };
        Prompt::new(name, Some(one_line(&skill.description)), Some(vec![argument]))
    };
    skills.iter().map(prompt).collect()
}

/// Activates a skill as the user does.
pub(super) fn prompt(
    runtime: &mut OpenSkillRuntime,
    name: &str,
    arguments: Option<&JsonObject>,
    names: ToolNames,
) -> Result<GetPromptResult, ErrorData> {
    runtime.skill(name).map_err(|error| failed(&error))?;
    let wrong = |what: String| ErrorData::invalid_params(what, None);
    let given = match arguments.and_then(|arguments| arguments.get(ARGUMENTS)) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => return Err(wrong(format!("`{ARGUMENTS}` must be a text"))),
    };
    let other = arguments.and_then(|all| all.keys().find(|key| *key != ARGUMENTS));
    if let Some(key) = other {
        return Err(wrong(format!("there is no argument `{key}`")));
    }
    // The user asks for it now, so it is told again even if it is active.
    let options = ActivateOptions {
        invoker: Invoker::User,
        arguments: given,
        again: true,
        read_by: Some(read_by(names, name)),
        ..ActivateOptions::default()
    };
    let loaded = runtime.activate(name, &options).map_err(|error| failed(&error))?;
    let message = PromptMessage::new_text(Role::User, loaded.content);
    Ok(GetPromptResult::new(vec![message]).with_description(one_line(&loaded.description)))
}
