//! Installs skills from git into projects, reproducibly.

mod agents;
mod config;
mod skillfile;

pub use agents::{Agent, Agents};
pub use config::{AdapterMode, Config, DEFAULT_PATTERN, ProjectEntry};
pub use skillfile::{Declaration, Reference, SKILLFILE, Skillfile};
