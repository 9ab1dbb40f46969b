//! Any text as a line for bash under `Bash(git:*)`: what is not denied makes a real bash start nothing but git.
//!
//!     cargo install cargo-fuzz
//!     cargo +nightly fuzz run tool_rules -- -max_total_time=60 -max_len=200

#![no_main]

#[path = "../real_bash.rs"]
mod real_bash;

use std::sync::LazyLock;

use real_bash::RealBash;

static BASH: LazyLock<RealBash> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("openskills-fuzz-{}", std::process::id()));
    RealBash::new(&folder).expect("there is a bash")
});

libfuzzer_sys::fuzz_target!(|line: &str| {
    BASH.check(line);
});
