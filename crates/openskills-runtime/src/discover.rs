//! Discovers skills: from folders to the index.
//!
//! `roots` determines the folders, `scan` reads the skills in them, and `index` decides which skill a name refers to.
//! `cache` and `record` store the results, and `watch` reports changes.

mod builtin;
mod cache;
pub(crate) mod discovery;
pub(crate) mod git_files;
pub(crate) mod git_index;
mod hash;
pub(crate) mod index;
pub(crate) mod naming;
mod nested;
pub(crate) mod project;
pub(crate) mod provenance;
pub(crate) mod record;
pub(crate) mod roots;
pub(crate) mod scan;
pub(crate) mod source;
pub(crate) mod watch;
mod watched;
