//! Checks that the documented list of codes is current.

use std::fmt::Write as _;

use expect_test::expect_file;
use skill::{Code, Severity, Strictness};

#[test]
fn the_reference_of_codes_is_current() {
    let mut page = String::from(
        "# Diagnostics\n\n\
         Every diagnostic has one of these codes. In strict mode (`openskills validate`), an error makes the skill\n\
         invalid. In lenient mode (`--lenient`, and whenever a skill is used rather than published), an error means\n\
         that the skill cannot be loaded.\n\n\
         This page is generated; run `UPDATE_EXPECT=1 cargo test -p skill` to update it.\n\n\
         | code | strict | lenient | meaning |\n|---|---|---|---|\n",
    );
    let label = |severity: Option<Severity>| severity.map_or("–", Severity::as_str);
    for code in Code::ALL {
        let strict = label(code.severity(Strictness::Strict));
        let lenient = label(code.severity(Strictness::Lenient));
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
    // `Severity` is ordered from the most serious; not reported comes last.
    let rank = |severity: Option<Severity>| severity.map_or(3, |severity| severity as u8);
    for code in Code::ALL {
        assert!(
            rank(code.severity(Strictness::Lenient)) >= rank(code.severity(Strictness::Strict)),
            "{code}"
        );
    }
}
