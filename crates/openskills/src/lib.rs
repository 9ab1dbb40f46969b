//! The command line `openskills`: arguments, output and exit codes. The work is done in the libraries.

mod catalogue;
mod cli;
mod commands;
mod context;
mod load;
pub mod output;
mod target;

pub use cli::main;
