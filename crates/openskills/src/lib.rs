//! The `openskills` command line: arguments, output and exit codes. The libraries do the work.

mod ask;
mod checkpoints;
mod cli;
mod commands;
mod completion;
mod config_edit;
mod context;
mod discovery;
mod exit_code;
mod failure;
mod grants;
mod hook;
mod http;
mod load;
mod mcp;
pub mod output;
mod signals;
mod streams;
mod target;
mod when;

pub use cli::main;
