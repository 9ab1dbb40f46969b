//! Reports as one self-contained HTML page: no script, font, image or network access.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use skill::capabilities::Extent;

use super::{AuditedSkill, REVOKED};
use crate::{Finding, FlowStep, LineRange, ObservedKind, Report, RuleId, Severity};

/// A file of a skill, to show source lines from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file's path in the skill.
    pub path: &'a str,
    /// The content.
    pub text: &'a str,
}

/// How many lines are shown before and after a finding.
const CONTEXT_LINES: usize = 3;
/// The maximum length of a shown line.
const MAX_LINE_CHARS: usize = 300;

const STYLE: &str = "
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--card:#f6f8fa;--mark:#fff3c4;--link:#0550ae;
--block:#b42318;--review:#9a6700;--unanalyzable:#6941c6;--note:#175cd3;--pass:#067647}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:#30363d;--card:#151b23;--mark:#4b3a00;--link:#79c0ff;
--block:#ff7b72;--review:#e3b341;--unanalyzable:#d2a8ff;--note:#79c0ff;--pass:#56d364}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 system-ui,sans-serif}a{color:var(--link)}
main{max-width:66rem;margin:0 auto;padding:2rem 1.25rem 4rem}h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:1.25rem;margin:2.5rem 0 .75rem}
h3{font-size:1rem;margin:1.25rem 0 .5rem}h4{font-size:.95rem;margin:0}.soft{color:var(--soft)}code,pre{font:13px/1.5 ui-monospace,monospace}
.verdict{display:inline-block;border:2px solid currentColor;border-radius:.5rem;padding:.1rem .6rem;font-weight:700;letter-spacing:.04em}
.BLOCK,.REVOKED,.critical,.high{color:var(--block)}.REVIEW,.medium{color:var(--review)}.UNANALYZABLE{color:var(--unanalyzable)}.NOTE,.low,.info{color:var(--note)}.PASS{color:var(--pass)}
.skill{border-top:1px solid var(--line);padding-top:.75rem;margin-top:1rem}.skill>summary{list-style-position:outside}.skill>summary h2{display:inline;margin:0}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
th{font-weight:600;white-space:nowrap}.group{background:var(--card);border:1px solid var(--line);border-left:4px solid currentColor;border-radius:.5rem;padding:.9rem 1rem;margin:.75rem 0}
.group>*{color:var(--fg)}.group .tag{font-weight:700}.finding{border-top:1px solid var(--line);margin-top:.75rem;padding-top:.6rem}.finding pre{overflow-x:auto;margin:.6rem 0;padding:.5rem 0;background:var(--bg);border:1px solid var(--line);border-radius:.4rem}
pre span{display:block;padding:0 .75rem;white-space:pre}pre .hit{background:var(--mark)}pre i{font-style:normal;color:var(--soft);display:inline-block;width:3.2em;user-select:none}
.chain{margin:.3rem 0;font-size:.9rem}details{margin:.5rem 0}summary{cursor:pointer}.gained{color:var(--block)}.lost{color:var(--pass)}ul{margin:.3rem 0;padding-left:1.2rem}
fieldset{border:1px solid var(--line);border-radius:.5rem;margin:1rem 0;padding:.4rem 1rem;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}label{white-space:nowrap}
a:focus-visible,summary:focus-visible,input:focus-visible{outline:3px solid var(--link);outline-offset:2px}.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem}
@media print{fieldset,.skip{display:none}}
";

