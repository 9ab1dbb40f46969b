//! Installing is: resolve, observe, plan, prepare, apply.
//!
//! [`resolve`] turns declarations into commits; [`observe`] reads what is in a project; [`plan`] is pure
//! and names every change; [`prepare`] reads and checks the content of what is new; [`apply`] performs
//! a plan. `status` is a plan that nobody applies.

mod apply;
mod cache;
mod consumers;
pub(crate) mod gate;
pub(crate) mod hook;
pub(crate) mod journal;
pub(crate) mod locking;
pub(crate) mod marking;
pub(crate) mod observe;
mod place_shims;
pub(crate) mod plan;
mod prepare;
mod relock;
mod report;
pub(crate) mod resolve;
mod run;
pub(crate) mod seen;
pub(crate) mod shims;
pub(crate) mod sources;
mod store;
mod swaps;
mod target;
mod write;

pub use apply::{Applied, Means, apply};
pub use cache::{Cache, Keep};
pub use consumers::Consumers;
pub use gate::unignored;
pub use hook::{can_be_on_path, commands_folder, global_commands, own_entries, shadowing};
pub use journal::finish_interrupted;
pub use locking::LockUse;
pub use observe::{AdapterState, ContextState, Observed, observe, observe_project};
pub use plan::{Adapter, Group, Label, Plan, Reason, Tags, plan};
pub use prepare::{MissingCommand, PrepareError, Prepared, Sources, prepare};
pub use relock::{LockChange, LockReport, Upgrade, lock};
pub use report::{Outcome, ProjectError, ProjectReport, SkillReport};
pub use resolve::{Resolution, Resolved, SkillError, check_origin, resolve};
pub use run::{Environment, Ignore, Mode, Network, Options, RunError, install, status};
pub use seen::Seen;
use skill_state::Receipts;
pub use sources::{FetchReport, repositories, stage_clone, update};
pub use store::{RuntimeState, Store};
pub use target::{BIN, SKILLS, Target};
