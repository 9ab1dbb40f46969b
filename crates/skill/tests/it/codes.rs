//! The list of codes in the documentation is the list in the program.

use std::fmt::Write as _;

use expect_test::expect_file;
use skill::{Code, Severity, Strictness};

#[test]
fn the_reference_of_codes_is_current() {
    let mut page = String::from(
        "# Diagnostics\n\n\
         Every problem that is reported has one of these codes. In strict reading (`openskills validate`) an error\n\
         makes the skill invalid; in lenient reading (`--lenient`, and everywhere a skill is only used) an error\n\
         means that it cannot be loaded. This page is generated: `UPDATE_EXPECT=1 cargo test -p skill`.\n\n\
         | code | strict | lenient | meaning |\n|---|---|---|---|\n",
    );
    let word = |severity: Option<Severity>| severity.map_or("–", Severity::as_str);
    for code in Code::ALL {
        let strict = word(code.severity(Strictness::Strict));
        let lenient = word(code.severity(Strictness::Lenient));
        writeln!(page, "| `{code}` | {strict} | {lenient} | {} |", code.about()).unwrap();
    }
    expect_file!["../../../../docs/diagnostics.md"].assert_eq(&page);
}

#[test]
fn codes_are_distinct_and_kebab_case() {
    let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert!(codes.iter().all(|code| {
        code.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit())
    }));
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), Code::ALL.len());
}

#[test]
fn lenient_is_never_stricter() {
    // `Severity` orders from the worst up, and saying nothing comes last.
    let rank = |severity: Option<Severity>| severity.map_or(3, |severity| severity as u8);
    for code in Code::ALL {
        assert!(
            rank(code.severity(Strictness::Lenient)) >= rank(code.severity(Strictness::Strict)),
            "{code}"
        );
    }
}
