//! How declared skills stand: what is wanted of each, what is there, and what follows. No content is needed for that.

use std::slice::Iter;

use skill::{Digest, Marker, RefKind};
use skill_fs::Digests;

use super::Label;
use super::adapters::{AdapterChange, Entries};
use crate::content::context::CONTEXT_RULES;
use crate::install::locking::{Choice, choose, wrong_bundle};
use crate::install::{
    ContextState, Observed, Resolution, Rules, RuntimeState, SkillError, Tags, Target,
};
use crate::{Commit, Declaration};

/// What is wanted of a project, and what is there.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The project, with what it declares.
    pub target: &'a Target,
    /// The commits that are declared.
    pub resolution: &'a Resolution,
    /// What is there.
    pub observed: &'a Observed,
    /// How references and locks become commits.
    pub rules: Rules,
}

/// How a declared skill stands.
#[derive(Debug)]
pub(in crate::install) struct Standing<'a> {
    /// The skill.
    pub(in crate::install) skill: &'a Declaration,
    /// The commit that is wanted, where there is one.
    pub(in crate::install) commit: Option<Commit>,
    /// Whether that commit is the one of the lock.
    pub(in crate::install) is_locked: bool,
    /// What is installed.
    pub(in crate::install) found: Option<Found<'a>>,
    /// What is to be written.
    pub(in crate::install) need: Need,
    /// The state, for `status`.
    pub(super) label: Label,
    /// Whether what is there was changed by hand.
    pub(super) is_edited: bool,
    /// The entries of agents that change.
    pub(super) adapters: Vec<AdapterChange>,
    pub(super) warnings: Vec<String>,
}

/// An installed skill.
#[derive(Debug, Clone, Copy)]
pub(in crate::install) struct Found<'a> {
    pub(in crate::install) marker: &'a Marker,
    /// The digests of what is there now.
    pub(super) content: &'a Digests,
    /// Whether csk has a receipt for it.
    pub(in crate::install) is_receipted: bool,
}

/// What of a skill is to be written.
#[derive(Debug)]
pub(in crate::install) enum Need {
    /// Nothing, or entries of agents alone.
    Nothing,
    /// Everything.
    Install,
    /// The files of its commands.
    Repair,
    /// Nothing can be, and this is why.
    Refused(SkillError),
}

