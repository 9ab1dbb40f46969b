//! A report for others: as JSON, and as a page.

mod html;
mod json;
mod stored;

use crate::{BundleReport, ObservedChange};

pub use html::{Source, html};
pub use json::{
    AnyJson, AuditedJson, BeforeJson, CapabilityJson, ExtentJson, FindingJson, ReportJson,
    ReportsJson, RuleJson, UsedJson,
};
pub use stored::UnknownWord;

/// What was found about a skill, and what else is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedSkill {
    /// What was found.
    pub found: BundleReport,
    /// Why it is never to be installed, where the user revoked it or where it comes from.
    pub revoked: Option<String>,
    /// The version that it is compared with.
    pub before: Option<BundleReport>,
    /// How it is not what was installed and kept, where that was looked at.
    pub differs: Option<Vec<String>>,
}

impl AuditedSkill {
    /// Returns a report with nothing else.
    pub fn new(found: BundleReport) -> Self {
        Self { found, revoked: None, before: None, differs: None }
    }

    /// Returns what it uses that the version before did not, and the other way around.
    pub fn changes(&self) -> Vec<ObservedChange> {
        let (now, before) = (&self.found.report.observed, self.before.as_ref());
        before.map(|before| now.changes_since(&before.report.observed)).unwrap_or_default()
    }

    /// Returns the word for it: what is revoked is that before anything else.
    pub fn word(&self) -> &'static str {
        if self.revoked.is_some() { REVOKED } else { self.found.report.verdict.as_str() }
    }
}

/// The word for a skill that is revoked.
pub const REVOKED: &str = "REVOKED";
