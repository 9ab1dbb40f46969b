//! The tests of the skill format.

#![expect(clippy::unwrap_used, reason = "tests")]

mod capabilities;
mod codes;
mod corpus;
mod diagnostics;
mod file_names;
mod properties;
mod schema;
mod typed;
