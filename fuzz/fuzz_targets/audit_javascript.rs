//! Any bytes as JavaScript.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run audit_javascript -- -max_total_time=600

#![no_main]

#[path = "../audit.rs"]
mod audit;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| audit::check_file("scripts/go.js", bytes));
