//! Tests of the audit.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests read fixtures and print what they measured"
)]

mod capabilities;
mod classes;
mod corpus;
mod docs;
mod evasions;
mod fixtures;
mod mutations;
mod ruleset;
mod whole;
