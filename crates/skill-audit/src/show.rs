//! A report for others: as JSON, and as a page.

mod html;
mod json;

pub use html::{Source, html};
pub use json::{
    AuditedJson, BeforeJson, FindingJson, PowerDiff, PowerJson, ReportJson, ReportsJson, RuleJson,
    UsedJson,
};
