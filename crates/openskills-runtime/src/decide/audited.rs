//! The audit of a skill: what it can do, what looks malicious, and what follows.
//!
//! Whatever runs or is activated passes [`OpenSkillRuntime::inspect`]; what is installed passes [`OpenSkillRuntime::audit_files`].

use jiff::Timestamp;
use skill::Digest;
use skill_audit::BundleReport;
use skill_fs::{FsError, Root, WalkLimits, digests, walk};
use skill_state::audit::{
    AuditMode, AuditPolicy, Bundle, Clearance, Decision, Known, Subject as Found, Verdicts, clear,
    decide,
};
use skill_state::runtime_place;

use crate::decide::approvals::{claimed, origin, subject};
use crate::decide::permit::{Inspected, Subject};
use crate::disclose::load::Loaded;
use crate::discover::index::Place;
use crate::discover::provenance::{receipt_origins, repository_urls};
use crate::runtime::OpenSkillRuntime;
use crate::state::settings::Settings;
use crate::{RuntimeError, Skill};

/// What was found about a skill, and what follows from it.
#[derive(Debug, Clone)]
pub struct Audited {
    /// What was found.
    pub found: BundleReport,
    /// What follows for an approval.
    pub decision: Decision,
}

/// How audits are judged here: the user's setting, and what the user said about findings.
struct Auditor {
    mode: AuditMode,
    policy: AuditPolicy,
    verdicts: Option<Verdicts>,
    now: Timestamp,
}

impl Auditor {
    /// Audits a folder, unless exactly this content was audited before by the same rules.
    fn report(
        &self,
        name: &str,
        root: &Root,
        digest: Digest,
    ) -> Result<BundleReport, RuntimeError> {
        let verdicts = match Bundle::has_forged_marker(root) {
            true => None,
            false => self.verdicts.as_ref(),
        };
        let known = verdicts.and_then(|verdicts| verdicts.get(&digest));
        if let Some(known) = known.filter(|known| known.report.name == name) {
            return Ok(known);
        }
        let bundle = Bundle::read(name, root)?;
        if bundle.digest != digest {
            let what = "its files changed while they were read".to_owned();
            return Err(RuntimeError::SkillChanged { skill: name.to_owned(), what });
        }
        let report = self.fresh(&bundle);
        if let Some(verdicts) = verdicts {
            // A verdict that cannot be kept is found again next time.
            let _ = verdicts.put(&report);
        }
        Ok(report)
    }

    /// Audits files that nobody audited before.
    fn fresh(&self, bundle: &Bundle) -> BundleReport {
        bundle.audit(&self.policy, self.now)
    }
}

impl OpenSkillRuntime {
    fn auditor(&self) -> Result<Auditor, RuntimeError> {
        let (places, now) = (self.places()?, Timestamp::now());
        let policy = match &places.csk_home {
            Some(home) => AuditPolicy::load(home)?,
            None => AuditPolicy::default(),
        };
        let verdicts =
            places.state.as_ref().map(|state| Verdicts::at(state.join("verdicts"), &policy, now));
        Ok(Auditor { mode: Settings::load(places)?.audit, policy, verdicts, now })
    }

    /// Audits everything that a run of a skill could start: its folder, and the commands that csk installed from it. A builtin skill is
    /// part of the program, and one that an MCP server serves is audited when its files are fetched; revocations hold for both.
    pub(crate) fn inspect(
        &self,
        skill: &Skill,
        subject: &Subject,
    ) -> Result<Inspected, RuntimeError> {
        let auditor = self.auditor()?;
        let mut reports = Vec::new();
        if let Some(root) = crate::disclose::load::open(skill)? {
            reports.push(auditor.report(&subject.name, &root, subject.folder)?);
        }
        if let Some(root) = self.commands_of(skill, subject)? {
            let digest = digests(&root, &walk(&root, &WalkLimits::SKILL)?)?.bundle;
            reports.push(auditor.report(&subject.name, &root, digest)?);
        }
        let bundles = [subject.bundle, subject.folder, subject.content];
        let bundles: Vec<String> = bundles
            .iter()
            .map(Digest::to_string)
            .chain(reports.iter().map(|found| found.bundle.to_string()))
            .collect();
        let sources = self.sources(skill);
        let known = Known { reports: &reports, bundles: &bundles, sources: &sources };
        let clearance = clear(auditor.mode, &auditor.policy, &known);
        Ok(Inspected { reports, clearance })
    }

