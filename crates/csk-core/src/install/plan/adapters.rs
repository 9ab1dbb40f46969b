//! A skill's entries in the agents' folders: links to it, or copies.

use skill::Identifier;
use skill_fs::Digests;

use crate::AdapterMode;
use crate::install::observe::ObservedAdapter;
use crate::install::{AdapterState, Observed, SkillError, Target};

/// A change to an agent's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterChange {
    /// The agent's folder.
    pub folder: String,
    /// True to create or replace the entry, false to remove it.
    pub present: bool,
}

impl AdapterChange {
    pub(super) fn create(folder: &str) -> Self {
        Self { folder: folder.to_owned(), present: true }
    }

    pub(super) fn remove(folder: &str) -> Self {
        Self { folder: folder.to_owned(), present: false }
    }
}

/// What determines the agent entries of one skill.
pub(super) struct AgentEntries<'a> {
    /// The skill.
    pub(super) name: &'a Identifier,
    /// The digests of the installed files.
    pub(super) content: Option<&'a Digests>,
    /// Whether csk has no receipt for the installed files.
    pub(super) lacks_receipt: bool,
    /// Whether the installed files stay.
    pub(super) stays: bool,
}

enum EntryState {
    Correct,
    Incorrect,
    Missing,
}

impl AgentEntries<'_> {
    /// Returns the changes: wanted entries must exist and be correct, all others are removed. Fails if a file of the
    /// user's blocks it.
    pub(super) fn changes(
        &self,
        target: &Target,
        observed: &Observed,
    ) -> Result<Vec<AdapterChange>, SkillError> {
        let wanted = target.adapters();
        let mut changes = Vec::new();
        for (folder, adapter) in &observed.adapters {
            let is_ours = self.is_ours(target, folder, adapter);
            if !wanted.contains(folder) {
                changes.extend(is_ours.then(|| AdapterChange::remove(folder)));
                continue;
            }
            match self.state(target, folder, adapter) {
                // A skill that csk takes over is taken over with its entries.
                EntryState::Correct if is_ours && self.lacks_receipt => {
                    changes.push(AdapterChange::create(folder));
                }
                // An identical link that the user created stays the user's.
                EntryState::Correct => {}
                EntryState::Missing => changes.push(AdapterChange::create(folder)),
                EntryState::Incorrect if is_ours => changes.push(AdapterChange::create(folder)),
                EntryState::Incorrect => {
                    let path = target.folder(folder).join(self.name.as_str()).to_string();
                    return Err(SkillError::Foreign { path });
                }
            }
        }
        Ok(changes)
    }

    /// Returns true if an agent's entry belongs to csk: it is in a ledger, or is a copy of the installed skill. A link
    /// counts only if another csk installed the skill; otherwise the user may have created it.
    pub(super) fn is_ours(&self, target: &Target, folder: &str, adapter: &ObservedAdapter) -> bool {
        if adapter.ledger.entries.contains(self.name) {
            return true;
        }
        match adapter.entries.get(self.name) {
            Some(AdapterState::Link(_)) => {
                self.lacks_receipt && self.links_to(target, folder, adapter)
            }
            Some(AdapterState::Folder(digest)) => self.content == Some(digest),
            Some(AdapterState::Missing | AdapterState::Other) | None => false,
        }
    }

    /// Returns true if an agent's entry is a link to the installed skill.
    pub(super) fn links_to(
        &self,
        target: &Target,
        folder: &str,
        adapter: &ObservedAdapter,
    ) -> bool {
        let Some(AdapterState::Link(to)) = adapter.entries.get(self.name) else { return false };
        let place = target.skills_folder().join(self.name.as_str());
        *to == target.link_text(folder, self.name) || *to == place.as_str()
    }

    fn state(&self, target: &Target, folder: &str, adapter: &ObservedAdapter) -> EntryState {
        let links = target.adapter_mode.links();
        match adapter.entries.get(self.name) {
            None | Some(AdapterState::Missing) => EntryState::Missing,
            Some(AdapterState::Link(to)) if links && *to == target.link_text(folder, self.name) => {
                EntryState::Correct
            }
            // A copy is correct if it matches the files that stay; in auto mode it is as good as a link.
            Some(AdapterState::Folder(digest))
                if (!links || target.adapter_mode == AdapterMode::Auto)
                    && self.stays
                    && self.content == Some(digest) =>
            {
                EntryState::Correct
            }
            Some(AdapterState::Link(_) | AdapterState::Folder(_) | AdapterState::Other) => {
                EntryState::Incorrect
            }
        }
    }
}
