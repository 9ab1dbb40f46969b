//! A report as JSON. The same form is kept as the verdict of a bundle.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Finding, Observed, Power, RULESET, Report, Rule, Suppressed};

/// `csk audit --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportsJson {
    /// The version of this format.
    pub version: u32,
    /// The version of the rules.
    pub ruleset: u32,
    /// One report for each skill.
    pub skills: Vec<AuditedJson>,
}

/// What was found about one skill, and what else is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct AuditedJson {
    /// What was found.
    #[serde(flatten)]
    pub report: ReportJson,
    /// Why it is never to be installed; only where the user revoked it, or where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// What it is compared with: the first version of `--diff`, or what `verify` finds to be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeJson>,
    /// What it uses and that version did not; only with `before`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gained: Option<Vec<UsedJson>>,
    /// What that version used and it does not; only with `before`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Vec<UsedJson>>,
    /// How it is not what was installed and kept; only of `verify`, and empty if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Vec<String>>,
}

/// `csk audit --explain --json`: what a rule finds, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleJson {
    /// The version of this format.
    pub version: u32,
    /// Its name for machines: `DEL-01`.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// How bad what it finds usually is: `info`, `low`, `medium`, `high` or `critical`.
    pub severity: &'static str,
    /// What it finds.
    pub what: &'static str,
    /// Why that matters.
    pub why: &'static str,
    /// An example.
    pub example: &'static str,
    /// What an author can do instead, or a reader should do.
    pub fix: &'static str,
}

impl RuleJson {
    /// Returns a rule.
    pub fn new(rule: &Rule) -> Self {
        let Rule { id, name, severity, what, why, example, fix, .. } = *rule;
        Self { version: 1, id, name, severity: severity.as_str(), what, why, example, fix }
    }
}

/// An earlier version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BeforeJson {
    /// The digest of everything that it was.
    pub bundle_sha256: String,
    /// What was found about it.
    pub verdict: String,
}

/// What is used of one kind of capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsedJson {
    /// The kind.
    pub capability: String,
    /// What of it.
    pub items: Vec<String>,
}

impl AuditedJson {
    /// Returns a report with nothing else.
    pub fn new(report: ReportJson) -> Self {
        Self { report, revoked: None, before: None, gained: None, lost: None, differs: None }
    }

    /// Says what changed since an earlier version.
    #[must_use]
    pub fn since(self, before: &ReportJson) -> Self {
        let (mut gained, mut lost) = (Vec::new(), Vec::new());
        for diff in self.report.changes_since(before) {
            for (items, into) in [(diff.gained, &mut gained), (diff.lost, &mut lost)] {
                if !items.is_empty() {
                    let items = items.into_iter().map(str::to_owned).collect();
                    into.push(UsedJson { capability: diff.capability.to_owned(), items });
                }
            }
        }
        let (gained, lost) = (Some(gained), Some(lost));
        let (bundle_sha256, verdict) = (before.bundle_sha256.clone(), before.verdict.clone());
        Self { gained, lost, before: Some(BeforeJson { bundle_sha256, verdict }), ..self }
    }
}

/// What was found about one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportJson {
    /// The skill's name.
    pub name: String,
    /// The digest of everything that it is.
    pub bundle_sha256: String,
    /// `PASS`, `NOTE`, `REVIEW`, `UNANALYZABLE` or `BLOCK`.
    pub verdict: String,
    /// What it declares and what it is seen to use, kind by kind.
    pub capabilities: Vec<CapabilityJson>,
    /// What was found, the worst first.
    pub findings: Vec<FindingJson>,
    /// What was found and somebody said is fine.
    pub suppressed: Vec<FindingJson>,
    /// How many files were looked at.
    pub files: usize,
}

/// One kind of capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapabilityJson {
    /// The kind.
    pub capability: String,
    /// What the skill declares; absent where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
    /// What its scripts are seen to use.
    pub code: Vec<String>,
    /// What its text has the agent use.
    pub told: Vec<String>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindingJson {
    /// The rule.
    pub rule: String,
    /// Its name for people.
    pub name: String,
    /// How bad it is here.
    pub severity: String,
    /// Whether it alone is enough not to install the skill.
    pub blocks: bool,
    /// The file.
    pub file: String,
    /// The first line, from 1.
    pub line: usize,
    /// The first column, from 1.
    pub column: usize,
    /// The last line.
    pub end_line: usize,
    /// What that place is to its reader.
    pub role: String,
    /// How it was encoded, from the outside in.
    pub chain: Vec<String>,
    /// What was found.
    pub message: String,
    /// The text, with secrets taken out.
    pub evidence: String,
    /// What a suppression is bound to.
    pub fingerprint: String,
    /// The way that something takes: file, line, what happens there.
    pub flow: Vec<(String, usize, String)>,
    /// Why it counts less than usual, or why somebody said that it is fine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl ReportsJson {
    /// Returns several reports.
    pub fn new(skills: Vec<AuditedJson>) -> Self {
        Self { version: 1, ruleset: RULESET, skills }
    }
}

