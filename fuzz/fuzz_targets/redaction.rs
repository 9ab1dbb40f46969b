//! Any text around a secret: it does not survive, nothing panics, and twice is the same as once.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run redaction -- -max_total_time=60 -max_len=400

#![no_main]

#[path = "../redaction.rs"]
mod redaction;

libfuzzer_sys::fuzz_target!(|texts: (&str, &str)| redaction::check(texts.0, texts.1));
