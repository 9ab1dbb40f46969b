//! Any bytes as the files of a skill, separated by lines that start with `//- `: no panic, and findings inside the files.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run audit_skill -- -max_total_time=600

#![no_main]

#[path = "../audit.rs"]
mod audit;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| audit::check_skill(bytes));
