//! The attack suite. Whether an attack succeeded is judged by its effect on the machine, never by the script's output
//! alone.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod apply;
mod attacks;
mod bounds;
mod groups;
mod metadata;
mod must_work;
mod network;
mod world;
