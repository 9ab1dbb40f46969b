//! The command line `openskills`: arguments, output and exit codes. The work is done in the libraries.

mod cli;
mod commands;
mod context;
mod failure;
mod load;
mod look;
pub mod output;
mod target;

pub use cli::main;
