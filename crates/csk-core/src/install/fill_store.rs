//! Writes the command files that any project needs into the store, each once, before a project uses them.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use skill::Identifier;
use skill_fs::AbsPath;

use super::plan::SkillPlan;
use super::{Plan, Prepared, SkillError, Store};

/// The results of writing command files.
#[derive(Debug, Default)]
pub(super) struct StoreResults(BTreeMap<StoreKey, Result<Option<AbsPath>, SkillError>>);

/// A skill, and the folder of its version in the store.
type StoreKey = (Identifier, String);

impl StoreResults {
    /// Returns why the command files of a skill could not be written.
    pub(super) fn failure(&self, skill: &SkillPlan) -> Option<&SkillError> {
        self.get(skill)?.as_ref().err()
    }

    /// Returns where edited command files were backed up.
    pub(super) fn kept(&self, skill: &SkillPlan) -> Option<&AbsPath> {
        self.get(skill)?.as_ref().ok()?.as_ref()
    }

    fn get(&self, skill: &SkillPlan) -> Option<&Result<Option<AbsPath>, SkillError>> {
        self.0.get(&key(skill, skill.content()?))
    }
}

/// Writes the command files of all `plans`.
pub(super) fn fill_store<'a>(store: &Store, plans: impl Iterator<Item = &'a Plan>) -> StoreResults {
    let mut wanted: BTreeMap<StoreKey, &Arc<Prepared>> = BTreeMap::new();
    for skill in plans.flat_map(|plan| &plan.skills) {
        wanted.extend(skill.content().map(|content| (key(skill, content), content)));
    }
    let put = |((skill, id), content): (StoreKey, &Arc<Prepared>)| {
        let (files, list) = content.runtime.as_ref().zip(content.list.as_ref())?;
        // Command files that do not match their commit are written again, whatever their own list says.
        store.differs(&skill, &id, list)?;
        let put = store.put(&skill, &id, files, list);
        Some(((skill, id), put))
    };
    StoreResults(wanted.into_par_iter().filter_map(put).collect())
}

fn key(skill: &SkillPlan, content: &Prepared) -> StoreKey {
    (skill.name.clone(), content.runtime_id.clone())
}
