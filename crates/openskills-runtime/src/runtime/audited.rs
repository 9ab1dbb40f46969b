//! A skill is looked at before it is approved: what it can do, what is bad about it, and what follows.

use jiff::Timestamp;
use skill_audit::show::ReportJson;
use skill_state::audit::{AuditPolicy, Bundle, Decision, Subject, decide};

use super::OpenSkillRuntime;
use crate::RuntimeError;
use crate::settings::Settings;

/// What was found about a skill, and what follows from it.
#[derive(Debug, Clone)]
pub struct Audited {
    /// What was found.
    pub report: ReportJson,
    /// What follows for an approval.
    pub decision: Decision,
}

impl OpenSkillRuntime {
    /// Audits a skill as it is now, by the words of the user that `csk audit` keeps. A builtin skill is part of the program: `None`.
    pub fn audit(&self, name: &str, now: Timestamp) -> Result<Option<Audited>, RuntimeError> {
        let skill = self.skill(name)?;
        let Some(root) = crate::load::open(skill)? else { return Ok(None) };
        let places = self.places()?;
        let mode = Settings::load(places)?.audit;
        let policy = match &places.csk_home {
            Some(home) => AuditPolicy::load(home)?,
            None => AuditPolicy::default(),
        };
        let bundle = Bundle::read(&skill.name, &root)?;
        let report = ReportJson::new(&bundle.audit(&policy, now), &bundle.digest.to_string());
        let sources: Vec<String> = skill
            .provenance
            .as_deref()
            .and_then(|from| from.origin_url.clone())
            .into_iter()
            .collect();
        let subject = Subject { report: &report, sources: &sources, before: None };
        let decision = decide(mode, &policy, &subject);
        Ok(Some(Audited { report, decision }))
    }
}
