//! Tests with real modules and components, in this process and inside the real sandbox.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, clippy::panic, reason = "tests")]

mod artifacts;
mod bounds;
mod components;
mod errors;
mod files;
mod guests;
mod seeds;
mod staged;
