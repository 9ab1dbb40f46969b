//! Tests of the audit as a whole.

mod corpus;
mod evasions;
mod fixtures;
mod whole;
