//! Skills that other MCP servers serve. What a server lists is kept in the state folder; what its files hold is fetched when it is first needed, held to
//! what was listed, and kept by its digest.
//!
//! A skill of a server is known by the label that the user gave the server, and by its URI. An approval binds to the set of its files and their digests.

pub(crate) mod approved;
mod changed;
mod dropped;
mod entry;
mod fetch;
mod kept;
mod servers;

pub(crate) use changed::{ChangedSkills, Waits, server_of};
pub use dropped::Dropped;
pub(crate) use entry::{ServedFile, ServedSkill};
pub(crate) use fetch::{Fetch, FetchError};
pub use fetch::{Fetcher, Wanted};
pub(crate) use kept::FOLDER;
pub use kept::{KeptSkills, Listing, SyncChange};
pub use servers::{ServerAddress, SkillServer, SkillServers};

/// How much one server may list.
pub const MAX_SERVED: usize = 20_000;
