//! The content of everything that any project is going to write, each read and checked once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use rayon::prelude::*;
use skill::{Identifier, RelPath};
use skill_fs::AbsPath;

use super::gate::gate_content;
use super::hook::{global_commands, user_path_entries};
use super::plan::{Assessment, Facts, Need, SkillContent};
use super::{BIN, Cache, CacheMode, Environment, Prepared, SkillError, Sources, prepare};
use crate::operations::audit::Auditor;
use crate::{Commit, Declaration};

/// Identifies content that is the same in every project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ContentKey {
    name: Identifier,
    source: Identifier,
    commit: Commit,
    locale: Option<String>,
    path: Option<RelPath>,
}

impl ContentKey {
    fn new(facts: &Facts<'_>, skill: &Declaration, commit: &Commit) -> Self {
        Self {
            name: skill.name.clone(),
            source: skill.source.clone(),
            commit: commit.clone(),
            locale: facts.target.locale.clone(),
            path: skill.path.clone(),
        }
    }
}

/// The content for several projects.
#[derive(Debug, Default)]
pub(super) struct PreparedContents(BTreeMap<ContentKey, Result<Arc<Prepared>, SkillError>>);

/// Prepares what the projects need. Without an auditor, nothing is audited.
pub(super) fn prepare_contents(
    environment: &Environment,
    projects: &[Facts<'_>],
    keep: CacheMode,
    auditor: Option<&Auditor>,
) -> PreparedContents {
    let mut wanted: BTreeMap<ContentKey, &Declaration> = BTreeMap::new();
    let mut is_adopting = false;
    for facts in projects {
        for assessment in facts.assessments().filter(needs_content) {
            is_adopting |= claimed_commit(&assessment).is_some();
            for commit in assessment.commit.iter().chain(&claimed_commit(&assessment)) {
                wanted.insert(ContentKey::new(facts, assessment.skill, commit), assessment.skill);
            }
        }
    }
    if wanted.is_empty() {
        return PreparedContents::default();
    }
    let cache = Cache::new(&environment.home, keep);
    let bins = projects.iter().map(|facts| facts.target.folder(BIN));
    let except: Vec<AbsPath> = bins.chain([global_commands(&environment.home)]).collect();
    let path = environment.path.as_deref().unwrap_or_default();
    let path = std::env::join_paths(user_path_entries(&environment.home, path))
        .unwrap_or_else(|_| OsString::new());
    let sources = Sources {
        skills_root: &environment.skills_root,
        cache: &cache,
        path: Some(&path),
        except: &except,
        auditor,
        is_adopting,
    };
    let prepare_one = |(key, skill): (ContentKey, &Declaration)| {
        let prepared = prepare(&sources, skill, &key.commit, key.locale.as_deref());
        (key, prepared.map(Arc::new))
    };
    PreparedContents(wanted.into_par_iter().map(prepare_one).collect())
}

impl PreparedContents {
    /// Returns the content for one project: each passed the gate, or has the reason why it did not.
    pub(super) fn of(
        &self,
        environment: &Environment,
        auditor: Option<&Auditor>,
        facts: &Facts<'_>,
    ) -> BTreeMap<Identifier, Result<SkillContent, SkillError>> {
        // Fast path: most installs change nothing.
        if self.0.is_empty() {
            return BTreeMap::new();
        }
        let content = |assessment: &Assessment<'_>| {
            let new = self.get(facts, assessment, assessment.commit.as_ref()?)?.as_ref();
            let new = new
                .map_err(Clone::clone)
                .and_then(|new| gate_content(environment, auditor, facts, assessment, new));
            let previous = claimed_commit(assessment).and_then(|commit| {
                self.get(facts, assessment, &commit)?.as_ref().ok().map(Arc::clone)
            });
            Some((assessment.skill.name.clone(), new.map(|new| SkillContent { new, previous })))
        };
        let assessments = facts.assessments().filter(needs_content);
        assessments.filter_map(|assessment| content(&assessment)).collect()
    }

    fn get(
        &self,
        facts: &Facts<'_>,
        assessment: &Assessment<'_>,
        commit: &Commit,
    ) -> Option<&Result<Arc<Prepared>, SkillError>> {
        self.0.get(&ContentKey::new(facts, assessment.skill, commit))
    }
}

fn needs_content(assessment: &Assessment<'_>) -> bool {
    match assessment.need {
        Need::Install | Need::Repair => true,
        Need::Nothing | Need::Refused(_) => false,
    }
}

/// Returns the commit that a marker without a receipt claims: the installed files are compared with that commit.
fn claimed_commit(assessment: &Assessment<'_>) -> Option<Commit> {
    let found = assessment.found.filter(|found| !found.is_receipted)?;
    Commit::new(&found.marker.commit)
}
