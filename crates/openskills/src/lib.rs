//! The command line `openskills`: arguments, output and exit codes. The work is done in the libraries.

mod ask;
mod checkpoints;
mod cli;
mod commands;
mod context;
mod failure;
mod grants;
mod http;
mod known;
mod load;
mod look;
mod mcp;
pub mod output;
mod signals;
mod target;
mod when;

pub use cli::main;
