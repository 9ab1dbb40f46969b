//! Installing is: resolve, observe, plan, prepare, apply.
//!
//! [`resolve`] turns declarations into commits; [`observe`] reads what is in a project; [`plan`] is pure
//! and names every change; [`prepare`] reads and checks the content of what is new; [`apply`] performs
//! a plan. `status` is a plan that nobody applies.

mod apply;
mod cache;
mod cache_size;
mod compare;
mod consumers;
mod gate;
mod gc;
mod hook;
mod inspect;
mod journal;
mod locking;
mod marking;
mod observe;
mod outdated;
mod place_shims;
mod plan;
mod prepare;
mod relock;
mod report;
mod resolve;
mod run;
mod seen;
mod shims;
mod sources;
mod store;
mod swaps;
mod target;
mod verify;
mod write;

pub use apply::{Applied, Means, apply};
pub use cache::{Cache, Keep};
pub use cache_size::{CacheSize, cache_folder, cache_size, clean_cache};
pub use compare::{CompareError, Comparison, FileChange, compare, compare_local};
pub use consumers::Consumers;
pub use gate::unignored;
pub use gc::{Caller, Garbage, collect};
pub use hook::{can_be_on_path, commands_folder, global_commands, own_entries, shadowing};
pub use inspect::{Inspection, inspect};
pub use journal::finish_interrupted;
pub use locking::LockUse;
pub use observe::{AdapterState, ContextState, Observed, observe, observe_project};
pub use outdated::{Standing, outdated};
pub use plan::{Adapter, Group, Label, Plan, Reason, Tags, plan};
pub use prepare::{MissingCommand, PrepareError, Prepared, Sources, prepare};
pub use relock::{LockChange, LockReport, Upgrade, lock};
pub use report::{Outcome, ProjectError, ProjectReport, SkillReport};
pub use resolve::{Resolution, Resolved, SkillError, check_origin, resolve};
pub use run::{Environment, Ignore, Mode, Network, Options, RunError, install, status};
pub use seen::Seen;
pub use skill_state::Receipts;
pub use sources::{FetchReport, repositories, stage_clone, update};
pub use store::{RuntimeState, Store};
pub use target::{BIN, SKILLS, Target};
pub use verify::{Verification, verify};
