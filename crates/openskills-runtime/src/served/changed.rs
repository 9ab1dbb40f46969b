//! Skills whose server sent something else than what was approved. Nothing of them is used until the user has synced and approved them again, not even files
//! that are in the cache and fit: the file keeps that over restarts.

use std::collections::BTreeSet;

use serde_json::json;
use skill_fs::AbsPath;

use crate::RuntimeError;
use crate::state::decided::{load, save};

/// Skills of servers that are suspended, by origin (`mcp:<label>:<uri>`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangedSkills {
    /// The held list is not what the server serves.
    unsynced: BTreeSet<String>,
    /// The list is current, and the user has not approved it.
    unapproved: BTreeSet<String>,
}

/// What a suspended skill waits for first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The user must sync, then approve.
    ForSync,
    /// The user must approve.
    ForApproval,
}

impl ChangedSkills {
    /// The name of the file in the state folder. Files of single servers are in a folder of their own, so no label collides with it.
    const FILE: &'static str = "mcp-changed.json";
    const KEYS: [&'static str; 2] = ["unsynced", "unapproved"];

    /// Reads them. A file that cannot be understood is an error, not an empty list.
    pub(crate) fn load(state: Option<&AbsPath>) -> Result<Self, RuntimeError> {
        let [unsynced, unapproved] = load(state, Self::FILE, Self::KEYS)?;
        Ok(Self { unsynced, unapproved })
    }

    /// Writes them.
    pub(crate) fn save(&self, state: Option<&AbsPath>) -> Result<(), RuntimeError> {
        let Self { unsynced, unapproved } = self;
        let value = json!({ "schema_version": 1, "unsynced": unsynced, "unapproved": unapproved });
        save(state, Self::FILE, &value)
    }

    /// Returns what a skill waits for, if it is suspended.
    pub(crate) fn waits(&self, origin: &str) -> Option<Waits> {
        match (self.unsynced.contains(origin), self.unapproved.contains(origin)) {
            (true, _) => Some(Waits::ForSync),
            (false, true) => Some(Waits::ForApproval),
            (false, false) => None,
        }
    }

    /// Suspends a skill until the user has synced and approved it.
    pub(crate) fn suspend(&mut self, origin: &str) {
        self.unapproved.remove(origin);
        self.unsynced.insert(origin.to_owned());
    }

    /// Notes that the user synced a server; `changed` are skills of it with an approval of something else.
    pub(crate) fn synced(&mut self, label: &str, changed: impl IntoIterator<Item = String>) {
        let (synced, unsynced) = std::mem::take(&mut self.unsynced)
            .into_iter()
            .partition(|origin| server_of(origin) == Some(label));
        self.unsynced = unsynced;
        self.unapproved.extend::<BTreeSet<String>>(synced);
        self.unapproved.extend(changed);
    }

    /// Notes that the user approved a skill; returns whether it was suspended.
    pub(crate) fn approved(&mut self, origin: &str) -> bool {
        self.unapproved.remove(origin)
    }
}

/// Returns the label in the origin of a skill that a server serves.
pub(crate) fn server_of(origin: &str) -> Option<&str> {
    origin.strip_prefix("mcp:")?.split_once(':').map(|(label, _)| label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sync_and_then_an_approval_end_it() {
        let (pdf, other) = ("mcp:docs:skill://a/pdf/SKILL.md", "mcp:docs-2:skill://a/pdf/SKILL.md");
        let mut all = ChangedSkills::default();
        assert_eq!(all.waits(pdf), None);
        all.suspend(pdf);
        all.suspend(other);
        assert!(!all.approved(pdf), "an approval without a sync is of what is not served");
        assert_eq!(all.waits(pdf), Some(Waits::ForSync));
        all.synced("docs", []);
        assert_eq!(all.waits(pdf), Some(Waits::ForApproval));
        assert_eq!(all.waits(other), Some(Waits::ForSync));
        all.suspend(pdf);
        assert_eq!(all.waits(pdf), Some(Waits::ForSync));
        all.synced("docs", []);
        assert!(all.approved(pdf));
        assert_eq!(all.waits(pdf), None);
        all.synced("docs", [pdf.to_owned()]);
        assert_eq!(all.waits(pdf), Some(Waits::ForApproval));
    }
}
