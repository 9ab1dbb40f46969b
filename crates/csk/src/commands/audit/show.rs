//! Reports as people read them on a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use csk_core::audit::rules::Rule;
use csk_core::audit::rules::show::{FindingJson, ReportJson};
use serde_json::{Value, json};
use term::{counted, safe_line, table};

use super::Looked;

/// How many findings of one rule are shown one by one.
const MOST_OF_A_RULE: usize = 5;

/// Returns reports as text.
pub(super) fn text(looked: &[Looked], before: Option<&[Looked]>, width: Option<usize>) -> String {
    let mut text = String::new();
    for (at, looked) in looked.iter().enumerate() {
        let report = &looked.report;
        let _ = writeln!(text, "{}  {}", safe_line(&report.name), report.verdict);
        let _ = writeln!(text, "  bundle {}", report.bundle_sha256);
        if let Some(old) = before.and_then(|before| before.get(at)) {
            text += &changes(&old.report, report, width);
        }
        text += &powers(report, width);
        for finding in shown(report) {
            text += &self::finding(finding);
        }
        let hidden = report.findings.len() - shown(report).len();
        if hidden > 0 {
            let _ = writeln!(
                text,
                "  and {} more of these; --json shows all",
                counted(hidden, "finding")
            );
        }
        if !report.suppressed.is_empty() {
            let _ = writeln!(text, "  {} suppressed", counted(report.suppressed.len(), "finding"));
        }
        text.push('\n');
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for verdict in ["BLOCK", "UNANALYZABLE", "REVIEW", "NOTE", "PASS"] {
        let count = looked.iter().filter(|looked| looked.report.verdict == verdict).count();
        if count > 0 {
            counts.push((verdict, count));
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let _ = writeln!(text, "{}: {}", counted(looked.len(), "skill"), counts.join(", "));
    text
}

/// The worst of each rule.
fn shown(report: &ReportJson) -> Vec<&FindingJson> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut shown = Vec::new();
    for finding in &report.findings {
        let count = counts.entry(&finding.rule).or_default();
        *count += 1;
        if *count <= MOST_OF_A_RULE {
            shown.push(finding);
        }
    }
    shown
}

fn finding(finding: &FindingJson) -> String {
    let blocks = if finding.blocks { " (blocks)" } else { "" };
    let mut text = format!(
        "  {} {}{blocks} {}:{}\n      {}\n",
        finding.rule,
        finding.severity,
        safe_line(&finding.file),
        finding.line,
        safe_line(&finding.message)
    );
    let evidence: String = finding.evidence.chars().take(160).collect();
    if !evidence.is_empty() {
        let _ = writeln!(text, "      | {}", safe_line(&evidence));
    }
    if !finding.chain.is_empty() {
        let _ = writeln!(text, "      decoded: {}", finding.chain.join(" -> "));
    }
    for (file, line, what) in &finding.flow {
        let _ = writeln!(text, "      {}:{line}: {}", safe_line(file), safe_line(what));
    }
    if let Some(because) = &finding.because {
        let _ = writeln!(text, "      it counts less: {}", safe_line(because));
    }
    if finding.blocks {
        let _ = writeln!(text, "      fingerprint {}", finding.fingerprint);
    }
    text
}

fn powers(report: &ReportJson, width: Option<usize>) -> String {
    if report.powers.is_empty() {
        return String::new();
    }
    let list = |items: &[String]| match items {
        [] => "-".to_owned(),
        items if items.len() > 6 => {
            format!("{} and {} more", items[..6].join(", "), items.len() - 6)
        }
        items => items.join(", "),
    };
    let head =
        ["  power", "declared", "used by scripts", "told to the agent"].map(str::to_owned).to_vec();
    let rows = report.powers.iter().map(|power| {
        let declared = power.declared.clone().unwrap_or_else(|| "not declared".to_owned());
        vec![format!("  {}", power.power), declared, list(&power.code), list(&power.told)]
    });
    table(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), width)
}

/// What a version adds and takes away.
fn changes(before: &ReportJson, now: &ReportJson, width: Option<usize>) -> String {
    let mut rows = Vec::new();
    for diff in now.changes_since(before) {
        for (word, items) in [("gained", diff.gained), ("lost", diff.lost)] {
            if !items.is_empty() {
                rows.push(vec![format!("  {word}"), diff.power.to_owned(), items.join(", ")]);
            }
        }
    }
    let mut text = format!("  before: {} {}\n", before.verdict, before.bundle_sha256);
    if rows.is_empty() {
        text += "  no power was gained or lost\n";
    }
    text + &table(&rows, width)
}

/// Returns a rule as text.
pub(super) fn rule(rule: &Rule) -> String {
    format!(
        "{} {} ({})\n\n{}\n\nWhy:     {}\nExample: {}\nFix:     {}\n",
        rule.id,
        rule.name,
        rule.severity.as_str(),
        rule.what,
        rule.why,
        rule.example,
        rule.fix
    )
}

/// Returns a rule as data.
pub(super) fn rule_json(rule: &Rule) -> Value {
    json!({
        "version": 1,
        "id": rule.id,
        "name": rule.name,
        "severity": rule.severity.as_str(),
        "what": rule.what,
        "why": rule.why,
        "example": rule.example,
        "fix": rule.fix,
    })
}
