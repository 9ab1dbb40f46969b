//! Support for tests: isolated environments, file trees from a literal, real programs.
//!
//! Used only as a dev-dependency. [`tidy`] and [`promises`] contain the checks of the repository itself. [`model`] plays the
//! model of a real agent, for `tests/agents`.

pub mod corpus;
mod env;
mod fault;
mod foreign;
mod git;
mod help;
pub mod model;
mod pages;
pub mod promises;
mod schema_page;
mod skip;
mod stable;
pub mod tidy;
mod tree;
pub mod words;

pub use env::{Run, TestEnv};
pub use fault::Fault;
pub use git::GitRepo;
pub use help::whole_help;
pub use pages::{same_pages, same_section};
pub use schema_page::schema_page;
pub use skip::skip;
pub use stable::stable;
pub use tree::{entries, write_tree};
