//! What was found about bundles before: `audit/verdicts/<bundle>.json`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use skill_audit::RULESET;
use skill_audit::show::ReportJson;
use skill_fs::{AbsPath, read_text, write_file};

use super::AuditPolicy;
use crate::StateError;

/// A verdict with what it depends on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    schema_version: u32,
    ruleset: u32,
    policy: String,
    report: ReportJson,
}

/// Verdicts of bundles under these rules and this policy.
#[derive(Debug, Clone)]
pub struct Verdicts {
    folder: AbsPath,
    policy: String,
}

impl Verdicts {
    /// Returns the verdicts that hold under a policy.
    pub fn new(home: &AbsPath, policy: &AuditPolicy, now: Timestamp) -> Self {
        Self::at(super::audit_folder(home).join("verdicts"), policy, now)
    }

    /// Returns the verdicts that are kept in `folder`.
    pub fn at(folder: AbsPath, policy: &AuditPolicy, now: Timestamp) -> Self {
        Self { folder, policy: policy.digest(now) }
    }

    fn file(&self, bundle: &str) -> Option<AbsPath> {
        // A digest, and never a path.
        let digits = bundle.strip_prefix("sha256:").unwrap_or(bundle);
        let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| self.folder.join(format!("{digits}.json")))
    }

    /// Returns what was found about a bundle, if it was by these rules and under this policy.
    pub fn get(&self, bundle: &str) -> Option<ReportJson> {
        let kept = self.any(bundle)?;
        (kept.ruleset == RULESET && kept.policy == self.policy).then_some(kept.report)
    }

    /// Returns what was found about a bundle by whatever rules: to see what an update adds.
    pub fn before(&self, bundle: &str) -> Option<ReportJson> {
        self.any(bundle).map(|kept| kept.report)
    }

    fn any(&self, bundle: &str) -> Option<Kept> {
        // What cannot be read is found anew.
        let text = read_text(&self.file(bundle)?).ok()??;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        (kept.schema_version == 1 && kept.report.bundle_sha256 == bundle).then_some(kept)
    }

    /// Keeps what was found.
    pub fn put(&self, report: &ReportJson) -> Result<(), StateError> {
        let Some(file) = self.file(&report.bundle_sha256) else { return Ok(()) };
        skill_fs::make_private_folder(&self.folder)?;
        let kept = Kept {
            schema_version: 1,
            ruleset: RULESET,
            policy: self.policy.clone(),
            report: report.clone(),
        };
        let text = serde_json::to_string(&kept).unwrap_or_default();
        write_file(&file, text.as_bytes())?;
        Ok(())
    }

    /// Returns everything that is kept, by name and digest.
    pub fn all(&self) -> Result<Vec<ReportJson>, StateError> {
        let mut all: Vec<ReportJson> = skill_fs::own_names(&self.folder)?
            .iter()
            .filter_map(|name| name.strip_suffix(".json"))
            .filter_map(|digits| self.before(&format!("sha256:{digits}")))
            .collect();
        all.sort_by(|one, other| {
            (&one.name, &one.bundle_sha256).cmp(&(&other.name, &other.bundle_sha256))
        });
        Ok(all)
    }
}
