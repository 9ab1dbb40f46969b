//! Skills that `openskills install` put somewhere: which, from where, and by whom they were signed.
//!
//! What is known of them is in the state folder, where nobody else writes; a copy stands beside the skills for whoever shares the folder.

pub(crate) mod install;
mod ledger;
mod origin;
mod place;
mod scratch;

pub(crate) use ledger::written;
pub use ledger::{Installed, InstalledSkills, SignatureRecord};
pub use origin::{OriginUrl, OriginUrlError};
pub(crate) use place::{aside, digest_at, take_away};
pub use place::{clean_up, put, put_aside};
pub(crate) use scratch::UNFINISHED;
