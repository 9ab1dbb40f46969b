//! Reports as JSON and HTML.

mod html;
mod json;
mod stored;

use crate::{BundleReport, ObservedChange};

pub use html::{Source, html};
pub use json::{
    AnyJson, AuditedJson, CapabilityJson, ExtentJson, FindingJson, PreviousJson, ReportJson,
    ReportsJson, RuleJson, UsedJson,
};
pub use stored::UnknownValue;

/// A report with the context that a command adds to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedSkill {
    /// The report on this bundle.
    pub found: BundleReport,
    /// The reason, if the user revoked the bundle or its source.
    pub revoked: Option<String>,
    /// The version that this one is compared with.
    pub previous: Option<BundleReport>,
    /// Differences from what was installed and stored, if that was checked.
    pub differences: Option<Vec<String>>,
}

impl AuditedSkill {
    /// Returns a report without context.
    pub fn new(found: BundleReport) -> Self {
        Self { found, revoked: None, previous: None, differences: None }
    }

    /// Returns the capabilities gained and lost since the previous version.
    pub fn changes(&self) -> Vec<ObservedChange> {
        let now = &self.found.report.observed;
        let previous = self.previous.as_ref();
        previous.map(|one| now.changes_since(&one.report.observed)).unwrap_or_default()
    }

    /// Returns the label to show: `REVOKED`, or else the verdict.
    pub fn label(&self) -> &'static str {
        if self.revoked.is_some() { REVOKED } else { self.found.report.verdict.as_str() }
    }
}

/// The label of a revoked skill.
pub const REVOKED: &str = "REVOKED";
