//! Tests of the command line parser, some of them against a real bash.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "tests")]

mod bash;
mod lines;
