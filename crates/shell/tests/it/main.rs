//! What is read of command lines, and that a real bash starts nothing else.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod bash;
mod lines;
