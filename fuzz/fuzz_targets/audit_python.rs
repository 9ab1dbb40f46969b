//! Any bytes as Python.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run audit_python -- -max_total_time=600

#![no_main]

#[path = "../audit.rs"]
mod audit;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| audit::check_file("scripts/go.py", bytes));
