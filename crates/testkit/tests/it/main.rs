//! Tests of the test kit and of the repository itself.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod formats;
mod promises;
mod tidy;
mod tree;
mod words;
