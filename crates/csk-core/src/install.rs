//! Installing has five steps: resolve, observe, prepare, plan, apply.
//!
//! [`resolve`] turns declarations into commits; [`observe`] reads the state of a project; [`prepare`] reads and checks
//! new content, which must pass the gate; [`plan`] is pure and lists every change; [`apply`] performs a plan that has
//! passed its project's gate. `status` is a plan that is shown but not applied.

mod apply;
mod cache;
mod consumers;
mod contents;
mod environment;
mod fill_store;
pub(crate) mod fingerprint_cache;
pub(crate) mod gate;
pub(crate) mod hook;
pub(crate) mod journal;
pub(crate) mod locking;
pub(crate) mod observe;
pub(crate) mod plan;
mod prepare;
pub(crate) mod project_checks;
mod relock;
mod report;
pub(crate) mod resolve;
mod run;
pub(crate) mod shim;
pub(crate) mod sources;
mod store;
mod target;
mod write;

pub(crate) use apply::marking::marker_of;
pub use apply::{Applied, ApplyContext, apply};
pub use cache::{Cache, CacheMode};
pub use consumers::Consumers;
pub use environment::{Environment, IgnorePolicy, InstallOptions, Mode, Network, RunError};
pub use fingerprint_cache::FingerprintCache;
pub use gate::Gated;
pub use hook::{can_be_on_path, commands_folder, global_commands, shadowing, user_path_entries};
pub use journal::finish_interrupted;
pub use locking::{LockfileMode, ResolveRules, TagPolicy};
pub use observe::{AdapterState, ContextState, Observed, ProjectMemory, observe, observe_project};
pub use plan::{
    Action, AdapterChange, Collision, CommandChange, Facts, IgnoreFile, IgnoreRules, Label, Plan,
    PlanInput, SkillContent, SkillContents, SkillPlan, plan,
};
pub use prepare::{MissingCommand, PrepareError, Prepared, Sources, prepare};
pub use project_checks::{add_ignore_rules, unignored};
pub use relock::{LockChange, LockOptions, LockReport, Upgrade, lock};
pub use report::{Outcome, ProjectError, ProjectReport, SkillReport};
pub use resolve::{Resolution, Resolved, SkillError, check_origin, resolve};
pub use run::{install, status};
use skill_state::Receipts;
pub use sources::{FetchReport, repositories, stage_clone, update};
pub use store::{CommandFilesState, Store, StoreLayout};
pub use target::{AgentsFrom, BIN, SKILLS, Target};
