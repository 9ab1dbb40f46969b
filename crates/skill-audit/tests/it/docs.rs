//! docs/audit-rules.md is generated from the rules and their test cases.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use skill_audit::RULES;

use crate::fixtures::{cases, report};

fn page() -> String {
    let mut page = String::from(
        "# Audit rules\n\nThis page is generated from the rules (`UPDATE_EXPECT=1 cargo test -p skill-audit docs`). Run `csk audit --explain RULE` to\nshow one rule in the terminal. The severity listed here is the usual one; it can be higher or lower, depending on context.\n\n\"Test cases\" counts the attack samples that the rule detects and the harmless samples that it correctly ignores. \"Precision\"\nis the share of all samples with a finding of the rule that are attacks.\n",
    );
    let cases = cases();
    let reports: Vec<_> = cases.iter().map(|case| report(&case.files)).collect();
    let mut family = "";
    for rule in RULES {
        if rule.family() != family {
            family = rule.family();
            let _ = write!(page, "\n## {family}\n");
        }
        let finds =
            |at: &usize| reports[*at].findings.iter().any(|finding| finding.rule.id == rule.id);
        let own = |is_good: bool| {
            (0..cases.len())
                .filter(|at| {
                    cases[*at].rule == rule.id.as_str() && (cases[*at].kind == "pass") == is_good
                })
                .collect::<Vec<_>>()
        };
        let (bad, good) = (own(false), own(true));
        let found = bad.iter().filter(|at| finds(at)).count();
        let ignored = good.iter().filter(|at| !finds(at)).count();
        let all = (0..cases.len()).filter(finds).count();
        let wrong = (0..cases.len()).filter(|at| finds(at) && cases[*at].kind == "pass").count();
        let precision = ((all - wrong) * 100).checked_div(all).unwrap_or(100);
        let _ = write!(
            page,
            "\n### {} {}\n\n{} ({})\n\n* Why: {}\n* Example: `{}`\n* Fix: {}\n* Test cases: {found} of {} attacks detected, {ignored} of {} harmless samples ignored; precision {precision} %\n",
            rule.id,
            rule.name,
            rule.description,
            rule.severity.as_str(),
            rule.rationale,
            rule.example.replace('`', "'"),
            rule.fix,
            bad.len(),
            good.len(),
        );
    }
    page
}

#[test]
fn rule_documentation_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit-rules.md");
    let page = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/audit-rules.md is out of date; run UPDATE_EXPECT=1 cargo test -p skill-audit docs"
    );
}
