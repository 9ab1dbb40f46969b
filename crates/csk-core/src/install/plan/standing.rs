//! Assesses declared skills: what is wanted, what is installed, and what is needed. This takes no content.

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

/// The desired and the current state of a project.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The project, with its declarations.
    pub target: &'a Target,
    /// The resolved commits.
    pub resolution: &'a Resolution,
    /// The current state.
    pub observed: &'a Observed,
    /// How references and lockfiles are turned into commits.
    pub rules: Rules,
}

/// The assessment of a declared skill.
#[derive(Debug)]
pub(in crate::install) struct Standing<'a> {
    /// The skill.
    pub(in crate::install) skill: &'a Declaration,
    /// The wanted commit, if it could be determined.
    pub(in crate::install) commit: Option<Commit>,
    /// Whether that commit comes from the lockfile.
    pub(in crate::install) is_locked: bool,
    /// The installed version.
    pub(in crate::install) found: Option<Found<'a>>,
    /// What to write.
    pub(in crate::install) need: Need,
    /// The state, for `status`.
    pub(super) label: Label,
    /// Whether the installed files were edited.
    pub(super) is_edited: bool,
    /// The agent entries to change.
    pub(super) adapters: Vec<AdapterChange>,
    pub(super) warnings: Vec<String>,
}

/// An installed skill.
#[derive(Debug, Clone, Copy)]
pub(in crate::install) struct Found<'a> {
    pub(in crate::install) marker: &'a Marker,
    /// The digests of the current files.
    pub(super) content: &'a Digests,
    /// Whether csk has a receipt for it.
    pub(in crate::install) is_receipted: bool,
}

/// What to write for a skill.
#[derive(Debug)]
pub(in crate::install) enum Need {
    /// Nothing, or only agent entries.
    Nothing,
    /// Everything.
    Install,
    /// Its command files.
    Repair,
    /// Nothing, for this reason.
    Refused(SkillError),
}

impl<'a> Facts<'a> {
    /// Returns the assessment of each declared skill.
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

    /// Assesses a skill whose commit is known.
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
                // Both are computed before either is returned: label and warnings count even if the skill is refused.
                let wrong = self.check_lock(standing, commit, marker);
                let moved = self.installed(standing, commit, marker);
                if !is_receipted {
                    // Another csk installed it, or it came with a checkout: reinstall it, and back up what differs from
                    // its marker.
                    let what = "not installed by csk here, or its receipt was lost";
                    standing.label = Label::ContentDrift(Some(what.to_owned()));
                    standing.need = Need::Install;
                }
                if matches!(standing.need, Need::Nothing) {
                    // A new version comes with its own warnings.
                    standing.warnings.extend(warning.clone());
                    standing.repair(runtime.as_ref(), marker.runtime_sha256);
                }
                moved.and(wrong)?;
            }
        }
        self.adapters(standing)
    }

    /// Checks that a skill installed at the pinned commit has the pinned digest.
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

    /// Compares the installed version with the wanted one.
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
        // Another implementation does not record where command files are.
        let is_partial = !marker.commands.is_empty() && marker.skill_schema_version.is_none();
        // Other rules may have skipped files that the skill needs.
        let is_older = marker.context_rules != Some(CONTEXT_RULES);
        let is_stale = !same_shape || is_partial || is_older;
        if !same_commit || !same_reference || (is_stale && !standing.is_edited) {
            standing.label = Label::UpdateAvailable;
            standing.need = Need::Install;
        } else if standing.is_edited {
            standing.label = Label::ContentDrift(None);
            standing.need = Need::Install;
        }
        // The user has agreed to a pinned commit.
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

    /// Assesses the agent entries: wanted ones must exist and be correct, all others are removed.
    fn adapters(self, standing: &mut Standing<'_>) -> Result<(), SkillError> {
        let entries = Entries {
            name: &standing.skill.name,
            content: standing.found.map(|found| found.content),
            is_unknown: standing.found.is_some_and(|found| !found.is_receipted),
            stays: !matches!(standing.need, Need::Install),
        };
        let changes = entries.changes(self.target, self.observed).inspect_err(|_| {
            standing.label = Label::Error;
        })?;
        if let Some(change) = changes.first().filter(|_| standing.label == Label::UpToDate) {
            let what =
                if change.present { "is missing or incorrect" } else { "is no longer needed" };
            let what = format!("{}/{} {what}", change.folder, standing.skill.name);
            standing.label = Label::ContentDrift(Some(what));
        }
        standing.adapters = changes;
        Ok(())
    }
}

impl Standing<'_> {
    /// Assesses the command files of an installed skill.
    fn repair(&mut self, files: Option<&RuntimeState>, recorded: Option<Digest>) {
        let reason = match files {
            None => return,
            Some(RuntimeState::Intact(list))
                if recorded.is_none_or(|recorded| recorded == *list) =>
            {
                return;
            }
            Some(RuntimeState::Intact(_)) => {
                "its command files differ: their file list was changed".to_owned()
            }
            Some(RuntimeState::Missing) => "its command files are missing".to_owned(),
            Some(RuntimeState::Tampered(what)) => format!("its command files differ: {what}"),
        };
        self.label = Label::ContentDrift(Some(reason));
        self.need = Need::Repair;
    }

    fn refuse(&mut self, error: SkillError) {
        if matches!(error, SkillError::NotCloned { .. }) {
            self.label = Label::Missing;
        } else if self.label == Label::UpToDate {
            // A more specific label stays: a refused update is still available.
            self.label = Label::Error;
        }
        self.need = Need::Refused(error);
    }
}

/// Returns true if a folder differs from what was installed. The content digest alone would miss a changed mode, or a
/// file that absorbed another.
pub(crate) fn is_edited(marker: &Marker, found: &Digests) -> bool {
    marker.content_sha256 != found.content
        || marker.context_sha256.is_some_and(|context| context != found.bundle)
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
