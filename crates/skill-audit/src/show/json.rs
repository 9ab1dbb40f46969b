//! Reports as JSON. Stored verdicts use the same format.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::capabilities::Extent;

use super::AuditedSkill;
use crate::{
    BundleReport, Finding, ObservedChange, ObservedKind, RULESET, Report, Rule, Suppressed,
};

/// The output of `csk audit --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportsJson {
    /// The version of this format.
    pub version: u32,
    /// The version of the rule set.
    pub ruleset: u32,
    /// One report per skill.
    pub skills: Vec<AuditedJson>,
}

/// The report on one skill, with its context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct AuditedJson {
    /// The report.
    #[serde(flatten)]
    pub report: ReportJson,
    /// The reason for the revocation; present only if the user revoked this bundle or its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// The version that this one is compared with: the first version of `--diff`, or the stored report for `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousJson>,
    /// Capabilities that only this version uses; present only with `previous`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gained: Option<Vec<UsedJson>>,
    /// Capabilities that only the previous version used; present only with `previous`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Vec<UsedJson>>,
    /// Differences from what was installed and stored; present only for `verify`, and empty if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<String>>,
}

/// The output of `csk audit --explain --json`: one audit rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleJson {
    /// The version of this format.
    pub version: u32,
    /// The stable ID: `DEL-01`.
    pub id: &'static str,
    /// The human-readable name.
    pub name: &'static str,
    /// The usual severity: `info`, `low`, `medium`, `high` or `critical`.
    pub severity: &'static str,
    /// What the rule finds.
    pub description: &'static str,
    /// Why it matters.
    pub rationale: &'static str,
    /// Code or text that the rule finds.
    pub example: &'static str,
    /// What the author or the user should do.
    pub fix: &'static str,
}

impl RuleJson {
    /// Converts a rule.
    pub fn new(rule: &Rule) -> Self {
        let Rule { id, name, severity, description, rationale, example, fix, .. } = *rule;
        Self {
            version: 1,
            id: id.as_str(),
            name,
            severity: severity.as_str(),
            description,
            rationale,
            example,
            fix,
        }
    }
}

/// The previous version of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreviousJson {
    /// The digest of the whole previous version.
    pub bundle_sha256: String,
    /// Its verdict.
    pub verdict: String,
}

/// The items of one capability that a skill uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsedJson {
    /// The capability.
    pub capability: String,
    /// Hosts, programs, paths or names.
    pub items: Vec<String>,
}

impl AuditedJson {
    /// Converts a report and its context.
    pub fn new(audited: &AuditedSkill) -> Self {
        let previous = audited.previous.as_ref();
        let changes = previous.map(|_| audited.changes());
        let used = |of: fn(&ObservedChange) -> &Vec<String>| {
            let one = |change: &ObservedChange| {
                let (capability, items) = (change.kind.as_str().to_owned(), of(change).clone());
                (!items.is_empty()).then_some(UsedJson { capability, items })
            };
            changes.as_ref().map(|all| all.iter().filter_map(one).collect())
        };
        Self {
            report: ReportJson::new(&audited.found),
            revoked: audited.revoked.clone(),
            previous: previous.map(|previous| PreviousJson {
                bundle_sha256: previous.bundle.to_string(),
                verdict: previous.report.verdict.to_string(),
            }),
            gained: used(|change| &change.gained),
            lost: used(|change| &change.lost),
            differences: audited.differences.clone(),
        }
    }
}

/// The report on one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportJson {
    /// The skill's name.
    pub name: String,
    /// The digest of the whole skill.
    pub bundle_sha256: String,
    /// The verdict: `PASS`, `NOTE`, `REVIEW`, `UNANALYZABLE` or `BLOCK`.
    pub verdict: String,
    /// The capabilities that the skill declares or uses.
    pub capabilities: Vec<CapabilityJson>,
    /// The findings, worst first.
    pub findings: Vec<FindingJson>,
    /// Findings that the user suppressed.
    pub suppressed: Vec<FindingJson>,
    /// The number of audited files.
    pub files: usize,
    /// The number of files that contain no code, by type: `font`, `image`; absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub assets: BTreeMap<String, usize>,
}

/// One capability: what the skill declares and what it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapabilityJson {
    /// The capability.
    pub capability: String,
    /// What the skill declares: a list, or `any`; absent if it does not declare this capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<ExtentJson>,
    /// What its scripts use.
    #[serde(alias = "code")]
    pub scripts: Vec<String>,
    /// What the agent uses when it follows the skill's instructions.
    #[serde(alias = "told")]
    pub instructions: Vec<String>,
}

