//! Installs skills from git into projects, reproducibly.
//!
//! [`Config`] and [`Skillfile`] say what is wanted, [`Repository`] reads what there is, [`install`] brings
//! the one to the other. Nothing here writes to a terminal or reads the environment.

mod agents;
pub mod audit;
mod checkout;
mod config;
mod context;
mod env_files;
mod foreign;
mod git;
mod git_config;
pub mod install;
mod layers;
mod ledger;
mod locale;
mod lockfile;
mod object;
mod objects;
pub mod output;
mod progress;
pub mod project;
mod quick_ref;
mod repository;
mod runtime;
mod schema;
mod skillfile;
mod skillfile_edit;
mod snapshot;
mod sys;
mod text;
mod url;
mod user_git;
mod which;

pub use agents::{Agent, Agents};
pub use checkout::{
    ExcludeFile, OpeningRule, Unignored, exclude_file, not_ignored, tracked, work_tree,
};
pub use config::{AdapterMode, Config, DEFAULT_PATTERN, ProjectEntry, edit_project};
pub use context::{Context, ContextError, Shape, context};
pub use env_files::{CommandOrder, Scope, env_ps1, env_sh};
pub use foreign::{ForeignOrigin, ForeignSkill, long_source_name, read_foreign_lock, source_name};
pub use git::{Fetched, GitError, TIME_LIMIT, clone, fetch, make_repository, origin, remote_refs};
pub use layers::{LOCKABLE, SystemConfig};
pub use ledger::Ledger;
pub use locale::{LocaleError, Rendered, render};
pub use lockfile::{LOCKFILE, Locked, Lockfile};
pub use object::Object;
pub use objects::Objects;
pub use progress::{Progress, Running, Silent, Work};
pub use repository::{Commit, Repository, SourceError};
pub use runtime::{Platform, Runtime, RuntimeError, manifest, runtime};
pub use schema::schemas;
pub use skillfile::{Declaration, Reference, SKILLFILE, Skillfile, is_ref_name};
pub use skillfile_edit::{remove_skill, set_skill};
pub use snapshot::{Content, File, FileKind, Snapshot, bundle_digest, content_digest};
pub use text::with_block;
pub use url::{LocalSources, check_declared_url, is_same_place, redacted, without_password};

pub use skill::LEDGER_FILE;
pub use skill_fs::{AbsPath, AbsPathError, FsError, Lock, LockError, read_text, write_file};
pub use skill_state::StateError;
