//! Installs skills from git into projects, reproducibly.
//!
//! [`Config`] and [`Skillfile`] describe the desired state, [`Repository`] reads the sources, and [`install`] applies
//! one to the other. Nothing in this crate writes to a terminal or reads the environment.

mod config;
mod content;
mod env_files;
mod git;
pub mod install;
mod ledger;
pub mod operations;
pub mod output;
mod progress;
mod schema;
pub mod source;
mod sys;
mod text;
mod which;

pub use config::agents::{Agent, Agents};
pub use config::detect::{AgentSigns, detected_agents};
pub use config::file::{AdapterMode, Config, DEFAULT_PATTERN, ProjectEntry, edit_project};
pub use config::layers::{ConfigBase, LOCKABLE, SystemConfig};
pub use config::lockfile::{LOCKFILE, LockedSkill, Lockfile};
pub use config::skillfile::{Declaration, Reference, SKILLFILE, Skillfile, is_ref_name};
pub use config::skillfile_edit::{remove_skill, set_skill};
pub use content::commands::{CommandFiles, CommandFilesError, Platform, command_files, manifest};
pub use content::context::{Context, ContextError, Shape, context};
pub use content::locale::{LocaleError, Rendered, render};
pub use content::snapshot::{Content, File, FileKind, Snapshot, bundle_digest, content_digest};
pub use env_files::{CommandOrder, Scope, env_ps1, env_sh};
pub use git::checkout::{
    ExcludeFile, NegatedRule, Unignored, exclude_file, not_ignored, tracked, work_tree,
    work_tree_root,
};
pub use git::object::Object;
pub use git::objects::Objects;
pub use git::program::{
    Fetched, GitError, TIME_LIMIT, clone, fetch, init_repository, origin, remote_refs,
};
pub use git::repository::{Commit, Repository, SourceError};
pub use git::url::{LocalSources, check_declared_url, is_same_repository, redacted};
pub use ledger::Ledger;
pub use operations::foreign::{
    ForeignOrigin, ForeignSkill, long_source_name, read_foreign_lock, source_name,
};
pub use progress::{Progress, ProgressHandle, Silent, Work};
pub use schema::schemas;
pub use text::with_block;
pub use which::find_program;

pub use config::project;
pub use operations::audit;
