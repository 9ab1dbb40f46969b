//! Runs a script of a skill, once it is permitted.

use std::sync::Arc;

use crate::decide::permit::{Authorization, Permit, Plan, Request, with_session};
use crate::decide::policy::Decision;
use crate::run::{Answer, Execution, ExecutionOptions, Input, Invocation, Otherwise};
use crate::runtime::OpenSkillRuntime;
use crate::{Event, PolicyDecision, RuntimeError, Skill};

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
        self.carry_out(permit, &options.caller)
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

    /// Plans a run and gets a permit for it: by what was approved, for once, or by asking.
    pub fn permit(
        &mut self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<Permit, RuntimeError> {
        let (name, script) = self.by_command(name, options.script.as_deref());
        let plan = match self.plan_run(&name, script.as_deref(), options.asked.clone()) {
            Ok(plan) => plan,
            Err(error) => {
                let skill_id = self.skill(&name).map_or(name, |skill| skill.id.clone());
                self.record_refused(skill_id, script, &error)?;
                return Err(error);
            }
        };
        // What does not fit is reported before anybody is asked for anything.
        let plan = Plan { invocation: fitting(&plan, &options.invocation)?, ..plan };
        let look = &options.caller.look;
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
        // A slip in a name is reported before anybody is asked for anything.
        self.check_script(&plan.subject, plan.script.as_deref())?;
        let Some(approver) = self.config.approver.clone() else {
            return Err(self.needs_approval(&request, look));
        };
        let once = match approver.ask(&request) {
            Answer::No => {
                let (skill, hint) = (request.subject.skill_id.clone(), self.how(&request, look));
                return Err(RuntimeError::Declined { skill, hint: Some(hint) });
            }
            Answer::Nothing => return Err(self.needs_approval(&request, look)),
            Answer::Once(grant) => Some(grant),
            Answer::Always => {
                self.approve(&request, None)?;
                None
            }
        };
        match self.authorize(plan, once)? {
            Authorization::Permit(permit) => Ok(*permit),
            Authorization::Refusal(refusal) => Err(refusal.error()),
            Authorization::Ask(request) => Err(self.needs_approval(&request, look)),
        }
    }
}

impl OpenSkillRuntime {
    fn needs_approval(&self, request: &Request, look: &str) -> RuntimeError {
        RuntimeError::NeedsApproval {
            message: format!(
                "`{}` does not run yet: {}",
                request.subject.skill_id,
                request.reasons.join("; ")
            ),
            hint: Some(self.how(request, look)),
        }
    }

    /// Says how a request is approved.
    fn how(&self, request: &Request, look: &str) -> String {
        let command = with_session(&request.command(look), self.config.session_id.as_deref());
        format!("approve it: {command}")
    }

    /// Records that what was permitted was not started after all.
    pub(crate) fn record_not_started(
        &mut self,
        plan: &Plan,
        error: &RuntimeError,
    ) -> Result<(), RuntimeError> {
        self.record_refused(plan.subject.skill_id.clone(), plan.script.clone(), error)
    }

    /// Records that a run was refused: nothing of it started.
    pub(crate) fn record_refused(
        &mut self,
        skill_id: String,
        script: Option<String>,
        error: &RuntimeError,
    ) -> Result<(), RuntimeError> {
        self.record(&Event::PolicyDecided(PolicyDecision {
            skill_id: Some(skill_id),
            session_id: self.session.id.clone(),
            task_id: None,
            action: "run".to_owned(),
            input: script,
            decision: Decision::Deny,
            because: format!("not started: {error}"),
        }))
    }
}

/// Returns what a script is given, with the input restricted to the skill's `arguments.schema` and filled with its defaults.
fn fitting(plan: &Plan, asked: &Invocation) -> Result<Invocation, RuntimeError> {
    let Some(schema) = &plan.arguments else { return Ok(asked.clone()) };
    let otherwise = if asked.args.is_empty() && !asked.is_piped {
        Otherwise::Nothing
    } else {
        Otherwise::Something
    };
    let input = Input::fitting(asked.input.as_ref(), schema, otherwise).map_err(|message| {
        RuntimeError::arguments(&plan.subject.skill_id, message, &schema.json)
    })?;
    Ok(Invocation { input, ..asked.clone() })
}
