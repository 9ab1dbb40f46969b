//! The attack suite: what a script tries is judged by what became of the machine, never by what the script says.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod attacks;
mod bounds;
mod commits;
mod groups;
mod metadata;
mod must_work;
mod network;
mod world;
