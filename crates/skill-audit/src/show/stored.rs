//! Reads stored reports. An unknown value is an error, so that nothing is decided from half a report.

use std::collections::BTreeMap;

use skill::capabilities::CapabilityExtents;

use super::json::{CapabilityJson, ExtentJson, FindingJson, ReportJson};
use crate::decode::Encoding;
use crate::observed::current_item;
use crate::{
    BundleReport, Finding, FlowStep, LineRange, Observed, ObservedKind, Report, Role, RuleId,
    Severity, Suppressed, Verdict,
};

/// A value in a stored report that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not {expected}")]
pub struct UnknownValue {
    /// The unknown value.
    pub value: String,
    /// What was expected instead.
    pub expected: &'static str,
}

impl TryFrom<ReportJson> for BundleReport {
    type Error = UnknownValue;

    fn try_from(json: ReportJson) -> Result<Self, UnknownValue> {
        let bundle = parsed(&json.bundle_sha256, |digest| digest.parse().ok(), "a digest")?;
        let rows = rows(&json.capabilities)?;
        let extent = |row: Option<&&CapabilityJson>| {
            ExtentJson::extent(row.and_then(|row| row.declared.as_ref()))
        };
        let declared =
            CapabilityExtents::new(|kind| extent(rows.get(&ObservedKind::Capability(kind))));
        let suppressed = |json: FindingJson| {
            let reason = json.reason.clone();
            let reason =
                reason.ok_or(UnknownValue { value: String::new(), expected: "a reason" })?;
            Ok(Suppressed { finding: Finding { lowered: None, ..finding(json)? }, reason })
        };
        let report = Report {
            name: json.name,
            verdict: parsed(&json.verdict, Verdict::parse, "a verdict")?,
            findings: json.findings.into_iter().map(finding).collect::<Result<_, _>>()?,
            suppressed: json.suppressed.into_iter().map(suppressed).collect::<Result<_, _>>()?,
            declared,
            observed: observed(&rows),
            files: json.files,
            assets: json.assets,
        };
        Ok(Self { bundle, report })
    }
}

/// Parses a value with `parse`.
fn parsed<T>(
    value: &str,
    parse: impl FnOnce(&str) -> Option<T>,
    expected: &'static str,
) -> Result<T, UnknownValue> {
    parse(value).ok_or_else(|| UnknownValue { value: value.to_owned(), expected })
}

type Rows<'a> = BTreeMap<ObservedKind, &'a CapabilityJson>;

fn rows(all: &[CapabilityJson]) -> Result<Rows<'_>, UnknownValue> {
    all.iter()
        .map(|row| Ok((parsed(&row.capability, ObservedKind::parse, "a capability")?, row)))
        .collect()
}

fn observed(rows: &Rows<'_>) -> Observed {
    let of = |items: fn(&CapabilityJson) -> &Vec<String>| {
        let used = rows.iter().filter(|(_, row)| !items(row).is_empty());
        used.map(|(kind, row)| (*kind, items(row).iter().map(|item| current_item(item)).collect()))
            .collect()
    };
    Observed { scripts: of(|row| &row.scripts), instructions: of(|row| &row.instructions) }
}

fn finding(json: FindingJson) -> Result<Finding, UnknownValue> {
    let step = |(file, line, description)| FlowStep { file, line, description };
    let encoding = |name: &String| parsed(name, Encoding::parse, "an encoding");
    Ok(Finding {
        rule: parsed(&json.rule, RuleId::parse, "a rule")?.rule(),
        severity: parsed(&json.severity, Severity::parse, "a severity")?,
        blocks: json.blocks,
        file: json.file,
        location: LineRange { line: json.line, column: json.column, end_line: json.end_line },
        role: parsed(&json.role, Role::parse, "a role")?,
        chain: json.chain.iter().map(encoding).collect::<Result<_, _>>()?,
        message: json.message,
        evidence: json.evidence,
        flow: json.flow.into_iter().map(step).collect(),
        lowered: json.reason,
    })
}