impl<'a> Facts<'a> {
    /// Returns how each declared skill stands.
    pub(in crate::install) fn standings(self) -> impl Iterator<Item = Standing<'a>> {
        let skills: Iter<'a, Declaration> = self.target.skills.iter();
        skills.map(move |skill| self.standing(skill))
    }

    fn standing(self, skill: &'a Declaration) -> Standing<'a> {
        let Choice { commit, warning, is_locked } =
            choose(self.target, skill, self.resolution, self.rules);
        let mut standing = Standing {
            skill,
            commit: None,
            is_locked,
            found: None,
            need: Need::Nothing,
            label: Label::UpToDate,
            is_edited: false,
            adapters: Vec::new(),
            warnings: warning.into_iter().collect(),
        };
        let done = commit.and_then(|commit| {
            standing.commit = Some(commit.clone());
            self.wanted(&mut standing, &commit)
        });
        match done {
            Ok(()) => {}
            Err(error) => standing.refuse(error),
        }
        standing
    }

    /// Decides about a skill whose commit is known.
    fn wanted(self, standing: &mut Standing<'a>, commit: &Commit) -> Result<(), SkillError> {
        let name = &standing.skill.name;
        match self.observed.contexts.get(name).unwrap_or(&ContextState::Missing) {
            ContextState::Missing => {
                standing.need = Need::Install;
                standing.label = Label::Missing;
            }
            ContextState::Foreign => {
                let path = self.target.skills_folder().join(name.as_str()).to_string();
                return Err(SkillError::Foreign { path });
            }
            ContextState::Newer(reason) => return Err(SkillError::Marker(reason.clone())),
            ContextState::Broken(reason) => {
                standing.is_edited = true;
                standing.need = Need::Install;
                standing.label = Label::ContentDrift(Some(reason.clone()));
            }
            ContextState::Installed { marker, content, warning, runtime, is_receipted, .. } => {
                let found = Found { marker, content, is_receipted: *is_receipted };
                standing.found = Some(found);
                standing.is_edited = is_edited(marker, content);
                // Both are computed before either is returned: the label and the warnings count even if the skill is refused.
                let wrong = self.check_lock(standing, commit, marker);
                let moved = self.installed(standing, commit, marker);
                if !is_receipted {
                    // Another csk installed it, or a checkout brought it: it is built again, and what is not as its marker says is kept.
                    let what = "csk did not install it here, or has lost its receipt";
                    standing.label = Label::ContentDrift(Some(what.to_owned()));
                    standing.need = Need::Install;
                }
                if matches!(standing.need, Need::Nothing) {
                    // A new version brings its own warnings.
                    standing.warnings.extend(warning.clone());
                    standing.repair(runtime.as_ref(), marker.runtime_sha256);
                }
                moved.and(wrong)?;
            }
        }
        self.adapters(standing)
    }

    /// What is installed at the locked commit must have the digest that is locked.
    fn check_lock(
        self,
        standing: &Standing<'_>,
        commit: &Commit,
        marker: &Marker,
    ) -> Result<(), SkillError> {
        let is_it = standing.is_locked && commit.as_str() == marker.commit;
        let found = marker.bundle_sha256.filter(|_| is_it);
        match found.and_then(|found| wrong_bundle(self.target, standing.skill, found)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Compares an installed version with what is wanted.
    fn installed(
        self,
        standing: &mut Standing<'_>,
        commit: &Commit,
        marker: &Marker,
    ) -> Result<(), SkillError> {
        let skill = standing.skill;
        let same_reference = marker.ref_kind == skill.reference.kind
            && marker.reference == skill.reference.name
            && marker.source == skill.source
            && marker.git == skill.git
            && marker.part.as_ref().map(|part| &part.path) == skill.path.as_ref();
        let same_commit = marker.commit == commit.as_str();
        let same_shape =
            marker.locale == self.target.locale && marker.agents == self.target.agent_ids();
        // Another implementation does not say where the files of commands are.
        let is_partial = !marker.commands.is_empty() && marker.skill_schema_version.is_none();
        // Other rules may have left out what the skill needs.
        let is_older = marker.context_rules != Some(CONTEXT_RULES);
        let is_stale = !same_shape || is_partial || is_older;
        if !same_commit || !same_reference || (is_stale && !standing.is_edited) {
            standing.label = Label::UpdateAvailable;
            standing.need = Need::Install;
        } else if standing.is_edited {
            standing.label = Label::ContentDrift(None);
            standing.need = Need::Install;
        }
        // What is locked was agreed to.
        let is_free = !standing.is_locked;
        if is_free && same_reference && !same_commit && skill.reference.kind == RefKind::Tag {
            let (name, tag) = (skill.name.to_string(), skill.reference.name.clone());
            let (old, new) = (short(&marker.commit).to_owned(), commit.short().to_owned());
            let moved = SkillError::MovedTag { skill: name, tag, old, new };
            match self.rules.tags {
                Tags::MayMove => standing.warnings.push(moved.to_string()),
                Tags::Strict => return Err(moved),
            }
        }
        Ok(())
    }

    /// Decides about the entries of agents: those wanted must be there and right, those not wanted go.
    fn adapters(self, standing: &mut Standing<'_>) -> Result<(), SkillError> {
        let entries = Entries {
            name: &standing.skill.name,
            content: standing.found.map(|found| found.content),
            is_unknown: standing.found.is_some_and(|found| !found.is_receipted),
            stays: !matches!(standing.need, Need::Install),
        };
        let changes = entries.changes(self.target, self.observed).inspect_err(|_| {
            // Nothing more can be said of it.
            standing.label = Label::Error;
        })?;
        if let Some(change) = changes.first().filter(|_| standing.label == Label::UpToDate) {
            let what =
                if change.present { "is missing or wrong" } else { "is not wanted any more" };
            let what = format!("{}/{} {what}", change.folder, standing.skill.name);
            standing.label = Label::ContentDrift(Some(what));
        }
        standing.adapters = changes;
        Ok(())
    }
}

impl Standing<'_> {
    /// Decides about the files of an installed skill's commands.
    fn repair(&mut self, files: Option<&RuntimeState>, recorded: Option<Digest>) {
        let reason = match files {
            None => return,
            Some(RuntimeState::Intact(list))
                if recorded.is_none_or(|recorded| recorded == *list) =>
            {
                return;
            }
            Some(RuntimeState::Intact(_)) => {
                "its runtime differs: its list of files was changed".to_owned()
            }
            Some(RuntimeState::Missing) => "its runtime is missing".to_owned(),
            Some(RuntimeState::Tampered(what)) => format!("its runtime differs: {what}"),
        };
        self.label = Label::ContentDrift(Some(reason));
        self.need = Need::Repair;
    }

    fn refuse(&mut self, error: SkillError) {
        if matches!(error, SkillError::NotCloned { .. }) {
            self.label = Label::Missing;
        } else if self.label == Label::UpToDate {
            // A label that says more than "error" stays: an update that is refused is still available.
            self.label = Label::Error;
        }
        self.need = Need::Refused(error);
    }
}

/// Returns true if a folder is not what was installed. The seeded digest alone would not see a mode, or a file
/// that swallowed another.
pub(crate) fn is_edited(marker: &Marker, found: &Digests) -> bool {
    marker.content_sha256 != found.content
        || marker.context_sha256.is_some_and(|context| context != found.bundle)
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
