//! Any bytes as a SKILL.md: no panic, no hang, a document or an error, places inside the file, and
//! nothing that steers a terminal.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run skill_md -- -max_total_time=60

#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::check(bytes));
