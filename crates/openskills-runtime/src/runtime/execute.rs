//! Runs a script of a skill, once it is permitted.

use std::sync::Arc;

use super::OpenSkillRuntime;
use crate::exec::{Answer, Execution, ExecutionOptions, Input};
use crate::permit::{Authorization, Permit, Plan, Request};
use crate::{RuntimeError, Skill};

impl OpenSkillRuntime {
    /// Runs a script of a skill in the sandbox, if that is permitted.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "hosts hand over what they made for the call"
    )]
    pub fn execute_skill(
        &mut self,
        name: &str,
        options: ExecutionOptions,
    ) -> Result<Execution, RuntimeError> {
        let permit = self.permit(name, &options)?;
        self.carry_out(&permit, &options)
    }

    /// Returns the skill and the script that a name means: one that is no skill's may be that of a command which csk installed.
    fn by_command(&self, name: &str, script: Option<&str>) -> (String, Option<String>) {
        let is_skill = self.skill(name).is_ok() || !self.candidates(name).is_empty();
        if is_skill || script.is_some() {
            return (name.to_owned(), script.map(str::to_owned));
        }
        let brings = |skill: &&Arc<Skill>| {
            skill.provenance.as_ref().is_some_and(|from| from.commands.contains_key(name))
        };
        let skills = self.list_skills();
        let mut found = skills.iter().filter(brings);
        match (found.next(), found.next()) {
            (Some(skill), None) => (skill.id.clone(), Some(name.to_owned())),
            // None, or one of several: then the skill has to be named.
            _ => (name.to_owned(), None),
        }
    }

    /// Plans a run and gets leave for it: by what was approved, for once, or by asking.
    pub fn permit(
        &mut self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<Permit, RuntimeError> {
        let (name, script) = self.by_command(name, options.script.as_deref());
        let plan = self.plan_run(&name, script.as_deref(), options.asked.clone())?;
        // What does not fit is told before anybody is asked for anything.
        given(&plan, options)?;
        let once = if options.once {
            // A flag confirms what the user named, and nothing that the skill only declares.
            Some(self.request(&plan)?.map_err(|refusal| refusal.error())?.named)
        } else {
            None
        };
        let request = match self.authorize(plan.clone(), once)? {
            Authorization::Permit(permit) => return Ok(*permit),
            Authorization::Refusal(refusal) => return Err(refusal.error()),
            Authorization::Ask(request) => request,
        };
        // A slip in a name is told before anybody is asked for anything.
        self.check_script(&plan.subject, plan.script.as_deref())?;
        let Some(approver) = self.config.approver.clone() else {
            return Err(needs_approval(&request, &options.look));
        };
        let once = match approver.ask(&request) {
            Answer::No => return Err(needs_approval(&request, &options.look)),
            Answer::Once(grant) => Some(grant),
            Answer::Always => {
                self.approve(&request, None)?;
                None
            }
        };
        match self.authorize(plan, once)? {
            Authorization::Permit(permit) => Ok(*permit),
            Authorization::Refusal(refusal) => Err(refusal.error()),
            Authorization::Ask(request) => Err(needs_approval(&request, &options.look)),
        }
    }
}

/// Returns what a script is given: the input, held to the skill's `arguments.schema` and with its defaults.
pub(super) fn given(
    plan: &Plan,
    options: &ExecutionOptions,
) -> Result<Option<Input>, RuntimeError> {
    let Some(schema) = &plan.arguments else { return Ok(options.input.clone()) };
    Input::fitting(options.input.as_ref(), schema)
        .map_err(|message| RuntimeError::arguments(&plan.subject.skill_id, message, schema))
}

fn needs_approval(request: &Request, look: &str) -> RuntimeError {
    RuntimeError::NeedsApproval {
        message: format!(
            "`{}` does not run yet: {}",
            request.subject.skill_id,
            request.reasons.join("; ")
        ),
        hint: Some(format!("approve it: {}", request.command(look))),
    }
}
