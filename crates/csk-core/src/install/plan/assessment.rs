//! Assesses declared skills: what is wanted, what is installed, and what is needed. This takes no content.

use std::slice::Iter;

use skill::{Digest, Marker, RefKind};
use skill_fs::Digests;

use super::Label;
use super::adapters::{AdapterChange, AgentEntries};
use crate::content::context::CONTEXT_RULES;
use crate::install::locking::{CommitChoice, choose, wrong_bundle};
use crate::install::{
    CommandFilesState, ContextState, Observed, Resolution, ResolveRules, SkillError, TagPolicy,
    Target,
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
    pub rules: ResolveRules,
}

/// The assessment of a declared skill.
#[derive(Debug)]
pub(in crate::install) struct Assessment<'a> {
    /// The skill.
    pub(in crate::install) skill: &'a Declaration,
    /// The wanted commit, if it could be determined.
    pub(in crate::install) commit: Option<Commit>,
    /// Whether that commit comes from the lockfile.
    pub(in crate::install) is_locked: bool,
    /// The installed version.
    pub(in crate::install) found: Option<InstalledSkill<'a>>,
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
pub(in crate::install) struct InstalledSkill<'a> {
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
    pub(in crate::install) fn assessments(self) -> impl Iterator<Item = Assessment<'a>> {
        let skills: Iter<'a, Declaration> = self.target.skills.iter();
        skills.map(move |skill| self.assessment(skill))
    }

    fn assessment(self, skill: &'a Declaration) -> Assessment<'a> {
        let CommitChoice { commit, warning, is_locked } =
            choose(self.target, skill, self.resolution, self.rules);
        let mut assessment = Assessment {
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
            assessment.commit = Some(commit.clone());
            self.wanted(&mut assessment, &commit)
        });
        match done {
            Ok(()) => {}
            Err(error) => assessment.refuse(error),
        }
        assessment
    }

    /// Assesses a skill whose commit is known.
    fn wanted(self, assessment: &mut Assessment<'a>, commit: &Commit) -> Result<(), SkillError> {
        let name = &assessment.skill.name;
        match self.observed.contexts.get(name).unwrap_or(&ContextState::Missing) {
            ContextState::Missing => {
                assessment.need = Need::Install;
                assessment.label = Label::Missing;
            }
            ContextState::Foreign => {
                let path = self.target.skills_folder().join(name.as_str()).to_string();
                return Err(SkillError::Foreign { path });
            }
            ContextState::Newer(reason) => return Err(SkillError::Marker(reason.clone())),
            ContextState::Broken(reason) => {
                assessment.is_edited = true;
                assessment.need = Need::Install;
                assessment.label = Label::ContentDrift(Some(reason.clone()));
            }
            ContextState::Installed { marker, content, warning, runtime, is_receipted, .. } => {
                let found = InstalledSkill { marker, content, is_receipted: *is_receipted };
                assessment.found = Some(found);
                assessment.is_edited = is_edited(marker, content);
                // Both are computed before either is returned: label and warnings count even if the skill is refused.
                let wrong = self.check_lock(assessment, commit, marker);
                let moved = self.installed(assessment, commit, marker);
                if !is_receipted {
                    // Another csk installed it, or it came with a checkout: reinstall it, and back up what differs from
                    // its marker.
                    let what = "not installed here by csk, or its receipt was lost";
                    assessment.label = Label::ContentDrift(Some(what.to_owned()));
                    assessment.need = Need::Install;
                }
                if matches!(assessment.need, Need::Nothing) {
                    // A new version comes with its own warnings.
                    assessment.warnings.extend(warning.clone());
                    assessment.repair(runtime.as_ref(), marker.runtime_sha256);
                }
                moved.and(wrong)?;
            }
        }
        self.adapters(assessment)
    }

    /// Checks that a skill installed at the pinned commit has the pinned digest.
    fn check_lock(
        self,
        assessment: &Assessment<'_>,
        commit: &Commit,
        marker: &Marker,
    ) -> Result<(), SkillError> {
        let is_it = assessment.is_locked && commit.as_str() == marker.commit;
        let found = marker.bundle_sha256.filter(|_| is_it);
        match found.and_then(|found| wrong_bundle(self.target, assessment.skill, found)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Compares the installed version with the wanted one.
    fn installed(
        self,
        assessment: &mut Assessment<'_>,
        commit: &Commit,
        marker: &Marker,
    ) -> Result<(), SkillError> {
        let skill = assessment.skill;
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
        if !same_commit || !same_reference || (is_stale && !assessment.is_edited) {
            assessment.label = Label::UpdateAvailable;
            assessment.need = Need::Install;
        } else if assessment.is_edited {
            assessment.label = Label::ContentDrift(None);
            assessment.need = Need::Install;
        }
        // The user has agreed to a pinned commit.
        let is_free = !assessment.is_locked;
        if is_free && same_reference && !same_commit && skill.reference.kind == RefKind::Tag {
            let (name, tag) = (skill.name.to_string(), skill.reference.name.clone());
            let (old, new) = (short(&marker.commit).to_owned(), commit.short().to_owned());
            let moved = SkillError::MovedTag { skill: name, tag, old, new };
            match self.rules.tags {
                TagPolicy::Warn => assessment.warnings.push(moved.to_string()),
                TagPolicy::Strict => return Err(moved),
            }
        }
        Ok(())
    }

    /// Assesses the agent entries: wanted ones must exist and be correct, all others are removed.
    fn adapters(self, assessment: &mut Assessment<'_>) -> Result<(), SkillError> {
        let entries = AgentEntries {
            name: &assessment.skill.name,
            content: assessment.found.map(|found| found.content),
            lacks_receipt: assessment.found.is_some_and(|found| !found.is_receipted),
            stays: !matches!(assessment.need, Need::Install),
        };
        let changes = entries.changes(self.target, self.observed).inspect_err(|_| {
            assessment.label = Label::Error;
        })?;
        if let Some(change) = changes.first().filter(|_| assessment.label == Label::UpToDate) {
            let what =
                if change.present { "is missing or incorrect" } else { "is no longer needed" };
            let what = format!("{}/{} {what}", change.folder, assessment.skill.name);
            assessment.label = Label::ContentDrift(Some(what));
        }
        assessment.adapters = changes;
        Ok(())
    }
}

impl Assessment<'_> {
    /// Assesses the command files of an installed skill.
    fn repair(&mut self, files: Option<&CommandFilesState>, recorded: Option<Digest>) {
        let reason = match files {
            None => return,
            Some(CommandFilesState::Intact(list))
                if recorded.is_none_or(|recorded| recorded == *list) =>
            {
                return;
            }
            Some(CommandFilesState::Intact(_)) => {
                "its command files differ: their file list was changed".to_owned()
            }
            Some(CommandFilesState::Missing) => "its command files are missing".to_owned(),
            Some(CommandFilesState::Tampered(what)) => format!("its command files differ: {what}"),
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
