//! Stored verdicts are valid for one version of the rule set, so the version must change with the rules.

use std::fmt::Write as _;

use skill::Digest;
use skill_audit::{RULES, RULESET};

/// Every version of the rule set with the digest of its catalogue. Add a line; never change one. Two versions with the
/// same digest find the same things in different ways, or describe them differently.
const VERSIONS: &[(u32, &str)] = &[
    (2, "sha256:b68597428cdec1a2d1e3d6c52d8542aea67621b97123dbf026955b8568d0443d"),
    (3, "sha256:b68597428cdec1a2d1e3d6c52d8542aea67621b97123dbf026955b8568d0443d"),
    (4, "sha256:b68597428cdec1a2d1e3d6c52d8542aea67621b97123dbf026955b8568d0443d"),
    (5, "sha256:6b5e100c95d8c114abfaff6b133dfd3956cba7a114e4e1cd2bf126f74566c862"),
];

#[test]
fn a_changed_catalogue_is_a_new_version() {
    let mut catalogue = String::new();
    for rule in RULES {
        writeln!(catalogue, "{} {:?} {}", rule.id, rule.severity, rule.is_opaque).unwrap();
    }
    let found = Digest::of(catalogue.as_bytes()).to_string();
    let known = VERSIONS.iter().find(|(version, _)| *version == RULESET).map(|(_, digest)| *digest);
    assert_eq!(
        known,
        Some(found.as_str()),
        "the rules differ from version {RULESET}: raise RULESET and add ({}, \"{found}\") to VERSIONS",
        RULESET + 1
    );
}
