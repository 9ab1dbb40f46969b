//! The commands, one module each, named as the user types them.

pub(crate) mod add;
pub(crate) mod audit;
pub(crate) mod bootstrap;
pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod gc;
pub(crate) mod global;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod man;
pub(crate) mod outdated;
pub(crate) mod project;
pub(crate) mod shell_init;
pub(crate) mod skill;
pub(crate) mod status;
pub(crate) mod update;
pub(crate) mod upgrade;
pub(crate) mod verify;
pub(crate) mod why;
