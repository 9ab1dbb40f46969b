//! Audit reports as text for the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use skill::capabilities::Extent;
use skill_audit::show::{AuditedSkill, REVOKED};
use skill_audit::{Finding, FlowStep, ObservedChange, ObservedKind, Report, Rule, RuleId, Verdict};
use term::{counted, safe_line, table};

use super::inspect::InspectedSkill;

/// The number of findings of one rule that are shown individually.
const MAX_PER_RULE: usize = 5;

/// Returns reports as text.
pub(super) fn text(inspected: &[InspectedSkill], width: Option<usize>) -> String {
    let mut text = String::new();
    for one in inspected {
        let report = one.report();
        let _ = writeln!(text, "{}  {}", safe_line(&report.name), one.audited.label());
        if let Some(reason) = &one.audited.revoked {
            let _ = writeln!(text, "  revoked: {}", safe_line(reason));
            let _ = writeln!(text, "  audit verdict: {}", report.verdict);
        }
        let _ = writeln!(text, "  bundle {}", one.digest());
        text += &changes(&one.audited, width);
        text += &capabilities(report, width);
        for finding in shown(report) {
            text += &self::finding(finding);
        }
        let hidden = report.findings.len() - shown(report).len();
        if hidden > 0 {
            let _ =
                writeln!(text, "  {} not shown; use --json to see all", counted(hidden, "finding"));
        }
        if !report.suppressed.is_empty() {
            let _ = writeln!(text, "  {} suppressed", counted(report.suppressed.len(), "finding"));
        }
        text.push('\n');
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let words = Verdict::ALL.into_iter().rev().map(Verdict::as_str);
    for verdict in std::iter::once(REVOKED).chain(words) {
        let count = inspected.iter().filter(|one| one.audited.label() == verdict).count();
        if count > 0 {
            counts.push((verdict, count));
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let _ = writeln!(text, "{}: {}", counted(inspected.len(), "skill"), counts.join(", "));
    text
}

/// Returns the most severe findings of each rule.
fn shown(report: &Report) -> Vec<&Finding> {
    let mut counts: BTreeMap<RuleId, usize> = BTreeMap::new();
    let mut shown = Vec::new();
    for finding in &report.findings {
        let count = counts.entry(finding.rule.id).or_default();
        *count += 1;
        if *count <= MAX_PER_RULE {
            shown.push(finding);
        }
    }
    shown
}

fn finding(finding: &Finding) -> String {
    let blocks = if finding.blocks { " (blocks)" } else { "" };
    let mut text = format!(
        "  {} {}{blocks} {}:{}\n      {}\n",
        finding.rule.id,
        finding.severity,
        safe_line(&finding.file),
        finding.location.line,
        safe_line(&finding.message)
    );
    let evidence: String = finding.evidence.chars().take(160).collect();
    if !evidence.is_empty() {
        let _ = writeln!(text, "      | {}", safe_line(&evidence));
    }
    if !finding.chain.is_empty() {
        let chain: Vec<&str> = finding.chain.iter().map(|step| step.as_str()).collect();
        let _ = writeln!(text, "      decoded: {}", chain.join(" -> "));
    }
    for FlowStep { file, line, description } in &finding.flow {
        let _ = writeln!(text, "      {}:{line}: {}", safe_line(file), safe_line(description));
    }
    if let Some(reason) = &finding.lowered {
        let _ = writeln!(text, "      severity reduced: {}", safe_line(reason));
    }
    if finding.blocks {
        let _ = writeln!(text, "      fingerprint {}", finding.fingerprint());
    }
    text
}

fn capabilities(report: &Report, width: Option<usize>) -> String {
    const SHOWN: usize = 6;
    let list = |map: &BTreeMap<ObservedKind, BTreeSet<String>>, kind: ObservedKind| {
        let items = map.get(&kind).filter(|items| !items.is_empty())?;
        let shown: Vec<&str> = items.iter().take(SHOWN).map(String::as_str).collect();
        let more = items.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(shown.join(", ") + &more)
    };
    let row = |kind: ObservedKind| {
        let declared = report.declared_of(kind).filter(|extent| **extent != Extent::Undeclared);
        let code = list(&report.observed.scripts, kind);
        let instructions = list(&report.observed.instructions, kind);
        if declared.is_none() && code.is_none() && instructions.is_none() {
            return None;
        }
        let declared = declared.map_or_else(|| "not declared".to_owned(), ToString::to_string);
        let [code, instructions] =
            [code, instructions].map(|items| items.unwrap_or_else(|| "-".to_owned()));
        Some(vec![format!("  {kind}"), declared, code, instructions])
    };
    let rows: Vec<Vec<String>> = ObservedKind::all().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = ["  capability", "declared", "scripts", "instructions"];
    let head = head.map(str::to_owned).to_vec();
    table(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), width)
}

/// Returns the capabilities gained and lost since the previous version.
fn changes(audited: &AuditedSkill, width: Option<usize>) -> String {
    let Some(before) = &audited.previous else { return String::new() };
    let changes = audited.changes();
    let rows = |word: &str, of: fn(&ObservedChange) -> &Vec<String>| -> Vec<Vec<String>> {
        let all = changes.iter().filter(|change| !of(change).is_empty());
        all.map(|one| vec![format!("  {word}"), one.kind.to_string(), of(one).join(", ")]).collect()
    };
    let rows =
        [rows("gained", |change| &change.gained), rows("lost", |change| &change.lost)].concat();
    let mut text = format!("  previous: {} {}\n", before.report.verdict, before.bundle);
    if rows.is_empty() {
        text += "  no capabilities gained or lost\n";
    }
    text + &table(&rows, width)
}

/// Returns a rule as text, wrapped to `width`.
pub(super) fn rule(rule: &Rule, width: Option<usize>) -> String {
    let mut text =
        wrapped("", &format!("{} {} ({})", rule.id, rule.name, rule.severity.as_str()), width);
    text.push('\n');
    text += &wrapped("", rule.description, width);
    text.push('\n');
    for (label, words) in
        [("Why:     ", rule.rationale), ("Example: ", rule.example), ("Fix:     ", rule.fix)]
    {
        text += &wrapped(label, words, width);
    }
    text
}

/// Wraps text to `width` columns, indented below its label. A longer word is not broken.
fn wrapped(label: &str, words: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return format!("{label}{words}\n") };
    let indent = " ".repeat(label.len());
    let (mut text, mut line) = (String::new(), label.to_owned());
    for word in words.split(' ') {
        let is_first = line.len() == label.len();
        if !is_first && line.chars().count() + 1 + word.chars().count() > width {
            text += line.trim_end();
            text.push('\n');
            line.clone_from(&indent);
        } else if !is_first {
            line.push(' ');
        }
        line += word;
    }
    text + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use skill_audit::RULES;

    #[test]
    fn a_rule_fits_the_terminal() {
        for one in RULES {
            let plain = rule(one, None);
            for width in [40, 60, 80] {
                let text = rule(one, Some(width));
                // Only a single word that does not fit may exceed the width, alone or after its label.
                let is_long = |line: &&str| {
                    line.chars().count() > width && line.split_whitespace().count() > 2
                };
                assert_eq!(text.lines().find(is_long), None, "{}", one.id);
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert_eq!(words(&text), words(&plain));
            }
        }
    }
}
