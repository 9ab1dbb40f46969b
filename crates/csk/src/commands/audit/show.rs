//! Audit reports as text for the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use skill::capabilities::Extent;
use skill_audit::show::{AuditedSkill, REVOKED};
use skill_audit::{
    Finding, FlowStep, ObservedChange, ObservedKind, Report, Rule, RuleId, Severity, Verdict,
};
use term::{Palette, counted, safe_line, table};

use super::inspect::InspectedSkill;

/// The number of findings of one rule that are shown individually.
const MAX_PER_RULE: usize = 5;
/// The number of items shown of one capability.
const MAX_ITEMS: usize = 8;

/// How reports are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// The width of the terminal; `None` if it is not one.
    pub(super) width: Option<usize>,
    pub(super) palette: Palette,
    pub(super) detail: Detail,
}

/// How much is shown of several skills. A single skill is always shown in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// A table of all skills, and the findings of those that need attention.
    Summary,
    /// Everything about every skill.
    All,
}

/// Returns reports as text.
pub(super) fn text(inspected: &[InspectedSkill], style: Style) -> String {
    let mut text = String::new();
    let is_whole = inspected.len() == 1 || style.detail == Detail::All;
    if inspected.len() > 1 {
        text += &overview(inspected, style);
        text.push('\n');
    }
    for one in inspected {
        let label = one.audited.label();
        if is_whole || !matches!(label, "PASS" | "NOTE") {
            text += &skill(one, style);
            text.push('\n');
        }
    }
    text + &totals(inspected, style)
}

/// Returns a table of all skills, the worst first.
fn overview(inspected: &[InspectedSkill], style: Style) -> String {
    let mut order: Vec<&InspectedSkill> = inspected.iter().collect();
    order.sort_by_key(|one| {
        (
            std::cmp::Reverse((one.audited.revoked.is_some(), one.report().verdict)),
            &one.report().name,
        )
    });
    let row = |one: &&InspectedSkill| {
        let report = one.report();
        let worst = report.findings.first();
        let worst = worst.map(|finding| format!("{} {}", finding.rule.id, finding.rule.name));
        let count = report.findings.len();
        let used: Vec<String> = summary(report);
        vec![
            one.audited.label().to_owned(),
            report.name.clone(),
            if count == 0 { "-".to_owned() } else { count.to_string() },
            worst.unwrap_or_else(|| "-".to_owned()),
            used.join("; "),
        ]
    };
    let head =
        ["verdict", "skill", "findings", "worst", "capabilities"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(order.iter().map(row)).collect();
    let shown = table(&rows, style.width);
    // Cells cannot contain colors: they would be made visible.
    let colored = shown.lines().map(|line| {
        let end = line.find(' ').unwrap_or(line.len());
        match line.split_at_checked(end) {
            Some((word, rest)) if color(word).is_some() => {
                format!("{}{rest}\n", painted(word, word, style.palette))
            }
            _ => format!("{line}\n"),
        }
    });
    colored.collect()
}

fn skill(one: &InspectedSkill, style: Style) -> String {
    let (report, label) = (one.report(), one.audited.label());
    let mut text =
        format!("{}  {}\n", safe_line(&report.name), painted(label, label, style.palette));
    if let Some(reason) = &one.audited.revoked {
        let _ = writeln!(text, "  revoked: {}", safe_line(reason));
        let _ = writeln!(text, "  audit verdict: {}", report.verdict);
    }
    let _ = writeln!(text, "  bundle {}", one.digest());
    if !report.assets.is_empty() {
        let _ = writeln!(text, "  {}", safe_line(&report.described_files()));
    }
    text += &changes(&one.audited, style.width);
    for line in summary(report) {
        text += &wrapped("  ", &safe_line(&line), style.width);
    }
    text += &declared(report, style.width);
    for group in groups(report) {
        for finding in group.iter().take(MAX_PER_RULE) {
            text += &self::finding(finding, style.palette);
        }
        let hidden = group.len().saturating_sub(MAX_PER_RULE);
        if hidden > 0 {
            let _ = writeln!(
                text,
                "      and {} of {}; use --json to see all",
                counted(hidden, "more finding"),
                group[0].rule.id
            );
        }
        text += &wrapped("      why: ", group[0].rule.rationale, style.width);
        text += &wrapped("      fix: ", group[0].rule.fix, style.width);
    }
    if !report.suppressed.is_empty() {
        let _ = writeln!(text, "  {} suppressed", counted(report.suppressed.len(), "finding"));
    }
    text
}

fn totals(inspected: &[InspectedSkill], style: Style) -> String {
    let words = Verdict::ALL.into_iter().rev().map(Verdict::as_str);
    let mut counts = Vec::new();
    for label in std::iter::once(REVOKED).chain(words) {
        let count = inspected.iter().filter(|one| one.audited.label() == label).count();
        if count > 0 {
            counts.push(painted(&format!("{count} {label}"), label, style.palette));
        }
    }
    format!("{}: {}\n", counted(inspected.len(), "skill"), counts.join(", "))
}

/// Returns the ANSI color of a verdict or severity.
fn color(word: &str) -> Option<&'static str> {
    match word {
        "BLOCK" | "REVOKED" | "critical" | "high" => Some("\u{1b}[1;31m"),
        "REVIEW" | "medium" => Some("\u{1b}[33m"),
        "UNANALYZABLE" => Some("\u{1b}[35m"),
        "NOTE" | "low" | "info" => Some("\u{1b}[36m"),
        "PASS" => Some("\u{1b}[32m"),
        _ => None,
    }
}

/// Returns text in the color of a verdict or severity.
fn painted(text: &str, word: &str, palette: Palette) -> String {
    match (palette, color(word)) {
        (Palette::Color, Some(start)) => format!("{start}{text}\u{1b}[0m"),
        (Palette::Color | Palette::Plain, _) => text.to_owned(),
    }
}

/// Returns what a skill does, one kind per line: `runs: git, npm`.
fn summary(report: &Report) -> Vec<String> {
    let line = |(verb, items): (&str, Vec<String>)| {
        let more = items.len().saturating_sub(MAX_ITEMS);
        let mut shown = items.into_iter().take(MAX_ITEMS).collect::<Vec<_>>().join(", ");
        if more > 0 {
            let _ = write!(shown, " and {more} more");
        }
        format!("{verb}: {shown}")
    };
    report.observed.summary().into_iter().map(line).collect()
}

/// Returns findings by rule, in the order of the worst finding of each rule.
fn groups(report: &Report) -> Vec<Vec<&Finding>> {
    let mut at: BTreeMap<RuleId, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in &report.findings {
        let index = *at.entry(finding.rule.id).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[index].push(finding);
    }
    groups
}

fn finding(finding: &Finding, palette: Palette) -> String {
    let blocks = if finding.blocks { " (blocks)" } else { "" };
    let severity = Severity::as_str(finding.severity);
    let mut text = format!(
        "  {} {}{blocks} {}:{}\n      {}\n",
        finding.rule.id,
        painted(severity, severity, palette),
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

/// Returns what the skill declares, one line for each kind.
fn declared(report: &Report, width: Option<usize>) -> String {
    let line = |kind: ObservedKind| {
        let extent = report.declared_of(kind).filter(|extent| **extent != Extent::Undeclared)?;
        Some(wrapped("  ", &format!("declares {kind}: {}", safe_line(&extent.to_string())), width))
    };
    ObservedKind::all().filter_map(line).collect()
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
