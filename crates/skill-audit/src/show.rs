//! A report for others: as JSON, as SARIF, as a page.

mod html;
mod json;
mod sarif;

pub use html::{Source, html};
pub use json::{
    AuditedJson, BeforeJson, CapabilityJson, FindingJson, ObservedChange, ReportJson, ReportsJson,
    RuleJson, UsedJson,
};
pub use sarif::sarif;
