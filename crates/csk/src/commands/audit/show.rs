//! Reports as people read them on a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use csk_core::audit::rules::Rule;
use csk_core::audit::rules::show::{AuditedJson, FindingJson, ReportJson};
use term::{counted, safe_line, table};

use super::inspect::Inspected;

/// How many findings of one rule are shown one by one.
const MAX_OF_A_RULE: usize = 5;

/// Returns reports as text.
pub(super) fn text(inspected: &[Inspected], width: Option<usize>) -> String {
    let mut text = String::new();
    for one in inspected {
        let report = one.report();
        let _ = writeln!(text, "{}  {}", safe_line(&report.name), one.word());
        if let Some(reason) = &one.audited.revoked {
            let _ = writeln!(text, "  revoked: {}", safe_line(reason));
            let _ = writeln!(text, "  the audit says {}", report.verdict);
        }
        let _ = writeln!(text, "  bundle {}", report.bundle_sha256);
        text += &changes(&one.audited, width);
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
    for verdict in ["REVOKED", "BLOCK", "UNANALYZABLE", "REVIEW", "NOTE", "PASS"] {
        let count = inspected.iter().filter(|inspected| inspected.word() == verdict).count();
        if count > 0 {
            counts.push((verdict, count));
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let _ = writeln!(text, "{}: {}", counted(inspected.len(), "skill"), counts.join(", "));
    text
}

/// The worst of each rule.
fn shown(report: &ReportJson) -> Vec<&FindingJson> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut shown = Vec::new();
    for finding in &report.findings {
        let count = counts.entry(&finding.rule).or_default();
        *count += 1;
        if *count <= MAX_OF_A_RULE {
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
fn changes(audited: &AuditedJson, width: Option<usize>) -> String {
    let Some(before) = &audited.before else { return String::new() };
    let mut rows = Vec::new();
    for (word, all) in [("gained", &audited.gained), ("lost", &audited.lost)] {
        for used in all.iter().flatten() {
            rows.push(vec![format!("  {word}"), used.power.clone(), used.items.join(", ")]);
        }
    }
    let mut text = format!("  before: {} {}\n", before.verdict, before.bundle_sha256);
    if rows.is_empty() {
        text += "  no power was gained or lost\n";
    }
    text + &table(&rows, width)
}

/// Returns a rule as text, in lines that fit.
pub(super) fn rule(rule: &Rule, width: Option<usize>) -> String {
    let mut text =
        wrapped("", &format!("{} {} ({})", rule.id, rule.name, rule.severity.as_str()), width);
    text.push('\n');
    text += &wrapped("", rule.what, width);
    text.push('\n');
    for (label, words) in
        [("Why:     ", rule.why), ("Example: ", rule.example), ("Fix:     ", rule.fix)]
    {
        text += &wrapped(label, words, width);
    }
    text
}

/// Returns words in lines of at most `width`, below each other after a label. A word that is longer stays whole.
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
    use csk_core::audit::rules::RULES;

    #[test]
    fn a_rule_fits_the_terminal() {
        for one in RULES {
            let plain = rule(one, None);
            for width in [40, 60, 80] {
                let text = rule(one, Some(width));
                // Only a word that is longer than the line stands out, alone or after its label.
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
