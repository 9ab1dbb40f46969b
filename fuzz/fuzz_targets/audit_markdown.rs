//! Any bytes as a SKILL.md.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run audit_markdown -- -max_total_time=600

#![no_main]

#[path = "../audit.rs"]
mod audit;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| audit::check_file("SKILL.md", bytes));
