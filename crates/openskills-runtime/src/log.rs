//! The audit log: what the runtime did, one JSON object a line, each holding the digest of the line before.
//!
//! A folder holds `audit-<first event>.jsonl` files, `head.json` (where the log ends) and `.lock`. An event is written before
//! the result that it is about is returned. Several processes may append: one at a time holds the kernel's lock on `.lock`.
//!
//! The chain shows an event that was changed, removed or moved, the head one that was cut off. Whoever may write the folder
//! can write a whole new chain; against that helps only a [`Key`] that they cannot read.

mod archive;
mod chain;
mod error;
mod head;
mod line;
mod read;
mod redact;
mod stats;
mod verify;
mod writer;

pub use archive::archive;
pub use chain::Key;
pub use error::LogError;
pub use line::Entry;
pub use read::{Entries, Source};
pub(crate) use redact::redact_all;
pub use redact::{REDACTED, Redactor, redact};
pub use stats::{SkillStats, Stats, stats};
pub use verify::{LogProblem, LogReport, verify};
pub use writer::{Log, LogOptions, Sync};