/// Renders reports as a page. `sources` are the files of each skill.
pub fn html(reports: &[AuditedSkill], sources: &[Vec<Source<'_>>]) -> String {
    let mut page = String::new();
    page.push_str("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    // Even if escaping failed, nothing would run and nothing would be fetched.
    page.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Skill audit</title>\n");
    let _ = writeln!(page, "<style>{STYLE}{}</style></head>", filter_rules());
    page.push_str("<body><a class=\"skip\" href=\"#skills\">Skip to the skills</a><main>\n<h1>Skill audit</h1>\n");
    let order = order(reports);
    counts(&mut page, reports);
    filters(&mut page, reports);
    if reports.len() > 1 {
        all_findings(&mut page, reports, &order);
        all_capabilities(&mut page, reports);
    }
    page.push_str("<h2 id=\"skills\">Skills</h2>\n");
    for at in order {
        skill(&mut page, at, &reports[at], sources.get(at).map_or(&[][..], Vec::as_slice));
    }
    page.push_str("<p class=\"soft\">Static analysis only: no skill code was run, and nothing was sent anywhere. A skill that passes can still do harm.</p>\n</main></body></html>\n");
    page
}

/// The labels of skills, worst first.
const LABELS: [&str; 6] = [REVOKED, "BLOCK", "UNANALYZABLE", "REVIEW", "NOTE", "PASS"];

/// Returns the order of skills: the worst first, then by name.
fn order(reports: &[AuditedSkill]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..reports.len()).collect();
    let rank = |label: &str| LABELS.iter().position(|known| *known == label);
    order.sort_by_key(|at| (rank(reports[*at].label()), &reports[*at].found.report.name));
    order
}

/// Returns the style rules that hide what the user filters out. They work without a script.
fn filter_rules() -> String {
    let mut rules = String::new();
    for label in LABELS {
        let _ =
            writeln!(rules, "body:has(#show-{label}:not(:checked)) .is-{label}{{display:none}}");
    }
    for severity in Severity::ALL {
        let _ = writeln!(
            rules,
            "body:has(#show-{severity}:not(:checked)) .is-{severity}{{display:none}}"
        );
    }
    rules
}

/// Shows how many skills have each verdict.
fn counts(page: &mut String, reports: &[AuditedSkill]) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for audited in reports {
        *counts.entry(audited.label()).or_default() += 1;
    }
    let shown = LABELS.iter().filter_map(|label| Some((label, counts.get(label)?)));
    let words: Vec<String> = shown
        .map(|(label, count)| format!("<span class=\"{label}\">{count} {label}</span>"))
        .collect();
    let noun = if reports.len() == 1 { "skill" } else { "skills" };
    let _ = writeln!(page, "<p class=\"soft\">{} {noun}: {}</p>", reports.len(), words.join(", "));
}

/// Shows a checkbox for every verdict and severity that occurs.
fn filters(page: &mut String, reports: &[AuditedSkill]) {
    let mut boxes = |title: &str, values: Vec<&str>| {
        if values.len() > 1 {
            let _ = write!(page, "<fieldset><legend>{title}</legend>");
            for value in values {
                let _ = write!(
                    page,
                    "<label><input type=\"checkbox\" id=\"show-{value}\" checked> {value}</label>"
                );
            }
            page.push_str("</fieldset>\n");
        }
    };
    let labels: BTreeSet<&str> = reports.iter().map(AuditedSkill::label).collect();
    boxes("Show verdicts", LABELS.into_iter().filter(|label| labels.contains(label)).collect());
    let all = reports.iter().flat_map(|audited| &audited.found.report.findings);
    let severities: BTreeSet<Severity> = all.map(|finding| finding.severity).collect();
    boxes("Show severities", severities.into_iter().rev().map(Severity::as_str).collect());
}

