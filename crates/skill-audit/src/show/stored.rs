//! A report that was written down, read back. What is not known in it is an error: nothing is decided by half of a report.

use std::collections::BTreeMap;

use skill::capabilities::CapabilityExtents;

use super::json::{CapabilityJson, ExtentJson, FindingJson, ReportJson};
use crate::decode::Encoding;
use crate::{
    BundleReport, Finding, FlowStep, LineRange, Observed, ObservedKind, Report, Role, RuleId,
    Severity, Suppressed, Verdict,
};

/// A word of a stored report that means nothing to this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not {expected}")]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// What stands there otherwise.
    pub expected: &'static str,
}

impl TryFrom<ReportJson> for BundleReport {
    type Error = UnknownWord;

    fn try_from(json: ReportJson) -> Result<Self, UnknownWord> {
        let bundle = known(&json.bundle_sha256, |word| word.parse().ok(), "a digest")?;
        let rows = rows(&json.capabilities)?;
        let extent = |row: Option<&&CapabilityJson>| {
            ExtentJson::extent(row.and_then(|row| row.declared.as_ref()))
        };
        let declared =
            CapabilityExtents::new(|kind| extent(rows.get(&ObservedKind::Capability(kind))));
        let suppressed = |json: FindingJson| {
            let reason = json.because.clone();
            let reason = reason.ok_or(UnknownWord { word: String::new(), expected: "a reason" })?;
            Ok(Suppressed { finding: Finding { lowered: None, ..finding(json)? }, reason })
        };
        let report = Report {
            name: json.name,
            verdict: known(&json.verdict, Verdict::parse, "a verdict")?,
            findings: json.findings.into_iter().map(finding).collect::<Result<_, _>>()?,
            suppressed: json.suppressed.into_iter().map(suppressed).collect::<Result<_, _>>()?,
            declared,
            observed: observed(&rows),
            files: json.files,
        };
        Ok(Self { bundle, report })
    }
}

/// Reads a word by `read`.
fn known<T>(
    word: &str,
    read: impl FnOnce(&str) -> Option<T>,
    expected: &'static str,
) -> Result<T, UnknownWord> {
    read(word).ok_or_else(|| UnknownWord { word: word.to_owned(), expected })
}

type Rows<'a> = BTreeMap<ObservedKind, &'a CapabilityJson>;

fn rows(all: &[CapabilityJson]) -> Result<Rows<'_>, UnknownWord> {
    all.iter()
        .map(|row| Ok((known(&row.capability, ObservedKind::parse, "a capability")?, row)))
        .collect()
}

fn observed(rows: &Rows<'_>) -> Observed {
    let of = |items: fn(&CapabilityJson) -> &Vec<String>| {
        let used = rows.iter().filter(|(_, row)| !items(row).is_empty());
        used.map(|(kind, row)| (*kind, items(row).iter().cloned().collect())).collect()
    };
    Observed { code: of(|row| &row.code), told: of(|row| &row.told) }
}

fn finding(json: FindingJson) -> Result<Finding, UnknownWord> {
    let step = |(file, line, what)| FlowStep { file, line, what };
    let encoding = |word: &String| known(word, Encoding::parse, "an encoding");
    Ok(Finding {
        rule: known(&json.rule, RuleId::parse, "a rule")?.rule(),
        severity: known(&json.severity, Severity::parse, "a severity")?,
        blocks: json.blocks,
        file: json.file,
        location: LineRange { line: json.line, column: json.column, end_line: json.end_line },
        role: known(&json.role, Role::parse, "a role")?,
        chain: json.chain.iter().map(encoding).collect::<Result<_, _>>()?,
        message: json.message,
        evidence: json.evidence,
        flow: json.flow.into_iter().map(step).collect(),
        lowered: json.because,
    })
}
