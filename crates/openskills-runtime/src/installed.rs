//! Skills installed by `openskills install`: which ones, their origin and who signed them.
//!
//! The authoritative ledger is in the state folder, where only the user writes. A copy next to the skills informs
//! others who share the folder.

mod files;
pub(crate) mod install;
mod ledger;
mod origin;
mod scratch;

pub use files::{back_up_bundle, clean_up, put};
pub(crate) use files::{back_up_skill, digest_at, remove_skill};
pub(crate) use ledger::written;
pub use ledger::{Installed, InstalledSkills, SignatureRecord};
pub use origin::{OriginUrl, OriginUrlError};
pub(crate) use scratch::SCRATCH_PREFIX;
