//! Reports as one self-contained HTML page: no script, font, image or network access.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use skill::capabilities::Extent;

use super::{AuditedSkill, REVOKED};
use crate::{Finding, FlowStep, LineRange, ObservedKind, Report};

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
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--card:#f6f8fa;--mark:#fff3c4;
--block:#b42318;--review:#9a6700;--unanalyzable:#6941c6;--note:#175cd3;--pass:#067647}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:#30363d;--card:#151b23;--mark:#4b3a00;
--block:#ff7b72;--review:#e3b341;--unanalyzable:#d2a8ff;--note:#79c0ff;--pass:#56d364}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.55 system-ui,sans-serif}
main{max-width:66rem;margin:0 auto;padding:2rem 1.25rem 4rem}h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:1.25rem;margin:2.5rem 0 .75rem}
h3{font-size:1rem;margin:1.25rem 0 .5rem}article h3{margin:0}.soft{color:var(--soft)}code,pre{font:13px/1.5 ui-monospace,monospace}
.verdict{display:inline-block;border:2px solid currentColor;border-radius:.5rem;padding:.1rem .6rem;font-weight:700;letter-spacing:.04em}
.BLOCK,.critical,.high{color:var(--block)}.REVIEW,.medium{color:var(--review)}.UNANALYZABLE{color:var(--unanalyzable)}.NOTE,.low,.info{color:var(--note)}.PASS{color:var(--pass)}
.skill{border-top:1px solid var(--line);padding-top:1.5rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
th{font-weight:600;white-space:nowrap}.finding{background:var(--card);border:1px solid var(--line);border-left:4px solid currentColor;border-radius:.5rem;padding:.9rem 1rem;margin:.75rem 0}
.finding>*{color:var(--fg)}.finding .tag{font-weight:700}.finding pre{overflow-x:auto;margin:.6rem 0;padding:.5rem 0;background:var(--bg);border:1px solid var(--line);border-radius:.4rem}
pre span{display:block;padding:0 .75rem;white-space:pre}pre .hit{background:var(--mark)}pre i{font-style:normal;color:var(--soft);display:inline-block;width:3.2em;user-select:none}
.chain{margin:.3rem 0;font-size:.9rem}details{margin:.5rem 0}summary{cursor:pointer}.gained{color:var(--block)}.lost{color:var(--pass)}ul{margin:.3rem 0;padding-left:1.2rem}
";

/// Renders reports as a page. `sources` are the files of each skill.
pub fn html(reports: &[AuditedSkill], sources: &[Vec<Source<'_>>]) -> String {
    let mut page = String::new();
    page.push_str("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    // Even if escaping failed, nothing would run and nothing would be fetched.
    page.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Skill audit</title>\n");
    let _ = write!(page, "<style>{STYLE}</style></head>\n<body><main>\n<h1>Skill audit</h1>\n");
    overview(&mut page, reports);
    for (at, report) in reports.iter().enumerate() {
        skill(&mut page, at, report, sources.get(at).map_or(&[][..], Vec::as_slice));
    }
    page.push_str("<p class=\"soft\">Static analysis only: no skill code was run, and nothing was sent anywhere. A skill that passes can still do harm.</p>\n</main></body></html>\n");
    page
}

fn overview(page: &mut String, reports: &[AuditedSkill]) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for AuditedSkill { found, revoked, .. } in reports {
        if revoked.is_some() {
            *counts.entry(REVOKED).or_default() += 1;
        }
        *counts.entry(found.report.verdict.as_str()).or_default() += 1;
    }
    let words: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let _ = writeln!(page, "<p class=\"soft\">{}</p>", escaped(&words.join(", ")));
    if reports.len() > 1 {
        page.push_str("<table><thead><tr><th>Skill</th><th>Verdict</th><th>Findings</th></tr></thead><tbody>\n");
        for (at, AuditedSkill { found, .. }) in reports.iter().enumerate() {
            let report = &found.report;
            let _ = writeln!(
                page,
                "<tr><td><a href=\"#s{at}\">{}</a></td><td class=\"{v}\">{v}</td><td>{}</td></tr>",
                escaped(&report.name),
                report.findings.len(),
                v = report.verdict
            );
        }
        page.push_str("</tbody></table>\n");
    }
}

fn skill(page: &mut String, at: usize, audited: &AuditedSkill, sources: &[Source<'_>]) {
    let report = &audited.found.report;
    let _ = writeln!(
        page,
        "<section class=\"skill\" id=\"s{at}\"><h2>{} <span class=\"verdict {v}\">{v}</span></h2>",
        escaped(&report.name),
        v = report.verdict
    );
    let _ = writeln!(
        page,
        "<p class=\"soft\">{} {}, bundle <code>{}</code></p>",
        report.files,
        if report.files == 1 { "file" } else { "files" },
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
    for finding in &report.findings {
        let lowered = finding.lowered.as_deref().map(|reason| ("Severity lowered", reason));
        show(page, finding, lowered, sources);
    }
    if !report.suppressed.is_empty() {
        let _ =
            writeln!(page, "<details><summary>{} suppressed</summary>", report.suppressed.len());
        for one in &report.suppressed {
            show(page, &one.finding, Some(("Suppressed", &one.reason)), sources);
        }
        page.push_str("</details>\n");
    }
    page.push_str("</section>\n");
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

/// Shows a finding; `note` is a label and a reason, such as why the severity was lowered.
fn show(page: &mut String, finding: &Finding, note: Option<(&str, &str)>, sources: &[Source<'_>]) {
    let (severity, rule) = (finding.severity, finding.rule);
    let _ = writeln!(
        page,
        "<article class=\"finding {severity}\"><h3><span class=\"tag {severity}\">{}{severity}</span> {} {}</h3>",
        if finding.blocks { "blocks, " } else { "" },
        rule.id,
        escaped(rule.name)
    );
    let _ = writeln!(page, "<p>{}</p>", escaped(&finding.message));
    let _ = writeln!(
        page,
        "<p class=\"soft\">{}:{}, {}</p>",
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
    let _ = writeln!(
        page,
        "<details><summary>Why it matters and how to fix it</summary><p>{}</p><p>{}</p></details>",
        escaped(rule.rationale),
        escaped(rule.fix)
    );
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
