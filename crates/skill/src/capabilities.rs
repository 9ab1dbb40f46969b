//! Capabilities of a skill, as a lattice: combining two sets can only narrow them.
//!
//! [`Capabilities`] holds the extent of every kind of capability, and [`Capabilities::meet`] keeps what both sides
//! allow. The same type describes what a skill declares, the maximum for a trust level, what a user grants and what is
//! enforced. [`Declared`] collects the declarations from all files of a skill, and distinguishes "declared as none"
//! from "not declared".

mod anchored_folder;
mod declared;
mod extents;
mod host;
mod kind;
mod reach;
mod tools;

pub use anchored_folder::{Anchor, AnchoredFolder};
pub use declared::Declared;
pub use extents::{CapabilityChange, CapabilityExtents, Extent};
pub use host::Host;
pub use kind::{CapabilityKind, Permission};
pub use reach::{Cover, Reach};
pub use tools::ToolLimits;

/// The extent of every kind of capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Folders whose contents may be read.
    pub read: Reach<AnchoredFolder>,
    /// Folders whose contents may be written.
    pub write: Reach<AnchoredFolder>,
    /// Hosts that may be contacted.
    pub network: Reach<Host>,
    /// Programs that may be started.
    pub exec: Reach<String>,
    /// Environment variables that may be read.
    pub env: Reach<String>,
    /// Services whose secrets may be used.
    pub secrets: Reach<String>,
    /// Tools that may be called.
    pub tools: ToolLimits,
}

impl Capabilities {
    /// Returns a value that allows everything.
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

    /// Returns a value that allows nothing.
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

    /// Returns true if this allows everything that `other` allows.
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
