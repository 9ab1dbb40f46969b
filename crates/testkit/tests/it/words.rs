//! The words of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::words::{Exception, RETIRED, Retired, word_offences};

/// Where a retired phrase is right, and why.
const EXCEPTIONS: &[Exception] = &[
    Exception { path: "CHANGELOG.md", phrase: "powers", reason: "the upgrade note about the key" },
    Exception {
        path: "crates/openskills-runtime/src/installed/ledger.rs",
        phrase: "powers",
        reason: "the key of older files",
    },
    Exception {
        path: "crates/openskills/tests/it/approvals.rs",
        phrase: "powers",
        reason: "the key of older files",
    },
    Exception {
        path: "crates/skill-state/src/approvals.rs",
        phrase: "powers",
        reason: "the key of older files",
    },
    Exception {
        path: "crates/skill-audit/src/observed.rs",
        phrase: "not written out",
        reason: "values of older verdicts",
    },
    Exception {
        path: "crates/skill-audit/src/observed.rs",
        phrase: "somebody",
        reason: "a value of older verdicts",
    },
];

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// Adds every text file below `folder`.
fn add(folder: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        let path = path.trim_start_matches("./").to_owned();
        if entry.file_type().unwrap().is_dir() {
            if !["target", ".git", "node_modules"].contains(&path.as_str())
                && !path.ends_with("/target")
            {
                add(&path, files);
            }
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.push((path, text));
        }
    }
}

#[test]
fn retired_words_are_not_used() {
    let mut files = Vec::new();
    add(".", &mut files);
    assert!(files.len() > 500, "the repository was not read");
    // The list itself, and this file.
    files.retain(|(path, _)| !path.starts_with("crates/testkit/") || !path.ends_with("/words.rs"));
    assert_eq!(word_offences(&files, RETIRED, EXCEPTIONS), Vec::<String>::new());
}

#[test]
fn a_retired_word_and_an_exception_without_use_are_found() {
    let files = [
        ("a.md".to_owned(), "recommend it\nMend it, is told\n".to_owned()),
        ("b/c.md".to_owned(), "mend\n".to_owned()),
    ];
    let retired = [
        Retired { phrase: "mend", instead: "fix" },
        Retired { phrase: "is told", instead: "prints" },
    ];
    let exceptions = [
        Exception { path: "b/", phrase: "mend", reason: "quoted" },
        Exception { path: "c/", phrase: "mend", reason: "nothing" },
    ];
    let expected = [
        "a.md:2: write `fix` for `mend`",
        "a.md:2: write `prints` for `is told`",
        "c/: the exception for `mend` allows nothing",
    ];
    assert_eq!(word_offences(&files, &retired, &exceptions), expected);
}
