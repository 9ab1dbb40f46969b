use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::promises::{Proofs, Test, promise_violations, tests_of};

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// Adds the files below a folder of the repository, and the tests in them.
fn add(folder: &str, proofs: &mut Proofs) {
    for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            if !path.ends_with("/target") {
                add(&path, proofs);
            }
            continue;
        }
        if path.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).unwrap();
            proofs.tests.extend(tests_of(&path, &text));
        }
        proofs.files.insert(path);
    }
}

#[test]
fn every_promise_names_an_existing_test() {
    let mut proofs = Proofs::default();
    for folder in ["bench", "crates", "fuzz", "tests"] {
        add(folder, &mut proofs);
    }
    let cases = fs::read_to_string(root().join("crates/skill/tests/corpus/cases.toml")).unwrap();
    let named = cases.lines().filter_map(|line| line.strip_prefix("[")?.strip_suffix("]"));
    proofs.cases = named.map(|name| name.trim_matches(['[', ']', '"']).to_owned()).collect();
    assert!(proofs.tests.len() > 500 && proofs.cases.len() > 50, "the workspace was not read");
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    assert_eq!(promise_violations(&page, &proofs), Vec::<String>::new());
}

#[test]
fn promises_without_a_test_are_detected() {
    let source = "#[test]\nfn plain() {}\n\nfn no_test() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn inner() {}\n}\n";
    let mut tests = BTreeSet::new();
    for path in ["crates/a/src/lib.rs", "crates/a/src/b/c.rs", "crates/d/tests/it/e.rs"] {
        tests.extend(tests_of(path, source));
    }
    let test = |krate: &str, path: &str| Test { krate: krate.to_owned(), path: path.to_owned() };
    let all = [
        test("a", "b::c::plain"),
        test("a", "b::c::tests::inner"),
        test("a", "plain"),
        test("a", "tests::inner"),
        test("d", "e::plain"),
        test("d", "e::tests::inner"),
    ];
    assert_eq!(tests, BTreeSet::from(all));
    let proofs = Proofs {
        tests,
        files: BTreeSet::from(["bench/run".to_owned()]),
        cases: BTreeSet::from(["duplicate".to_owned()]),
    };
    let page = "\
text
| guarantee | how | test |
|---|---|---|
| good 1 | x | `c::plain`, `bench/run`, case `duplicate` |
| good 2 | x | the same |
| good 3 | x | `d: e::*` (a real bash), `c::tests::in*` |
| good 4 | x | by type |
| bad 1 | x | |
| bad 2 | x | the same |
| bad 3 | x | `c::gone` |
| bad 4 | x | `a: e::*`, `e::plain` |
| bad 5 | x | `plai::*`, `bench/gone`, `other-case` |
| bad 6 | `e::plain` |
| bad 7 | x | it is obvious |
";
    assert_eq!(
        promise_violations(page, &proofs),
        [
            "no test is named for: bad 1",
            "no test is named for: bad 2",
            "`c::gone` does not exist, but is named as a test of: bad 3",
            "`a: e::*` does not exist, but is named as a test of: bad 4",
            "`plai::*` does not exist, but is named as a test of: bad 5",
            "`bench/gone` does not exist, but is named as a test of: bad 5",
            "`other-case` does not exist, but is named as a test of: bad 5",
            "expected 3 columns, found 2: | bad 6 | `e::plain` |",
            "no test is named for: bad 7",
        ]
    );
}
