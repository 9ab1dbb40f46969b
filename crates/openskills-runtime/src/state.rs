//! The user's configuration and decisions, and the folders that store them.

pub(crate) mod caches;
pub(crate) mod config;
pub(crate) mod decisions;
pub(crate) mod own_files;
pub(crate) mod places;
pub(crate) mod settings;
pub(crate) mod variables;
