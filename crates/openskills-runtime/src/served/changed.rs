//! Skills that are suspended because their server sent different content than was approved. Nothing of them is used
//! until the user syncs and approves them again, not even matching files in the cache. The suspension survives
//! restarts.

use std::collections::BTreeSet;

use serde_json::json;
use skill_fs::AbsPath;

use crate::RuntimeError;
use crate::state::decisions::{load, save};

/// Suspended skills, by origin (`mcp:<label>:<uri>`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangedSkills {
    /// The stored list is out of date.
    unsynced: BTreeSet<String>,
    /// The list is current, but the user has not approved it.
    unapproved: BTreeSet<String>,
}

/// What the user must do next to use a suspended skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingStep {
    /// Sync, then approve.
    Sync,
    /// Approve.
    Approval,
}

impl ChangedSkills {
    /// The file name in the state folder. Files of individual servers are in a subfolder, so no label collides with it.
    const FILE: &'static str = "mcp-changed.json";
    const KEYS: [&'static str; 2] = ["unsynced", "unapproved"];

    /// Reads the file. A malformed file is an error, not an empty list.
    pub(crate) fn load(state: Option<&AbsPath>) -> Result<Self, RuntimeError> {
        let [unsynced, unapproved] = load(state, Self::FILE, Self::KEYS)?;
        Ok(Self { unsynced, unapproved })
    }

    /// Writes the file.
    pub(crate) fn save(&self, state: Option<&AbsPath>) -> Result<(), RuntimeError> {
        let Self { unsynced, unapproved } = self;
        let value = json!({ "schema_version": 1, "unsynced": unsynced, "unapproved": unapproved });
        save(state, Self::FILE, &value)
    }

    /// Returns the next step for a skill, if it is suspended.
    pub(crate) fn pending(&self, origin: &str) -> Option<PendingStep> {
        match (self.unsynced.contains(origin), self.unapproved.contains(origin)) {
            (true, _) => Some(PendingStep::Sync),
            (false, true) => Some(PendingStep::Approval),
            (false, false) => None,
        }
    }

    /// Suspends a skill until the user syncs and approves it.
    pub(crate) fn suspend(&mut self, origin: &str) {
        self.unapproved.remove(origin);
        self.unsynced.insert(origin.to_owned());
    }

    /// Records that the user synced a server; `changed` are its skills whose approval is for an earlier version.
    pub(crate) fn synced(&mut self, label: &str, changed: impl IntoIterator<Item = String>) {
        let (synced, unsynced) = std::mem::take(&mut self.unsynced)
            .into_iter()
            .partition(|origin| server_of(origin) == Some(label));
        self.unsynced = unsynced;
        self.unapproved.extend::<BTreeSet<String>>(synced);
        self.unapproved.extend(changed);
    }

    /// Records that the user approved a skill; returns whether it was suspended.
    pub(crate) fn approved(&mut self, origin: &str) -> bool {
        self.unapproved.remove(origin)
    }
}

/// Returns the server's label in an origin; `None` if the skill is not from a server.
pub(crate) fn server_of(origin: &str) -> Option<&str> {
    origin.strip_prefix("mcp:")?.split_once(':').map(|(label, _)| label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sync_followed_by_an_approval_ends_a_suspension() {
        let (pdf, other) = ("mcp:docs:skill://a/pdf/SKILL.md", "mcp:docs-2:skill://a/pdf/SKILL.md");
        let mut all = ChangedSkills::default();
        assert_eq!(all.pending(pdf), None);
        all.suspend(pdf);
        all.suspend(other);
        assert!(!all.approved(pdf), "an approval without a sync is of what is not served");
        assert_eq!(all.pending(pdf), Some(PendingStep::Sync));
        all.synced("docs", []);
        assert_eq!(all.pending(pdf), Some(PendingStep::Approval));
        assert_eq!(all.pending(other), Some(PendingStep::Sync));
        all.suspend(pdf);
        assert_eq!(all.pending(pdf), Some(PendingStep::Sync));
        all.synced("docs", []);
        assert!(all.approved(pdf));
        assert_eq!(all.pending(pdf), None);
        all.synced("docs", [pdf.to_owned()]);
        assert_eq!(all.pending(pdf), Some(PendingStep::Approval));
    }
}
