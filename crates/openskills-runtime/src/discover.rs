//! Finds skills: from folders to the index.
//!
//! `roots` says which folders, `scan` reads what is in them, `index` says which skill a name means; `cache` and `record` keep what was learnt,
//! and `watch` notices what changes.

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