/// Shows which rules found something in which skills, worst first.
fn all_findings(page: &mut String, reports: &[AuditedSkill], order: &[usize]) {
    let mut rules: BTreeMap<RuleId, (bool, Severity, Vec<usize>)> = BTreeMap::new();
    for at in order {
        for finding in &reports[*at].found.report.findings {
            let (blocks, severity, skills) =
                rules.entry(finding.rule.id).or_insert((false, Severity::Info, Vec::new()));
            *blocks |= finding.blocks;
            *severity = (*severity).max(finding.severity);
            if skills.last() != Some(at) {
                skills.push(*at);
            }
        }
    }
    if rules.is_empty() {
        return;
    }
    let mut rules: Vec<_> = rules.into_iter().collect();
    rules.sort_by_key(|(id, (blocks, severity, _))| (std::cmp::Reverse((*blocks, *severity)), *id));
    page.push_str("<h2>Findings of all skills</h2>\n<table><thead><tr><th>Severity</th><th>Rule</th><th>Skills</th></tr></thead><tbody>\n");
    for (id, (blocks, severity, skills)) in rules {
        const SHOWN: usize = 12;
        let mut links: Vec<String> = skills
            .iter()
            .take(SHOWN)
            .map(|at| {
                format!("<a href=\"#s{at}\">{}</a>", escaped(&reports[*at].found.report.name))
            })
            .collect();
        if skills.len() > SHOWN {
            links.push(format!("and {} more", skills.len() - SHOWN));
        }
        let _ = writeln!(
            page,
            "<tr class=\"is-{severity}\"><td class=\"{severity}\">{}{severity}</td><td>{id} {}</td><td>{}</td></tr>",
            if blocks { "blocks, " } else { "" },
            escaped(id.rule().name),
            links.join(", ")
        );
    }
    page.push_str("</tbody></table>\n");
}

/// Shows what all skills together use, with the number of skills.
fn all_capabilities(page: &mut String, reports: &[AuditedSkill]) {
    const SHOWN: usize = 40;
    let mut rows = String::new();
    for kind in ObservedKind::all() {
        let mut items: BTreeMap<&str, usize> = BTreeMap::new();
        for audited in reports {
            for item in audited.found.report.observed.of(kind) {
                *items.entry(item).or_default() += 1;
            }
        }
        if items.is_empty() {
            continue;
        }
        let mut items: Vec<(&str, usize)> = items.into_iter().collect();
        items.sort_by_key(|(item, count)| (std::cmp::Reverse(*count), *item));
        let more = items.len().saturating_sub(SHOWN);
        let mut shown: Vec<String> = items
            .iter()
            .take(SHOWN)
            .map(|(item, count)| format!("{} <span class=\"soft\">{count}</span>", escaped(item)))
            .collect();
        if more > 0 {
            shown.push(format!("and {more} more"));
        }
        let _ = writeln!(rows, "<tr><th>{kind}</th><td>{}</td></tr>", shown.join(", "));
    }
    if !rows.is_empty() {
        let _ = writeln!(
            page,
            "<details><summary><b>Capabilities of all skills</b>, with the number of skills</summary><table><tbody>\n{rows}</tbody></table></details>"
        );
    }
}

