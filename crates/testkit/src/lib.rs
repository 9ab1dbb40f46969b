//! What tests stand on: an environment of their own, trees of files from one literal, real programs.
//!
//! Only ever a dev-dependency. [`tidy`] and [`promises`] hold the checks of the repository itself.

pub mod corpus;
mod env;
mod fault;
mod git;
mod help;
mod pages;
pub mod promises;
mod schema_page;
mod skip;
pub mod tidy;
mod tree;

pub use env::{Run, TestEnv};
pub use fault::Fault;
pub use git::GitRepo;
pub use help::whole_help;
pub use pages::{same_pages, same_section};
pub use schema_page::schema_page;
pub use skip::skip;
pub use tree::{entries, write_tree};
