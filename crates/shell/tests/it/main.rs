//! What is read of command lines, and that a real bash starts nothing else.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "tests")]

mod bash;
mod lines;
