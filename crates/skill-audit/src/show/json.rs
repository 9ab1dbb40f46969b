//! A report as JSON. The same form is kept as the verdict of a bundle.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill::capabilities::Extent;

use super::AuditedSkill;
use crate::{
    BundleReport, Finding, ObservedChange, ObservedKind, RULESET, Report, Rule, Suppressed,
};

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
        Self {
            version: 1,
            id: id.as_str(),
            name,
            severity: severity.as_str(),
            what,
            why,
            example,
            fix,
        }
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
    /// Returns all that is known of a skill.
    pub fn new(audited: &AuditedSkill) -> Self {
        let before = audited.before.as_ref();
        let changes = before.map(|_| audited.changes());
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
            before: before.map(|before| BeforeJson {
                bundle_sha256: before.bundle.to_string(),
                verdict: before.report.verdict.to_string(),
            }),
            gained: used(|change| &change.gained),
            lost: used(|change| &change.lost),
            differs: audited.differs.clone(),
        }
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
    /// What the skill declares: a list, or `any`; absent where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<ExtentJson>,
    /// What its scripts are seen to use.
    pub code: Vec<String>,
    /// What its text has the agent use.
    pub told: Vec<String>,
}

/// How far a declared capability reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExtentJson {
    /// To all of these.
    Only(BTreeSet<String>),
    /// Anywhere.
    Anything(AnyJson),
}

/// The word for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnyJson {
    /// Whatever there is.
    Any,
}

impl ExtentJson {
    /// Returns an extent; nothing for what is not declared.
    pub fn new(extent: &Extent) -> Option<Self> {
        match extent {
            Extent::Undeclared => None,
            Extent::Anything => Some(Self::Anything(AnyJson::Any)),
            Extent::Only(items) => Some(Self::Only(items.clone())),
        }
    }

    /// Returns the extent that was written down, or was not.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl ReportsJson {
    /// Returns several reports.
    pub fn new(skills: Vec<AuditedJson>) -> Self {
        Self { version: 1, ruleset: RULESET, skills }
    }
}

impl ReportJson {
    /// Returns what was found about a bundle.
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
        code: list(&report.observed.code, kind),
        told: list(&report.observed.told, kind),
    });
    let is_shown = |row: &CapabilityJson| {
        row.declared.is_some() || !row.code.is_empty() || !row.told.is_empty()
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
            flow: finding
                .flow
                .iter()
                .map(|step| (step.file.clone(), step.line, step.what.clone()))
                .collect(),
            because: reason.or(finding.lowered.as_deref()).map(str::to_owned),
        }
    }
}
