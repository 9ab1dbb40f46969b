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
mod gate;
pub(crate) mod hook;
pub(crate) mod journal;
pub(crate) mod locking;
pub(crate) mod observe;
pub(crate) mod plan;
mod prepare;
mod relock;
mod report;
pub(crate) mod resolve;
mod run;
pub(crate) mod seen;
pub(crate) mod sources;
mod store;
pub(crate) mod surroundings;
mod target;
mod write;

pub(crate) use apply::marking::marker_of;
pub use apply::{Applied, Means, apply};
pub use cache::{Cache, Keep};
pub use consumers::Consumers;
pub use environment::{Environment, Ignore, Mode, Network, Options, RunError};
pub use gate::Gated;
pub use hook::{can_be_on_path, commands_folder, global_commands, own_entries, shadowing};
pub use journal::finish_interrupted;
pub use locking::{LockUse, Rules, Tags};
pub use observe::{AdapterState, ContextState, Memory, Observed, observe, observe_project};
pub use plan::{
    Action, AdapterChange, Collision, CommandChange, Content, Contents, Facts, Label, Plan,
    SkillPlan, World, plan,
};
pub use prepare::{MissingCommand, PrepareError, Prepared, Sources, prepare};
pub use relock::{LockChange, LockOptions, LockReport, Upgrade, lock};
pub use report::{Outcome, ProjectError, ProjectReport, SkillReport};
pub use resolve::{Resolution, Resolved, SkillError, check_origin, resolve};
pub use run::{install, status};
pub use seen::Seen;
use skill_state::Receipts;
pub use sources::{FetchReport, repositories, stage_clone, update};
pub use store::{RuntimeState, Store, StoreLayout};
pub use surroundings::unignored;
pub use target::{BIN, SKILLS, Target};
