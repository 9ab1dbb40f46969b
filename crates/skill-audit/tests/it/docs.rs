//! The documentation of rules is made from the rules, with what was measured on their cases.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use skill_audit::RULES;

use crate::fixtures::{cases, report};

/// Returns the page.
fn page() -> String {
    let mut page = String::from(
        "# Rules of `csk audit`\n\nThis page is made from the rules by a test (`UPDATE_EXPECT=1 cargo test -p skill-audit docs`). `csk audit --explain RULE` shows\none of them. How bad a finding is depends on where it stands; the severity here is the usual one. \"Cases\" is how many cases of ours\nthe rule finds that it should find, and how many it leaves alone that it should leave alone; \"precision\" is how many of all our cases\nin which it finds something are its own or a joined attack's.\n",
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
        let left = good.iter().filter(|at| !finds(at)).count();
        let all = (0..cases.len()).filter(finds).count();
        let wrong = (0..cases.len()).filter(|at| finds(at) && cases[*at].kind == "pass").count();
        let precision = ((all - wrong) * 100).checked_div(all).unwrap_or(100);
        let _ = write!(
            page,
            "\n### {} {}\n\n{} ({})\n\n* Why: {}\n* Example: `{}`\n* Fix: {}\n* Cases: {found} of {} found, {left} of {} left alone; precision {precision} %\n",
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
fn the_documentation_of_rules_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit-rules.md");
    let page = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/audit-rules.md is not current: UPDATE_EXPECT=1 cargo test -p skill-audit docs"
    );
}