    /// Returns everywhere that a skill may come from, whoever says so: enough to refuse it.
    fn sources(&self, skill: &Skill) -> Vec<String> {
        let mut all: Vec<String> = [origin(skill)].into_iter().chain(claimed(skill)).collect();
        let Place::Folder { folder, .. } = &skill.place else { return all };
        all.extend(repository_urls(folder));
        if let Some(home) = self.places().ok().and_then(|places| places.csk_home.as_ref()) {
            all.extend(receipt_origins(folder, home));
        }
        all
    }

    /// Opens the folder of the commands that csk installed from a skill.
    fn commands_of(&self, skill: &Skill, subject: &Subject) -> Result<Option<Root>, RuntimeError> {
        let from = skill.provenance.as_deref().filter(|from| from.has_receipt);
        let runtime = from.filter(|_| !subject.is_drifted).and_then(|from| from.runtime.as_ref());
        let Some(((name, id, _), home)) = runtime.zip(self.places()?.csk_home.as_ref()) else {
            return Ok(None);
        };
        match Root::open(&runtime_place(home, name, id)) {
            Ok(root) => Ok(Some(root)),
            // A command that is not there cannot be started.
            Err(FsError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses to show a skill to a model that the audit blocks or that is revoked.
    pub(crate) fn check_clearance(
        &self,
        skill: &Skill,
        loaded: &Loaded,
    ) -> Result<(), RuntimeError> {
        let clearance = match (subject(skill, loaded), loaded.root.as_ref()) {
            (Ok(subject), _) => self.inspect(skill, &subject)?.clearance,
            // It has no digest that trust could bind to and never runs; its text is audited all the same.
            (Err(RuntimeError::Files(_)), Some(root)) => {
                let auditor = self.auditor()?;
                let bundle =
                    Bundle::read_part(&skill.name, root, Digest::of(skill.path().as_bytes()))?;
                let report = auditor.fresh(&bundle);
                let sources = self.sources(skill);
                let known = Known { reports: &[report], bundles: &[], sources: &sources };
                clear(auditor.mode, &auditor.policy, &known)
            }
            (Err(error), _) => return Err(error),
        };
        match clearance {
            Clearance::Clear | Clearance::Review(_) => Ok(()),
            Clearance::Refused { reason, hint } => Err(refused(skill, &reason, hint)),
        }
    }

    /// Refuses fetched files of a skill that the audit blocks: when the skill was approved, they were not here yet.
    pub(crate) fn check_fetched(&self, skill: &Skill, root: &Root) -> Result<(), RuntimeError> {
        let auditor = self.auditor()?;
        let digest = digests(root, &walk(root, &WalkLimits::SKILL)?)?.bundle;
        let reports = [auditor.report(&skill.name, root, digest)?];
        let (bundles, sources) = ([digest.to_string()], [skill.path().to_owned()]);
        let known = Known { reports: &reports, bundles: &bundles, sources: &sources };
        match clear(auditor.mode, &auditor.policy, &known) {
            Clearance::Clear | Clearance::Review(_) => Ok(()),
            Clearance::Refused { reason, hint } => Err(refused(skill, &reason, hint)),
        }
    }

    /// Audits files that are to be a skill; `sources` is where they come from.
    pub(crate) fn audit_files(
        &self,
        name: &str,
        root: &Root,
        sources: &[String],
    ) -> Result<Audited, RuntimeError> {
        let auditor = self.auditor()?;
        let bundle = Bundle::read(name, root)?;
        let found = auditor.fresh(&bundle);
        let subject = Found { found: &found, sources, before: None };
        let decision = decide(auditor.mode, &auditor.policy, &subject);
        Ok(Audited { found, decision })
    }
}

fn refused(skill: &Skill, reason: &str, hint: String) -> RuntimeError {
    let message = format!("`{}` is not used: {reason}", skill.id);
    RuntimeError::PermissionDenied { message, hint: Some(hint) }
}
