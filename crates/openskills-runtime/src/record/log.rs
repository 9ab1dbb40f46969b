//! The audit log: what the runtime did, as one JSON object per line, each with the digest of the previous line.
//!
//! A log is a folder with `audit-<first event>.jsonl` files, `head.json` (where the log ends) and `.lock`. An event is
//! written before the result that it describes is returned. Several processes may append, one at a time, by taking a
//! kernel lock on `.lock`.
//!
//! The chain reveals events that were changed, removed or moved; the head reveals events that were removed from the
//! end. Anyone who can write to the folder can create a whole new chain, unless it uses a [`Key`] that they cannot
//! read. An older copy of the whole folder is valid as well, unless [`Checkpoints`] are stored elsewhere.

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
mod run_start;
mod runs;
mod stats;
mod verify;
mod writer;

pub use archive::archive;
pub use chain::Key;
pub use checkpoint::{
    Checkpoint, CheckpointDelivery, CheckpointDestination, CheckpointOptions, Checkpoints,
    set_checkpoint_sender, take_checkpoint_failure,
};
pub use error::LogError;
pub use history::{VerifyOptions, verify_against, verify_with};
pub use line::Entry;
pub(crate) use open_runs::OpenRun;
pub use read::{Entries, Source};
pub use redact::{REDACTED, Redactor, redact};
pub(crate) use redact::{is_secret_name, redact_all};
pub(crate) use run_start::RunStart;
pub use stats::{SkillStats, Stats, stats};
pub use verify::{LogProblem, LogReport, verify};
pub use writer::{Log, LogOptions, Sync};
