//! One file a command, named as the user types it.

pub(crate) mod activate;
pub(crate) mod approvals;
pub(crate) mod approve;
pub(crate) mod cache;
pub(crate) mod check_tool;
pub(crate) mod discover;
pub(crate) mod files;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod new;
pub(crate) mod pack;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod sandbox_;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod switch;
pub(crate) mod test;
pub(crate) mod trust;
pub(crate) mod validate;
pub(crate) mod where_;
