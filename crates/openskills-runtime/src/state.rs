//! What the user configured and decided, and where it is kept.

pub(crate) mod caches;
pub(crate) mod config;
pub(crate) mod decided;
pub(crate) mod places;
pub(crate) mod settings;
pub(crate) mod variables;
