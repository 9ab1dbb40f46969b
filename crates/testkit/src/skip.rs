//! Skips a test visibly.

use std::io::Write;

/// Reports on the real standard error that `test` was skipped and why.
///
/// The test runner captures the output of `println!`, but not this. `.ci/run` fails on such a line.
pub fn skip(test: &str, why: &str) {
    let line = format!("\nSKIPPED {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error can be written");
}
