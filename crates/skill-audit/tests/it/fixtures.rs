//! Every rule finds what it should, and nothing else.
//!
//! `tests/fixtures/RULE.txt` contains the cases of one rule. The rule must find `=== block:` and block the skill, find
//! `=== find:` for review, find `=== low:` as a note, report `=== opaque:` as unanalyzable, and not find `=== pass:`. A
//! case without files is the body of a SKILL.md.

use std::fs;
use std::path::Path;

use skill_audit::{File, RULES, Report, RuleId, Severity, Verdict, audit};

/// One case of a rule.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) rule: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

/// Reads all cases, sorted by rule.
pub(crate) fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut all: Vec<Case> = RULES
        .iter()
        .flat_map(|rule| {
            let text = fs::read_to_string(folder.join(format!("{}.txt", rule.id)));
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", rule.id));
            parse(rule.id.as_str(), &text)
        })
        .collect();
    all.sort_by(|one, other| one.rule.cmp(&other.rule));
    all
}

pub(crate) fn parse(rule: &str, text: &str) -> Vec<Case> {
    let cases = text.split("=== ").filter(|case| !case.trim().is_empty());
    cases
        .map(|case| {
            let (title, body) = case.split_once('\n').unwrap();
            let (kind, name) = title.split_once(':').unwrap();
            let files = match kind {
                "large" => vec![skill("Reads data."), ("data.txt".to_owned(), vec![b'a'; 3 << 20])],
                "bytes" => vec![skill("Reads data."), ("data.dat".to_owned(), vec![0, 1, 2, 3])],
                _ if body.starts_with("//- ") => {
                    let files = testkit::entries(body).into_iter();
                    files.map(|(path, text)| (path, text.into_bytes())).collect()
                }
                _ => vec![skill(body)],
            };
            Case {
                rule: rule.to_owned(),
                kind: kind.to_owned(),
                name: name.trim().to_owned(),
                files,
            }
        })
        .collect()
}

fn skill(body: &str) -> (String, Vec<u8>) {
    let text = format!(
        "---\nname: weekly-planner\ndescription: Plans the week.\n---\n# Weekly planner\n\n{body}"
    );
    ("SKILL.md".to_owned(), text.into_bytes())
}

pub(crate) fn report(files: &[(String, Vec<u8>)]) -> Report {
    let files: Vec<File<'_>> =
        files.iter().map(|(path, bytes)| File { path, bytes, is_executable: false }).collect();
    audit("weekly-planner", &files)
}

#[test]
fn every_rule_finds_its_cases_and_nothing_else() {
    let mut wrong = Vec::new();
    for case in cases() {
        let report = report(&case.files);
        let found: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.rule.id.as_str() == case.rule)
            .collect();
        let worst = found.iter().map(|finding| finding.severity).max();
        let is_right = match case.kind.as_str() {
            "block" => {
                found.iter().any(|finding| finding.blocks) && report.verdict == Verdict::Block
            }
            "find" => worst.is_some() && report.verdict > Verdict::Pass,
            "low" => {
                worst.is_some_and(|worst| worst <= Severity::Low) && report.verdict <= Verdict::Note
            }
            "opaque" | "large" | "bytes" => {
                worst.is_some() && report.verdict == Verdict::Unanalyzable
            }
            "pass" => worst.is_none() && report.verdict < Verdict::Review,
            other => panic!("{other}"),
        };
        if !is_right {
            let findings = report.findings.iter().map(|finding| {
                format!(
                    "\n        {} {:?} {} {}",
                    finding.rule.id, finding.severity, finding.blocks, finding.message
                )
            });
            let findings: String = findings.collect();
            wrong.push(format!(
                "{} {}: {}: {}{findings}",
                case.rule, case.kind, case.name, report.verdict
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_cases_of_both_kinds_and_texts() {
    let cases = cases();
    for rule in RULES {
        let has = |is_good: bool| {
            cases.iter().any(|case| {
                case.rule == rule.id.as_str()
                    && matches!(case.kind.as_str(), "pass" | "low") == is_good
            })
        };
        assert!(has(true), "{} has no `pass` case", rule.id);
        assert!(
            // No input is known that makes the audit fail; a unit test of `audit` covers it.
            has(false) || rule.severity <= Severity::Low || rule.id == RuleId::AUDIT_FAILED,
            "{} has no case that it must find",
            rule.id
        );
        for text in [rule.description, rule.rationale, rule.example, rule.fix] {
            assert!(!text.is_empty(), "{}", rule.id);
        }
    }
    let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), RULES.len());
}
