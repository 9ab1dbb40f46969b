//! Tests of csk's library that involve more than one module.

#![expect(clippy::unwrap_used, reason = "tests")]

mod schemas;
