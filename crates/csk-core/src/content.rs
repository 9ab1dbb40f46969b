//! The files of a skill's commit (`snapshot`), and where they go: text into projects (`context`, rendered in one
//! `locale`), command files into the command store (`commands`).

pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod locale;
pub(crate) mod snapshot;
