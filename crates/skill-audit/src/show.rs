//! A report for others: as JSON, as SARIF, as a page.

mod html;
mod json;
mod sarif;

pub use html::{Source, html};
pub use json::{FindingJson, PowerDiff, PowerJson, ReportJson, ReportsJson};
pub use sarif::sarif;
