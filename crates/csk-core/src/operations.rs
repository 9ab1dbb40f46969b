//! Other operations on installed skills: compare, verify, audit, find newer versions, import from other skill managers,
//! collect garbage.

pub mod audit;
mod cache_size;
mod compare;
mod examine;
mod find;
pub(crate) mod foreign;
pub(crate) mod gc;
mod inspect;
mod outdated;
mod verify;

pub use cache_size::{CacheSize, cache_folder, cache_size, clean_cache};
pub use compare::{CompareError, Comparison, FileChange, compare, compare_local};
pub use examine::{Examination, examine};
pub use find::{FoundIn, FoundSkill, SearchPlaces, SearchResult, search};
pub use gc::{Caller, Garbage, collect};
pub use inspect::{Inspection, inspect};
pub use outdated::{SkillVersions, outdated};
pub use verify::{Verification, verify};
