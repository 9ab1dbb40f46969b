//! The audit log: what the runtime did, one JSON object a line, each holding the digest of the line before.
//!
//! A folder holds `audit-<first event>.jsonl` files, `head.json` (where the log ends) and `.lock`. An event is written before
//! the result that it is about is returned. Several processes may append: one at a time holds the kernel's lock on `.lock`.
//!
//! The chain shows an event that was changed, removed or moved, the head one that was cut off. Whoever may write the folder
//! can write a whole new chain; against that helps only a [`Key`] that they cannot read. An older copy of the whole folder
//! verifies as well; against that help [`Checkpoints`] in a second place.

mod archive;
mod chain;
mod checkpoint;
mod error;
mod head;
mod history;
mod line;
mod open_runs;
mod read;
mod redact;
mod runs;
mod stats;
mod verify;
mod writer;

pub use archive::archive;
pub use chain::Key;
pub use checkpoint::{
    Checkpoint, CheckpointDelivery, CheckpointOptions, CheckpointPlace, Checkpoints,
    send_checkpoints_by, take_checkpoint_failure,
};
pub use error::LogError;
pub use history::{VerifyOptions, verify_against, verify_with};
pub use line::Entry;
pub(crate) use open_runs::OpenRun;
pub use read::{Entries, Source};
pub use redact::{REDACTED, Redactor, redact};
pub(crate) use redact::{is_secret_name, redact_all};
pub use stats::{SkillStats, Stats, stats};
pub use verify::{LogProblem, LogReport, verify};
pub use writer::{Log, LogOptions, Sync};
