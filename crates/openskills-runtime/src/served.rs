//! Skills from MCP servers. A server's list is stored in the state folder. Files are fetched on first use, checked
//! against the list, and cached by digest.
//!
//! A skill from a server is identified by the user's label for the server and by its URI. An approval covers the exact
//! set of its files and their digests.

pub(crate) mod approved;
mod changed;
mod dropped;
mod entry;
mod fetch;
mod servers;
mod synced;

pub(crate) use changed::{ChangedSkills, PendingStep, server_of};
pub use dropped::DropSummary;
pub(crate) use entry::{ServedFile, ServedSkill};
pub(crate) use fetch::{Fetch, FetchError};
pub use fetch::{FetchRequest, Fetcher};
pub use servers::{ServerAddress, SkillServer, SkillServers};
pub(crate) use synced::FOLDER;
pub use synced::{Listing, SyncChange, SyncedSkills};

/// The maximum number of skills that a server may list.
pub const MAX_SERVED: usize = 20_000;