impl ReportJson {
    /// Returns a report, for a bundle of this digest.
    pub fn new(report: &Report, bundle: &str) -> Self {
        Self {
            name: report.name.clone(),
            bundle_sha256: bundle.to_owned(),
            verdict: report.verdict.as_str().to_owned(),
            capabilities: capabilities(report),
            findings: report
                .findings
                .iter()
                .map(|finding| FindingJson::new(finding, None))
                .collect(),
            suppressed: report
                .suppressed
                .iter()
                .map(|Suppressed { finding, reason }| FindingJson::new(finding, Some(reason)))
                .collect(),
            files: report.files.len(),
        }
    }

    /// Returns what of each kind of capability is used, for comparing with another version.
    pub fn used(&self) -> BTreeMap<&str, Vec<&str>> {
        self.capabilities
            .iter()
            .map(|capability| {
                let mut all: Vec<&str> =
                    capability.code.iter().chain(&capability.told).map(String::as_str).collect();
                all.sort_unstable();
                all.dedup();
                (capability.capability.as_str(), all)
            })
            .filter(|(_, all)| !all.is_empty())
            .collect()
    }
}

/// What is different about one kind of capability between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedChange<'a> {
    /// The kind.
    pub capability: &'a str,
    /// What is new.
    pub gained: Vec<&'a str>,
    /// What is gone.
    pub lost: Vec<&'a str>,
}

impl ReportJson {
    /// Returns what this version uses that `before` did not, and the other way around, by kind.
    pub fn changes_since<'a>(&'a self, before: &'a Self) -> Vec<ObservedChange<'a>> {
        let (old, new) = (before.used(), self.used());
        let kinds: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
        let only = |these: Option<&Vec<&'a str>>, those: Option<&Vec<&'a str>>| -> Vec<&'a str> {
            let is_new = |item: &&&str| !those.is_some_and(|those| those.contains(item));
            these.into_iter().flatten().filter(is_new).copied().collect()
        };
        let all = kinds.into_iter().map(|capability| {
            let (old, new) = (old.get(capability), new.get(capability));
            ObservedChange { capability, gained: only(new, old), lost: only(old, new) }
        });
        all.filter(|diff| !diff.gained.is_empty() || !diff.lost.is_empty()).collect()
    }
}

fn capabilities(report: &Report) -> Vec<CapabilityJson> {
    let declared: BTreeMap<&str, String> = report
        .declared
        .extents()
        .iter()
        .filter(|(_, extent)| !matches!(extent, skill::capabilities::Extent::Undeclared))
        .map(|(kind, extent)| (kind.as_str(), extent.to_string()))
        .collect();
    let Observed { code, told } = &report.observed;
    let list = |map: &BTreeMap<Power, BTreeSet<String>>, capability: Power| {
        map.get(&capability).into_iter().flatten().cloned().collect()
    };
    let all = Power::ALL.into_iter().map(|capability| CapabilityJson {
        capability: capability.as_str().to_owned(),
        declared: declared.get(capability.as_str()).cloned(),
        code: list(code, capability),
        told: list(told, capability),
    });
    all.filter(|capability| {
        capability.declared.is_some() || !capability.code.is_empty() || !capability.told.is_empty()
    })
    .collect()
}

impl FindingJson {
    fn new(finding: &Finding, reason: Option<&str>) -> Self {
        Self {
            rule: finding.rule.id.to_owned(),
            name: finding.rule.name.to_owned(),
            severity: finding.severity.as_str().to_owned(),
            blocks: finding.blocks,
            file: finding.file.clone(),
            line: finding.span.start.line,
            column: finding.span.start.column,
            end_line: finding.span.end.line,
            role: finding.role.as_str().to_owned(),
            chain: finding.chain.iter().map(|step| step.as_str().to_owned()).collect(),
            message: finding.message.clone(),
            evidence: finding.evidence.clone(),
            fingerprint: finding.fingerprint(),
            flow: finding
                .flow
                .iter()
                .map(|step| (step.file.clone(), step.span.start.line, step.what.clone()))
                .collect(),
            because: reason.or(finding.lowered).map(str::to_owned),
        }
    }
}
