//! The check of `docs/security.md`: every promise in its table names a test, and every test that it names is there.
//!
//! It takes plain data and returns the offences, so that a test can show it failing.

use std::collections::BTreeSet;

/// Words of the last column that stand for something other than a test of the workspace.
const OTHER_PROOFS: [&str; 2] = [
    // The compiler, by a type without another constructor.
    "by type", // A lint that CI runs.
    "CI",
];
/// The word for the test of the row above.
const SAME: &str = "the same";

/// A test of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// The crate that it is of.
    pub krate: String,
    /// Its path in it, such as `attacks::there_is_no_network`.
    pub path: String,
}

/// What a promise may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proofs {
    /// Every test.
    pub tests: BTreeSet<Test>,
    /// Every file of the repository, by its path.
    pub files: BTreeSet<String>,
    /// Every case of the corpus, by its name.
    pub cases: BTreeSet<String>,
}

/// Returns the tests in a source file, by its path in the repository (`crates/<crate>/...`).
pub fn tests_of(path: &str, text: &str) -> Vec<Test> {
    let mut parts = path.split('/');
    let (Some("crates"), Some(krate), Some(kind)) = (parts.next(), parts.next(), parts.next())
    else {
        return Vec::new();
    };
    let mut module: Vec<&str> = parts.map(|part| part.trim_end_matches(".rs")).collect();
    // The one binary of a crate's tests is not part of a test's name.
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

/// Returns what is wrong with the table of promises on a page.
pub fn promise_offences(page: &str, proofs: &Proofs) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with('|')).skip(2);
    let mut offences = Vec::new();
    let mut is_above_proven = false;
    for row in rows {
        let cells: Vec<&str> = row.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [promise, _, named] = cells.as_slice() else {
            offences.push(format!("a row has {} columns in place of 3: {row}", cells.len()));
            continue;
        };
        let quoted: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        for word in quoted.iter().filter(|word| !proofs.has(word)) {
            offences.push(format!("there is no `{word}`, which is to prove: {promise}"));
        }
        let around: String = named.split('`').step_by(2).collect();
        let is_other = OTHER_PROOFS.iter().any(|other| around.contains(other))
            || (around == SAME && is_above_proven);
        is_above_proven = is_other || quoted.iter().any(|word| proofs.has(word));
        if !is_above_proven && quoted.is_empty() {
            offences.push(format!("no test is named for: {promise}"));
        }
    }
    offences
}

impl Proofs {
    /// Returns true if a word names a test, several tests by a `*` at its end, a file or a case.
    fn has(&self, word: &str) -> bool {
        let (krate, path) = match word.split_once(": ") {
            Some((krate, path)) => (Some(krate), path),
            None => (None, word),
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

/// Compares whole parts from the end; only the last may end in a `*`.
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
