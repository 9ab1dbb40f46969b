//! Runs a script of a skill after getting a permit for it.

use std::sync::Arc;

use crate::decide::permit::{Authorization, Permit, Plan, Request, with_session};
use crate::decide::policy::Decision;
use crate::run::{Answer, Execution, ExecutionOptions, Input, Invocation, OtherInput};
use crate::runtime::OpenSkillRuntime;
use crate::{Event, PolicyDecision, RuntimeError, Skill};

impl OpenSkillRuntime {
    /// Runs a script of a skill in the sandbox, if it is permitted.
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

    /// Resolves a name to a skill and a script. A name that is not a skill may be a command that csk installed.
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
            // No such command, or several: the caller has to specify the skill.
            _ => (name.to_owned(), None),
        }
    }

    /// Plans a run and gets a permit for it: from a stored approval, from a one-time approval, or by prompting.
    pub fn permit(
        &mut self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<Permit, RuntimeError> {
        let (name, script) = self.by_command(name, options.script.as_deref());
        let plan = match self.plan_run(&name, script.as_deref(), options.requested.clone()) {
            Ok(plan) => plan,
            Err(error) => {
                let skill_id = self.skill(&name).map_or(name, |skill| skill.id.clone());
                self.record_refused(skill_id, script, &error)?;
                return Err(error);
            }
        };
        if !plan.requested.with.is_empty() {
            self.check_script(&plan.subject, plan.script.as_deref())?;
        }
        let plan = match self.with_packages(plan.clone(), &options.caller) {
            Ok(plan) => plan,
            Err(error) => {
                self.record_not_started(&plan, &error)?;
                return Err(error);
            }
        };
        // Report invalid arguments before prompting for approval.
        let plan = Plan { invocation: fitting(&plan, &options.invocation)?, ..plan };
        let discovery_flags = &options.caller.discovery_flags;
        let once = if options.once {
            // A flag confirms only what the user requested explicitly, not what the skill declares.
            Some(self.request(&plan)?.map_err(|refusal| refusal.error())?.named)
        } else {
            None
        };
        let request = match self.authorize(plan.clone(), once)? {
            Authorization::Permit(permit) => return Ok(*permit),
            Authorization::Refusal(refusal) => return Err(refusal.error()),
            Authorization::Ask(request) => request,
        };
        // Report a misspelled script before prompting for approval.
        self.check_script(&plan.subject, plan.script.as_deref())?;
        let Some(approver) = self.config.approver.clone() else {
            return Err(self.needs_approval(&request, discovery_flags));
        };
        let once = match approver.ask(&request) {
            Answer::No => {
                let (skill, hint) =
                    (request.subject.skill_id.clone(), self.how(&request, discovery_flags));
                return Err(RuntimeError::Declined { skill, hint: Some(hint) });
            }
            Answer::Nothing => return Err(self.needs_approval(&request, discovery_flags)),
            Answer::Once(grant) => Some(grant),
            Answer::Always => {
                self.approve(&request, None)?;
                None
            }
        };
        match self.authorize(plan, once)? {
            Authorization::Permit(permit) => Ok(*permit),
            Authorization::Refusal(refusal) => Err(refusal.error()),
            Authorization::Ask(request) => Err(self.needs_approval(&request, discovery_flags)),
        }
    }
}

impl OpenSkillRuntime {
    fn needs_approval(&self, request: &Request, discovery_flags: &str) -> RuntimeError {
        RuntimeError::NeedsApproval {
            message: format!(
                "`{}` is not approved: {}",
                request.subject.skill_id,
                request.reasons.join("; ")
            ),
            hint: Some(self.how(request, discovery_flags)),
        }
    }

    /// Returns the hint for approving a request.
    fn how(&self, request: &Request, discovery_flags: &str) -> String {
        let command =
            with_session(&request.command(discovery_flags), self.config.session_id.as_deref());
        format!("run `{command}`")
    }

    /// Logs that a planned run was not started.
    pub(crate) fn record_not_started(
        &mut self,
        plan: &Plan,
        error: &RuntimeError,
    ) -> Result<(), RuntimeError> {
        self.record_refused(plan.subject.skill_id.clone(), plan.script.clone(), error)
    }

    /// Logs that a run was refused before anything started.
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
            reason: format!("not started: {error}"),
        }))
    }
}

/// Checks the input against the skill's `arguments.schema` and fills in the schema's defaults.
fn fitting(plan: &Plan, requested: &Invocation) -> Result<Invocation, RuntimeError> {
    let Some(schema) = &plan.arguments else { return Ok(requested.clone()) };
    let other = if requested.args.is_empty() && !requested.is_piped {
        OtherInput::Absent
    } else {
        OtherInput::Present
    };
    let input = Input::fitting(requested.input.as_ref(), schema, other).map_err(|message| {
        RuntimeError::arguments(&plan.subject.skill_id, message, &schema.json)
    })?;
    Ok(Invocation { input, ..requested.clone() })
}
