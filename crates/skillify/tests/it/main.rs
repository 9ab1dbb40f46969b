//! Bundles generated from small packages defined in these tests.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod check;
mod npm;
mod packages;
mod python;
mod rust;
