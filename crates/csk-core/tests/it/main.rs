//! The tests of csk's library that need more than one module.

#![expect(clippy::unwrap_used, reason = "tests")]

mod schemas;
