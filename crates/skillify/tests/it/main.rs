//! Bundles derived from small packages that are written here.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod check;
mod npm;
mod packages;
mod python;
mod rust;
