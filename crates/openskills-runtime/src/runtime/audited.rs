//! A skill is looked at before it is approved: what it can do, what is bad about it, and what follows.

use jiff::Timestamp;
use skill_audit::show::ReportJson;
use skill_fs::Root;
use skill_state::audit::{AuditPolicy, Bundle, Decision, Subject, decide};

use super::OpenSkillRuntime;
use crate::settings::Settings;
use crate::{RuntimeError, Skill};

/// What was found about a skill, and what follows from it.
#[derive(Debug, Clone)]
pub struct Audited {
    /// What was found.
    pub report: ReportJson,
    /// What follows for an approval.
    pub decision: Decision,
}

impl OpenSkillRuntime {
    /// Audits a skill as it is now, by the words of the user that `csk audit` keeps. A builtin skill is part of the program, and of one that an MCP
    /// server serves nothing is here before it is read: `None`.
    pub fn audit(&self, name: &str, now: Timestamp) -> Result<Option<Audited>, RuntimeError> {
        let skill = self.skill(name)?;
        let Some(root) = crate::load::open(skill)? else { return Ok(None) };
        self.audit_folder(skill, &root, now).map(Some)
    }

    /// Audits the files of a skill in a folder.
    pub(super) fn audit_folder(
        &self,
        skill: &Skill,
        root: &Root,
        now: Timestamp,
    ) -> Result<Audited, RuntimeError> {
        let from = skill.provenance.as_deref().and_then(|from| from.origin_url.clone());
        let from = from.or_else(|| skill.served_by().map(|_| skill.path().to_owned()));
        let sources: Vec<String> = from.into_iter().collect();
        self.audit_files(&skill.name, root, &sources, now)
    }

    /// Audits files that are to be a skill; `sources` is where they come from.
    pub(super) fn audit_files(
        &self,
        name: &str,
        root: &Root,
        sources: &[String],
        now: Timestamp,
    ) -> Result<Audited, RuntimeError> {
        let places = self.places()?;
        let mode = Settings::load(places)?.audit;
        let policy = match &places.csk_home {
            Some(home) => AuditPolicy::load(home)?,
            None => AuditPolicy::default(),
        };
        let bundle = Bundle::read(name, root)?;
        let report = ReportJson::new(&bundle.audit(&policy, now), &bundle.digest.to_string());
        let subject = Subject { report: &report, sources, before: None };
        let decision = decide(mode, &policy, &subject);
        Ok(Audited { report, decision })
    }
}
