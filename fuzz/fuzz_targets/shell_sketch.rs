//! Any text as shell code, for both parsers of the `shell` crate.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run shell_sketch -- -max_total_time=600

#![no_main]

#[path = "../audit.rs"]
mod audit;

libfuzzer_sys::fuzz_target!(|text: &str| audit::check_shell(text));
