//! Shows what the skills of a source can do, and what the audit says about them.

use std::collections::BTreeMap;

use csk_core::Declaration;
use csk_core::operations::Examination;
use csk_core::output::SourceSkillJson;
use csk_core::source::OfferedSkill;
use skill_audit::{ObservedKind, Report};
use skill_state::audit::Clearance;
use term::{headed_table, safe_line};

use super::declare::describe;
use super::found::FoundSkills;

/// The number of items shown for each capability.
const MAX_ITEMS: usize = 4;
/// The number of characters of a description.
const MAX_DESCRIPTION: usize = 120;

/// A skill of a source, examined.
pub(crate) struct ExaminedSkill {
    pub(crate) skill: OfferedSkill,
    pub(crate) declaration: Declaration,
    pub(crate) examined: Examination,
}

/// Returns a paragraph about a skill.
pub(crate) fn facts_about(found: &FoundSkills, one: &ExaminedSkill) -> String {
    let ExaminedSkill { skill, examined, .. } = one;
    let description: String = skill.description.chars().take(MAX_DESCRIPTION).collect();
    let end = if description.len() < skill.description.len() { "…" } else { "" };
    let mut lines = vec![format!("{} {}: {description}{end}", skill.name, found.version_text())];
    lines.push(format!("  from {}", found.place_text(skill)));
    let facts = describe(&examined.inspection);
    lines.extend(facts.into_iter().map(|line| format!("  {line}")));
    lines.push(match capability_summary(&examined.audit.report) {
        Some(observed) => format!("  observed: {observed}"),
        None => "  observed: no capabilities".to_owned(),
    });
    lines.push(match reason(&examined.clearance) {
        Some(reason) => format!("  {reason}"),
        None => format!("  audit verdict {}", examined.audit.report.verdict),
    });
    lines.iter().map(|line| format!("{}\n", safe_line(line))).collect()
}

/// Returns one line for each skill: its verdict and the kinds of capabilities that it was observed to use.
pub(crate) fn overview(skills: &[ExaminedSkill], width: Option<usize>) -> String {
    let row = |one: &ExaminedSkill| {
        let report = &one.examined.audit.report;
        let kinds = ObservedKind::all().filter(|kind| !report.observed.of(*kind).is_empty());
        let kinds: Vec<String> = kinds.map(|kind| kind.to_string()).collect();
        let kinds = if kinds.is_empty() { "no capabilities".to_owned() } else { kinds.join(", ") };
        vec![one.skill.name.to_string(), report.verdict.to_string(), kinds]
    };
    let rows: Vec<Vec<String>> = skills.iter().map(row).collect();
    headed_table(&["skill", "audit", "observed"], &rows, width)
}

/// Returns the capabilities that a skill was observed to use, on one line.
pub(crate) fn capability_summary(report: &Report) -> Option<String> {
    let of = |kind: ObservedKind| {
        let items = report.observed.of(kind);
        let shown: Vec<&str> = items.iter().take(MAX_ITEMS).copied().collect();
        let more = items.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!items.is_empty()).then(|| format!("{kind} ({}{more})", shown.join(", ")))
    };
    let kinds: Vec<String> = ObservedKind::all().filter_map(of).collect();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// Returns why a skill needs review or is refused.
pub(crate) fn reason(clearance: &Clearance) -> Option<&str> {
    match clearance {
        Clearance::Clear => None,
        Clearance::Review(reason) | Clearance::Refused { reason, .. } => Some(reason),
    }
}

pub(crate) fn as_json(one: &ExaminedSkill, outcome: Option<&str>) -> SourceSkillJson {
    let ExaminedSkill { skill, declaration, examined } = one;
    let report = &examined.audit.report;
    let of = |kind: ObservedKind| {
        let items: Vec<String> = report.observed.of(kind).into_iter().map(str::to_owned).collect();
        (!items.is_empty()).then(|| (kind.to_string(), items))
    };
    let observed: BTreeMap<String, Vec<String>> = ObservedKind::all().filter_map(of).collect();
    let reference = &declaration.reference;
    SourceSkillJson {
        name: skill.name.to_string(),
        description: skill.description.clone(),
        git: declaration.git.clone(),
        path: declaration.path.as_ref().map(ToString::to_string),
        reference: format!("{} {}", reference.kind.as_str(), reference.name),
        commit: examined.inspection.commit.as_str().to_owned(),
        bundle_sha256: examined.audit.bundle.to_string(),
        verdict: report.verdict.as_str().to_owned(),
        reason: reason(&examined.clearance).map(str::to_owned),
        facts: describe(&examined.inspection),
        observed,
        outcome: outcome.map(str::to_owned),
    }
}