fn skill(page: &mut String, at: usize, audited: &AuditedSkill, sources: &[Source<'_>]) {
    let report = &audited.found.report;
    let label = audited.label();
    let is_open = if matches!(label, "PASS" | "NOTE") { "" } else { " open" };
    let _ = writeln!(
        page,
        "<details class=\"skill is-{label}\" id=\"s{at}\"{is_open}><summary><h2>{} <span class=\"verdict {v}\">{v}</span></h2></summary>",
        escaped(&report.name),
        v = report.verdict
    );
    let _ = writeln!(
        page,
        "<p class=\"soft\">{}, bundle <code>{}</code></p>",
        escaped(&report.described_files()),
        audited.found.bundle
    );
    if let Some(reason) = &audited.revoked {
        let _ = writeln!(page, "<p class=\"BLOCK\"><b>Revoked:</b> {}</p>", escaped(reason));
    }
    for difference in audited.differences.iter().flatten() {
        let _ =
            writeln!(page, "<p class=\"REVIEW\"><b>Difference:</b> {}</p>", escaped(difference));
    }
    changes(page, audited);
    capabilities(page, report);
    if report.findings.is_empty() {
        page.push_str("<p>No findings.</p>\n");
    } else {
        page.push_str("<h3>Findings</h3>\n");
    }
    for group in groups(&report.findings) {
        show_group(page, &group, sources);
    }
    if !report.suppressed.is_empty() {
        let _ =
            writeln!(page, "<details><summary>{} suppressed</summary>", report.suppressed.len());
        for one in &report.suppressed {
            let rule = one.finding.rule;
            let _ = writeln!(page, "<h4>{} {}</h4>", rule.id, escaped(rule.name));
            show(page, &one.finding, Some(("Suppressed", &one.reason)), sources);
        }
        page.push_str("</details>\n");
    }
    page.push_str("</details>\n");
}

/// Shows the capabilities that an update gains and loses.
fn changes(page: &mut String, audited: &AuditedSkill) {
    let Some(previous) = &audited.previous else { return };
    let mut rows = String::new();
    for change in audited.changes() {
        let _ = writeln!(
            rows,
            "<tr><th>{}</th><td class=\"gained\">{}</td><td class=\"lost\">{}</td></tr>",
            change.kind,
            list(change.gained.iter().map(String::as_str)),
            list(change.lost.iter().map(String::as_str))
        );
    }
    page.push_str("<h3>Changes since the previous version</h3>\n");
    let _ = writeln!(
        page,
        "<p class=\"soft\">Previous: <span class=\"{v}\">{v}</span>, bundle <code>{}</code></p>",
        previous.bundle,
        v = previous.report.verdict
    );
    if rows.is_empty() {
        page.push_str("<p>No capabilities gained or lost.</p>\n");
    } else {
        let _ = writeln!(
            page,
            "<table><thead><tr><th>Capability</th><th>Gained</th><th>Lost</th></tr></thead><tbody>{rows}</tbody></table>"
        );
    }
}

fn capabilities(page: &mut String, report: &Report) {
    let mut rows = String::new();
    for kind in ObservedKind::all() {
        let declared = report.declared_of(kind).filter(|extent| **extent != Extent::Undeclared);
        let [scripts, instructions] =
            [&report.observed.scripts, &report.observed.instructions].map(|map| map.get(&kind));
        if declared.is_none() && scripts.is_none() && instructions.is_none() {
            continue;
        }
        let items = |items: Option<&BTreeSet<String>>| {
            items.map_or_else(|| NONE.to_owned(), |items| list(items.iter().map(String::as_str)))
        };
        let declared = declared.map_or_else(|| "not declared".to_owned(), ToString::to_string);
        let _ = writeln!(
            rows,
            "<tr><th>{kind}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&declared),
            items(scripts),
            items(instructions)
        );
    }
    if !rows.is_empty() {
        page.push_str("<h3>Capabilities</h3>\n<table><thead><tr><th>Capability</th><th>Declared</th><th>Scripts</th><th>Instructions</th></tr></thead><tbody>\n");
        page.push_str(&rows);
        page.push_str("</tbody></table>\n");
    }
}

/// Shown in an empty cell.
const NONE: &str = "–";

fn list<'a>(items: impl ExactSizeIterator<Item = &'a str>) -> String {
    const MAX_ITEMS: usize = 12;
    let more = items.len().saturating_sub(MAX_ITEMS);
    let mut shown: Vec<String> = items.take(MAX_ITEMS).map(escaped).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    if shown.is_empty() { NONE.to_owned() } else { shown.join("<br>") }
}

/// Returns findings by rule, in the order of the worst finding of each rule.
fn groups(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|group| group[0].rule == finding.rule) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

