//! Skipping a test, loudly.

use std::io::Write;

/// Says on the real standard error that `test` did not run and why.
///
/// The test runner captures what `println!` prints, but not this. `.ci/run` fails on such a line.
pub fn skip(test: &str, why: &str) {
    let line = format!("\nSKIPPED {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error can be written");
}
