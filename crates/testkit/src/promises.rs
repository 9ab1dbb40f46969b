//! Checks `docs/security.md`: every promise in its table names a test, and every named test exists.
//!
//! The check takes plain data and returns the violations, so that a test can show it failing.

use std::collections::BTreeSet;

/// Entries of the last column that refer to something other than a test of the workspace: the compiler, because a type
/// has no other constructor, or a lint that CI runs.
const OTHER_PROOFS: [&str; 2] = ["by type", "CI"];
/// Refers to the test of the row above.
const SAME: &str = "the same";

/// A test of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// The crate.
    pub krate: String,
    /// The path in the crate, such as `attacks::there_is_no_network`.
    pub path: String,
}

/// Everything that a promise may refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proofs {
    /// All tests.
    pub tests: BTreeSet<Test>,
    /// The paths of all files in the repository.
    pub files: BTreeSet<String>,
    /// The names of all cases of the corpus.
    pub cases: BTreeSet<String>,
}

/// Returns the tests in a source file; `path` is its path in the repository (`crates/<crate>/...`).
pub fn tests_of(path: &str, text: &str) -> Vec<Test> {
    let mut parts = path.split('/');
    let (Some("crates"), Some(krate), Some(kind)) = (parts.next(), parts.next(), parts.next())
    else {
        return Vec::new();
    };
    let mut module: Vec<&str> = parts.map(|part| part.trim_end_matches(".rs")).collect();
    // The folder of the test binary is not part of a test's name.
    if kind == "tests" && module.len() > 1 {
        module.remove(0);
    }
    if module.last().is_some_and(|last| ["lib", "main", "mod"].contains(last)) {
        module.pop();
    }
    let (mut inner, mut is_test, mut found) = (None, false, Vec::new());
    for line in text.lines() {
        let opened = line.strip_prefix("pub(crate) ").unwrap_or(line).strip_prefix("mod ");
        match opened.and_then(|rest| rest.strip_suffix(" {")) {
            Some(name) => inner = Some(name),
            None if line.starts_with('}') => inner = None,
            None => {}
        }
        let line = line.trim_start();
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let name = line.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
        if let Some((name, _)) = name.filter(|_| is_test) {
            is_test = false;
            let path: Vec<&str> = module.iter().copied().chain(inner).chain([name]).collect();
            found.push(Test { krate: krate.to_owned(), path: path.join("::") });
        }
    }
    found
}

/// Returns the violations in the table of promises on a page.
pub fn promise_violations(page: &str, proofs: &Proofs) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with('|')).skip(2);
    let mut violations = Vec::new();
    let mut is_above_proven = false;
    for row in rows {
        let cells: Vec<&str> = row.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [promise, _, named] = cells.as_slice() else {
            violations.push(format!("expected 3 columns, found {}: {row}", cells.len()));
            continue;
        };
        let quoted: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        for name in quoted.iter().filter(|name| !proofs.has(name)) {
            violations
                .push(format!("`{name}` does not exist, but is named as a test of: {promise}"));
        }
        let unquoted: String = named.split('`').step_by(2).collect();
        let has_other_proof = OTHER_PROOFS.iter().any(|other| unquoted.contains(other))
            || (unquoted == SAME && is_above_proven);
        is_above_proven = has_other_proof || quoted.iter().any(|name| proofs.has(name));
        if !is_above_proven && quoted.is_empty() {
            violations.push(format!("no test is named for: {promise}"));
        }
    }
    violations
}

impl Proofs {
    /// Returns true if `name` is that of a test, of several tests (with a `*` at its end), a file or a case.
    fn has(&self, name: &str) -> bool {
        let (krate, path) = match name.split_once(": ") {
            Some((krate, path)) => (Some(krate), path),
            None => (None, name),
        };
        if !path.contains("::") {
            return krate.is_none() && (self.files.contains(path) || self.cases.contains(path));
        }
        let is_named = |test: &&Test| {
            krate.is_none_or(|krate| krate == test.krate) && ends_with(&test.path, path)
        };
        self.tests.iter().any(|test| is_named(&test))
    }
}

/// Compares whole components from the end; only the last may end with a `*`.
fn ends_with(path: &str, wanted: &str) -> bool {
    let (path, wanted): (Vec<&str>, Vec<&str>) =
        (path.rsplit("::").collect(), wanted.rsplit("::").collect());
    let is_last = |part: &str, wanted: &str| match wanted.strip_suffix('*') {
        Some(start) => part.starts_with(start),
        None => part == wanted,
    };
    wanted.len() <= path.len()
        && is_last(path[0], wanted[0])
        && wanted[1..].iter().zip(&path[1..]).all(|(wanted, part)| wanted == part)
}