/// The extent of a declared capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExtentJson {
    /// Only these items.
    Only(BTreeSet<String>),
    /// No limit.
    Anything(AnyJson),
}

/// The value for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnyJson {
    /// Anything.
    Any,
}

impl ExtentJson {
    /// Converts an extent; returns `None` if it is not declared.
    pub fn new(extent: &Extent) -> Option<Self> {
        match extent {
            Extent::Undeclared => None,
            Extent::Anything => Some(Self::Anything(AnyJson::Any)),
            Extent::Only(items) => Some(Self::Only(items.clone())),
        }
    }

    /// Returns the extent of a stored declaration.
    pub fn extent(declared: Option<&Self>) -> Extent {
        match declared {
            None => Extent::Undeclared,
            Some(Self::Anything(AnyJson::Any)) => Extent::Anything,
            Some(Self::Only(items)) => Extent::Only(items.clone()),
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindingJson {
    /// The rule's ID.
    pub rule: String,
    /// The rule's name.
    pub name: String,
    /// The severity of this finding.
    pub severity: String,
    /// Whether this finding alone blocks the install.
    pub blocks: bool,
    /// The file's path in the skill.
    pub file: String,
    /// The first line, from 1.
    pub line: usize,
    /// The first column, from 1.
    pub column: usize,
    /// The last line.
    pub end_line: usize,
    /// The part of the document: `prose`, `fence`, `inline`, `frontmatter`, `comment`, `script` or `data`.
    pub role: String,
    /// The encodings around the text, outermost first.
    pub chain: Vec<String>,
    /// The finding as one sentence.
    pub message: String,
    /// The source text, with secrets redacted.
    pub evidence: String,
    /// The fingerprint that a suppression refers to.
    pub fingerprint: String,
    /// Why it matters.
    #[serde(default)]
    pub rationale: String,
    /// What to do about it.
    #[serde(default)]
    pub fix: String,
    /// The steps of the data flow: file, line and what happens there.
    pub flow: Vec<(String, usize, String)>,
    /// Why the severity was lowered, or why the user suppressed the finding.
    #[serde(default, alias = "because", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ReportsJson {
    /// Wraps several reports.
    pub fn new(skills: Vec<AuditedJson>) -> Self {
        Self { version: 1, ruleset: RULESET, skills }
    }
}

impl ReportJson {
    /// Converts a report.
    pub fn new(found: &BundleReport) -> Self {
        let report = &found.report;
        let suppressed = |one: &Suppressed| FindingJson::new(&one.finding, Some(&one.reason));
        Self {
            name: report.name.clone(),
            bundle_sha256: found.bundle.to_string(),
            verdict: report.verdict.to_string(),
            capabilities: capabilities(report),
            findings: report.findings.iter().map(|one| FindingJson::new(one, None)).collect(),
            suppressed: report.suppressed.iter().map(suppressed).collect(),
            files: report.files,
            assets: report.assets.clone(),
        }
    }
}

fn capabilities(report: &Report) -> Vec<CapabilityJson> {
    let list = |map: &BTreeMap<ObservedKind, BTreeSet<String>>, kind: ObservedKind| {
        map.get(&kind).into_iter().flatten().cloned().collect()
    };
    let all = ObservedKind::all().map(|kind| CapabilityJson {
        capability: kind.as_str().to_owned(),
        declared: report.declared_of(kind).and_then(ExtentJson::new),
        scripts: list(&report.observed.scripts, kind),
        instructions: list(&report.observed.instructions, kind),
    });
    let is_shown = |row: &CapabilityJson| {
        row.declared.is_some() || !row.scripts.is_empty() || !row.instructions.is_empty()
    };
    all.filter(is_shown).collect()
}

impl FindingJson {
    fn new(finding: &Finding, reason: Option<&str>) -> Self {
        Self {
            rule: finding.rule.id.to_string(),
            name: finding.rule.name.to_owned(),
            severity: finding.severity.as_str().to_owned(),
            blocks: finding.blocks,
            file: finding.file.clone(),
            line: finding.location.line,
            column: finding.location.column,
            end_line: finding.location.end_line,
            role: finding.role.as_str().to_owned(),
            chain: finding.chain.iter().map(|step| step.as_str().to_owned()).collect(),
            message: finding.message.clone(),
            evidence: finding.evidence.clone(),
            fingerprint: finding.fingerprint(),
            rationale: finding.rule.rationale.to_owned(),
            fix: finding.rule.fix.to_owned(),
            flow: finding
                .flow
                .iter()
                .map(|step| (step.file.clone(), step.line, step.description.clone()))
                .collect(),
            reason: reason.or(finding.lowered.as_deref()).map(str::to_owned),
        }
    }
}
