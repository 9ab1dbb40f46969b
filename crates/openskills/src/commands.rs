//! One file a command, named as the user types it.

pub(crate) mod prompt;
pub(crate) mod show;
pub(crate) mod validate;
