//! Skills that the user may start, as prompts.

use std::sync::Arc;

use openskills_runtime::{ActivateOptions, Invoker, OpenSkillRuntime, Skill};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::catalogue::failed;

/// What the one argument of a prompt is called.
const ARGUMENTS: &str = "arguments";

/// Returns the skills that the user may start by name.
pub(super) fn startable(runtime: &OpenSkillRuntime) -> Vec<Arc<Skill>> {
    runtime.list_skills().into_iter().filter(|skill| skill.user_may_invoke).collect()
}

/// Returns skills as prompts.
pub(super) fn prompts(skills: &[Arc<Skill>]) -> Vec<Prompt> {
    let prompt = |skill: &Arc<Skill>| {
        let mut argument = PromptArgument::new(ARGUMENTS);
        argument.description = Some("What the skill is to work on".to_owned());
        argument.required = Some(false);
        Prompt::new(skill.name.to_string(), Some(skill.description.clone()), Some(vec![argument]))
    };
    skills.iter().map(prompt).collect()
}

/// Activates a skill as the user does.
pub(super) fn prompt(
    runtime: &mut OpenSkillRuntime,
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
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
        ..ActivateOptions::default()
    };
    let loaded = runtime.activate(name, &options).map_err(|error| failed(&error))?;
    let message = PromptMessage::new_text(Role::User, loaded.content);
    Ok(GetPromptResult::new(vec![message]).with_description(loaded.description))
}