/// Shows all findings of one rule, with why they matter and what to do.
fn show_group(page: &mut String, group: &[&Finding], sources: &[Source<'_>]) {
    const OPEN: usize = 5;
    let Some(worst) = group.first() else { return };
    let (rule, severity) = (worst.rule, worst.severity);
    let count =
        if group.len() > 1 { format!(" ({} findings)", group.len()) } else { String::new() };
    let _ = writeln!(
        page,
        "<section class=\"group {severity} is-{severity}\"><h4><span class=\"tag {severity}\">{}{severity}</span> {} {}{count}</h4>",
        if worst.blocks { "blocks, " } else { "" },
        rule.id,
        escaped(rule.name)
    );
    let _ = writeln!(
        page,
        "<p><b>Why it matters:</b> {}<br><b>What to do:</b> {}</p>",
        escaped(rule.rationale),
        escaped(rule.fix)
    );
    for (at, finding) in group.iter().enumerate() {
        if at == OPEN {
            let _ = writeln!(page, "<details><summary>{} more</summary>", group.len() - OPEN);
        }
        let lowered = finding.lowered.as_deref().map(|reason| ("Severity lowered", reason));
        show(page, finding, lowered, sources);
    }
    if group.len() > OPEN {
        page.push_str("</details>\n");
    }
    page.push_str("</section>\n");
}

/// Shows a finding; `note` is a label and a reason, such as why the severity was lowered.
fn show(page: &mut String, finding: &Finding, note: Option<(&str, &str)>, sources: &[Source<'_>]) {
    let severity = finding.severity;
    let _ = writeln!(page, "<article class=\"finding is-{severity}\">");
    let _ = writeln!(page, "<p>{}</p>", escaped(&finding.message));
    let _ = writeln!(
        page,
        "<p class=\"soft\">{}:{}, {}, {severity}</p>",
        escaped(&finding.file),
        finding.location.line,
        finding.role.as_str()
    );
    if !finding.chain.is_empty() {
        let chain: Vec<&str> = finding.chain.iter().map(|step| step.as_str()).collect();
        let _ = writeln!(page, "<p class=\"chain\">Decoded: {}</p>", chain.join(" → "));
    }
    match sources.iter().find(|source| source.path == finding.file) {
        Some(source) => lines(page, source.text, finding),
        None => {
            let _ = writeln!(
                page,
                "<pre><span class=\"hit\">{}</span></pre>",
                escaped(&finding.evidence)
            );
        }
    }
    if !finding.flow.is_empty() {
        page.push_str("<ul>\n");
        for FlowStep { file, line, description } in &finding.flow {
            let _ = writeln!(page, "<li>{}:{line}: {}</li>", escaped(file), escaped(description));
        }
        page.push_str("</ul>\n");
    }
    if let Some((label, reason)) = note {
        let _ = writeln!(page, "<p class=\"soft\">{label}: {}</p>", escaped(reason));
    }
    page.push_str("</article>\n");
}

/// Shows the source lines of a finding with some context.
fn lines(page: &mut String, text: &str, finding: &Finding) {
    let LineRange { line: start, end_line: end, .. } = finding.location;
    let first = start.saturating_sub(CONTEXT_LINES).max(1);
    let last = end.min(start + 12) + CONTEXT_LINES;
    page.push_str("<pre>");
    for (at, line) in text.lines().enumerate().skip(first - 1).take(last + 1 - first) {
        let number = at + 1;
        let is_hit = (start..=end).contains(&number);
        let clean = crate::report::redacted(line);
        let shown: String = clean.chars().take(MAX_LINE_CHARS).collect();
        let more = if clean.chars().count() > MAX_LINE_CHARS { "…" } else { "" };
        let _ = write!(
            page,
            "<span{}><i>{number}</i>{}{more}</span>",
            if is_hit { " class=\"hit\"" } else { "" },
            escaped(&shown)
        );
    }
    page.push_str("</pre>\n");
}

/// Escapes text for HTML and makes invisible characters visible.
fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => plain.push_str("&amp;"),
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '"' => plain.push_str("&quot;"),
            '\'' => plain.push_str("&#39;"),
            '\t' => plain.push_str("    "),
            c if skill::is_unsafe_to_show(c) || skill::is_invisible(c) => {
                let _ = write!(plain, "[U+{:04X}]", u32::from(c));
            }
            c => plain.push(c),
        }
    }
    plain
}
