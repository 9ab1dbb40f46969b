//! Whole skills for each class of attack, and harmless ones that look like them: `tests/fixtures/classes.txt`.

use std::fs;
use std::path::Path;

use skill_audit::Verdict;

use crate::fixtures::{parse, report};

#[test]
fn attacks_are_blocked_and_what_looks_like_them_is_not() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/classes.txt");
    let cases = parse("", &fs::read_to_string(path).unwrap());
    let (mut attacks, mut missed, mut wrong) = (0, Vec::new(), Vec::new());
    for case in &cases {
        let verdict = report(&case.files).verdict;
        if case.kind == "attack" {
            attacks += 1;
            if verdict != Verdict::Block {
                missed.push(format!("{}: {verdict}", case.name));
            }
        } else if verdict >= Verdict::Review {
            wrong.push(format!("{}: {verdict}", case.name));
        }
    }
    println!("{} of {attacks} attacks blocked; missed: {missed:#?}", attacks - missed.len());
    assert!(attacks > 50 && cases.len() - attacks > 20, "{attacks} of {}", cases.len());
    assert!(missed.len() * 20 <= attacks * 2, "{missed:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
