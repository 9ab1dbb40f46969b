//! Tests of the audit as a whole.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests read fixtures and say what they found"
)]

mod corpus;
mod docs;
mod evasions;
mod fixtures;
mod ruleset;
mod whole;
