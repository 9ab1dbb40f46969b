//! Audits skills and decides whether the findings allow using them.
//!
//! Running and activating a skill goes through [`OpenSkillRuntime::inspect`]; installing one goes through
//! [`OpenSkillRuntime::audit_files`].

use jiff::Timestamp;
use skill::Digest;
use skill_audit::BundleReport;
use skill_fs::{FsError, Root, WalkLimits, digests, walk};
use skill_state::audit::{
    AuditMode, AuditPolicy, AuditSubject, Bundle, Clearance, ClearanceInputs, Decision, Verdicts,
    clear, decide,
};
use skill_state::command_files_path;

use crate::decide::approvals::{claimed, origin, subject};
use crate::decide::permit::{Inspection, Subject};
use crate::disclose::load::Loaded;
use crate::discover::index::SkillLocation;
use crate::discover::provenance::{receipt_origins, repository_urls};
use crate::runtime::OpenSkillRuntime;
use crate::state::settings::Settings;
use crate::{RuntimeError, Skill};

/// The result of auditing a skill.
#[derive(Debug, Clone)]
pub struct AuditOutcome {
    /// The findings.
    pub found: BundleReport,
    /// Whether the findings allow the skill to be used.
    pub decision: Decision,
}

/// Audits with the user's settings and the user's decisions about findings.
struct Auditor {
    mode: AuditMode,
    policy: AuditPolicy,
    verdicts: Option<Verdicts>,
    now: Timestamp,
}

impl Auditor {
    /// Audits a folder, or returns the cached verdict for this exact content and rule set.
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
            let what = "its files changed while they were being read".to_owned();
            return Err(RuntimeError::SkillChanged { skill: name.to_owned(), what });
        }
        let report = self.fresh(&bundle);
        if let Some(verdicts) = verdicts {
            // A verdict that cannot be cached is computed again next time.
            let _ = verdicts.put(&report);
        }
        Ok(report)
    }

    /// Audits files without consulting the cache.
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

    /// Audits everything that a run of a skill could start: its folder, and the commands that csk installed from it. A
    /// builtin skill is part of the program, and a skill served over MCP is audited when its files are fetched.
    /// Revocations apply to both.
    pub(crate) fn inspect(
        &self,
        skill: &Skill,
        subject: &Subject,
    ) -> Result<Inspection, RuntimeError> {
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
        let known = ClearanceInputs { reports: &reports, bundles: &bundles, sources: &sources };
        let clearance = clear(auditor.mode, &auditor.policy, &known);
        Ok(Inspection { reports, clearance })
    }

    /// Returns every possible origin of a skill, verified or not. Any of them is enough to refuse it.
    fn sources(&self, skill: &Skill) -> Vec<String> {
        let mut all: Vec<String> = [origin(skill)].into_iter().chain(claimed(skill)).collect();
        let SkillLocation::Folder { folder, .. } = &skill.place else { return all };
        all.extend(repository_urls(folder));
        if let Some(home) = self.places().ok().and_then(|places| places.csk_home.as_ref()) {
            all.extend(receipt_origins(folder, home));
        }
        all
    }

    /// Opens the folder of command files that csk installed from a skill.
    fn commands_of(&self, skill: &Skill, subject: &Subject) -> Result<Option<Root>, RuntimeError> {
        let from = skill.provenance.as_deref().filter(|from| from.has_receipt);
        let runtime = from.filter(|_| !subject.is_drifted).and_then(|from| from.runtime.as_ref());
        let Some(((name, id, _), home)) = runtime.zip(self.places()?.csk_home.as_ref()) else {
            return Ok(None);
        };
        match Root::open(&command_files_path(home, name, id)) {
            Ok(root) => Ok(Some(root)),
            // A missing command cannot be started.
            Err(FsError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses to show a model a skill that is blocked by the audit or revoked.
    pub(crate) fn check_clearance(
        &self,
        skill: &Skill,
        loaded: &Loaded,
    ) -> Result<(), RuntimeError> {
        let clearance = match (subject(skill, loaded), loaded.root.as_ref()) {
            (Ok(subject), _) => self.inspect(skill, &subject)?.clearance,
            // Without a digest it can never be approved or run, but its text is still audited.
            (Err(RuntimeError::Files(_)), Some(root)) => {
                let auditor = self.auditor()?;
                let bundle =
                    Bundle::read_part(&skill.name, root, Digest::of(skill.path().as_bytes()))?;
                let report = auditor.fresh(&bundle);
                let sources = self.sources(skill);
                let known = ClearanceInputs { reports: &[report], bundles: &[], sources: &sources };
                clear(auditor.mode, &auditor.policy, &known)
            }
            (Err(error), _) => return Err(error),
        };
        match clearance {
            Clearance::Clear | Clearance::Review(_) => Ok(()),
            Clearance::Refused { reason, hint } => Err(refused(skill, &reason, hint)),
        }
    }

    /// Refuses fetched files that the audit blocks. They could not be audited when the skill was approved, because they
    /// were not yet fetched.
    pub(crate) fn check_fetched(&self, skill: &Skill, root: &Root) -> Result<(), RuntimeError> {
        let auditor = self.auditor()?;
        let digest = digests(root, &walk(root, &WalkLimits::SKILL)?)?.bundle;
        let reports = [auditor.report(&skill.name, root, digest)?];
        let (bundles, sources) = ([digest.to_string()], [skill.path().to_owned()]);
        let known = ClearanceInputs { reports: &reports, bundles: &bundles, sources: &sources };
        match clear(auditor.mode, &auditor.policy, &known) {
            Clearance::Clear | Clearance::Review(_) => Ok(()),
            Clearance::Refused { reason, hint } => Err(refused(skill, &reason, hint)),
        }
    }

    /// Audits files that are about to be installed as a skill; `sources` lists their origins.
    pub(crate) fn audit_files(
        &self,
        name: &str,
        root: &Root,
        sources: &[String],
    ) -> Result<AuditOutcome, RuntimeError> {
        let auditor = self.auditor()?;
        let bundle = Bundle::read(name, root)?;
        let found = auditor.fresh(&bundle);
        let subject = AuditSubject { found: &found, sources, previous: None };
        let decision = decide(auditor.mode, &auditor.policy, &subject);
        Ok(AuditOutcome { found, decision })
    }
}

fn refused(skill: &Skill, reason: &str, hint: String) -> RuntimeError {
    let message = format!("`{}` is blocked: {reason}", skill.id);
    RuntimeError::PermissionDenied { message, hint: Some(hint) }
}
