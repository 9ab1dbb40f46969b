//! What a skill may do, as a lattice: whatever is met with something else only ever narrows.
//!
//! [`Capabilities`] says for every kind of capability how far it reaches. [`Capabilities::meet`] keeps what both allow. It is
//! the same type for what a skill declares, what a trust level may do at most, what a user grants, and what is enforced.
//! [`Declared`] is what a skill says of itself in all its files, and knows what it does not say.

mod declared;
mod extents;
mod host;
mod kind;
mod place;
mod reach;
mod tools;

pub use declared::Declared;
pub use extents::{CapabilityChange, CapabilityExtents, Extent};
pub use host::Host;
pub use kind::{CapabilityKind, Permission};
pub use place::{Anchor, Place};
pub use reach::{Cover, Reach};
pub use tools::ToolLimits;

/// How far every kind of capability reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Files that may be read: whole folders.
    pub read: Reach<Place>,
    /// Files that may be written: whole folders.
    pub write: Reach<Place>,
    /// Hosts that may be reached.
    pub network: Reach<Host>,
    /// Programs that may be started.
    pub exec: Reach<String>,
    /// Variables of the environment that may be read.
    pub env: Reach<String>,
    /// Services whose secrets may be used.
    pub secrets: Reach<String>,
    /// Tools that may be called.
    pub tools: ToolLimits,
}

impl Capabilities {
    /// Returns all capabilities there are.
    pub fn everything() -> Self {
        Self {
            read: Reach::Everything,
            write: Reach::Everything,
            network: Reach::Everything,
            exec: Reach::Everything,
            env: Reach::Everything,
            secrets: Reach::Everything,
            tools: ToolLimits::default(),
        }
    }

    /// Returns no capability at all.
    pub fn nothing() -> Self {
        Self {
            read: Reach::nothing(),
            write: Reach::nothing(),
            network: Reach::nothing(),
            exec: Reach::nothing(),
            env: Reach::nothing(),
            secrets: Reach::nothing(),
            tools: ToolLimits::nothing(),
        }
    }

    /// Returns what both allow.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self {
            read: self.read.meet(&other.read),
            write: self.write.meet(&other.write),
            network: self.network.meet(&other.network),
            exec: self.exec.meet(&other.exec),
            env: self.env.meet(&other.env),
            secrets: self.secrets.meet(&other.secrets),
            tools: self.tools.meet(&other.tools),
        }
    }

    /// Returns true if everything that `other` allows is allowed here as well.
    pub fn covers(&self, other: &Self) -> bool {
        self.read.covers(&other.read)
            && self.write.covers(&other.write)
            && self.network.covers(&other.network)
            && self.exec.covers(&other.exec)
            && self.env.covers(&other.env)
            && self.secrets.covers(&other.secrets)
            && self.tools.covers(&other.tools)
    }
}
