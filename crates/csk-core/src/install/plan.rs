//! Decides what an install changes, without touching the disk.
//!
//! The input is everything that was resolved, observed, prepared and passed by the gate. The output is a [`Plan`] with
//! one [`SkillPlan`] for each skill. A plan owns everything that is going to be written.

mod adapters;
mod assessment;
mod commands;
mod removal;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use skill::Identifier;
use skill_fs::Digests;

pub use self::adapters::AdapterChange;
pub use self::assessment::Facts;
pub(crate) use self::assessment::is_edited;
pub(super) use self::assessment::{Assessment, Need};
pub use self::commands::{Collision, CommandChange};

use super::gate::Gated;
use super::hook::can_be_on_path;
use super::observe::EnvFile;
use super::store::StoreLayout;
use super::{Prepared, SkillError};
use crate::Commit;

/// Everything that a plan is based on.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    /// The desired and the current state.
    pub facts: Facts<'a>,
    /// The content to write.
    pub contents: SkillContents<'a>,
    /// Why installed skills are revoked, for those that are.
    pub revoked: &'a BTreeMap<Identifier, String>,
    /// The layout of the command store.
    pub store: &'a StoreLayout,
}

/// The content of the skills that need any.
#[derive(Debug, Clone, Copy)]
pub enum SkillContents<'a> {
    /// The prepared content of each skill, or why preparing it failed.
    New(&'a BTreeMap<Identifier, Result<SkillContent, SkillError>>),
    /// Nothing is written: the plan shows what is wrong with the installed skills.
    AsInstalled,
}

/// The content of one skill.
#[derive(Debug, Clone)]
pub struct SkillContent {
    /// The content to write.
    pub new: Gated<Arc<Prepared>>,
    /// The content of the commit that another csk claims to have installed.
    pub previous: Option<Arc<Prepared>>,
}

/// Everything to be done in one project.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Skills that are no longer declared.
    pub removals: Vec<SkillPlan>,
    /// Declared skills, in the order of the Skillfile.
    pub skills: Vec<SkillPlan>,
    /// Commands to remove that belong to no skill.
    pub unowned: Vec<CommandChange>,
    /// Every command after the install, with its skill and its link target.
    pub commands: BTreeMap<Identifier, (Identifier, String)>,
    /// Commands that more than one skill provides. If there are any, nothing is installed.
    pub collisions: Vec<Collision>,
    /// Env files to write.
    pub env: Vec<EnvFile>,
    /// Ignore rules to add before anything else is written.
    pub ignore: IgnoreRules,
    /// Warnings about the project.
    pub warnings: Vec<String>,
    /// Notes about the project.
    pub notes: Vec<String>,
}

/// Ignore rules to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreRules {
    /// The file that they are added to.
    pub file: IgnoreFile,
    /// The rules.
    pub entries: Vec<String>,
}

/// A file with ignore rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IgnoreFile {
    /// `.gitignore`, which every clone has.
    #[default]
    Shared,
    /// `.git/info/exclude`, which only this clone has.
    Private,
}

impl IgnoreFile {
    /// Returns its path.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => ".gitignore",
            Self::Private => ".git/info/exclude",
        }
    }
}

/// Everything to be done for one skill. Its text, agent entries and commands change together or not at all.
#[derive(Debug, Clone)]
pub struct SkillPlan {
    /// The skill.
    pub name: Identifier,
    /// The current state, for `status`.
    pub label: Label,
    /// The wanted commit; `None` for a removal.
    pub commit: Option<Commit>,
    /// The installed version.
    pub installed: Option<Installed>,
    /// What to do.
    pub action: Action,
    /// Its commands to add, change or remove.
    pub commands: Vec<CommandChange>,
    /// Skills that must change first, because this one takes over their commands.
    pub after: BTreeSet<Identifier>,
    /// Warnings that do not stop the install.
    pub warnings: Vec<String>,
}

/// An installed version, as shown in plans and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The commit.
    pub commit: String,
    /// The installed files.
    pub files: Vec<String>,
}

/// What to do for a skill.
#[derive(Debug, Clone)]
pub enum Action {
    /// Nothing: its text and agent entries are as declared.
    Current,
    /// Write its text.
    Install(Install),
    /// CacheMode its text and restore what belongs to it.
    Repair(Repair),
    /// Remove it, since it is no longer declared.
    Remove(Remove),
    /// Nothing, for this reason.
    Refused(SkillError),
}

/// The details of [`Action::Install`].
#[derive(Debug, Clone)]
pub struct Install {
    /// The files to write.
    pub content: Arc<Prepared>,
    /// Whether the installed files were edited and are backed up.
    pub keeps_edits: bool,
    /// The agent entries to change.
    pub adapters: Vec<AdapterChange>,
}

/// The details of [`Action::Repair`].
#[derive(Debug, Clone)]
pub struct Repair {
    /// The command files, if those in the store are missing or modified.
    pub content: Option<Arc<Prepared>>,
    /// The agent entries to change.
    pub adapters: Vec<AdapterChange>,
}

/// The details of [`Action::Remove`].
#[derive(Debug, Clone)]
pub struct Remove {
    /// Whether the skill's folder belongs to csk and is removed.
    pub text: bool,
    /// Whether the installed files were edited and are backed up.
    pub keeps_edits: bool,
    /// The agent entries to remove.
    pub adapters: Vec<AdapterChange>,
}

/// The state of a skill, as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// Everything is as declared.
    UpToDate,
    /// Not installed.
    Missing,
    /// Another commit is wanted.
    UpdateAvailable,
    /// Differs from what was installed; the text says what, unless it is the content.
    ContentDrift(Option<String>),
    /// No longer declared; the next install removes it.
    Removed,
    /// The state is unknown.
    Error,
}

impl Label {
    /// Returns the stable label.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::UpToDate => "up-to-date",
            Self::Missing => "missing",
            Self::UpdateAvailable => "update-available",
            Self::ContentDrift(_) => "content-drift",
            Self::Removed => "removed",
            Self::Error => "error",
        }
    }
}

impl Plan {
    /// Returns true if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removals.is_empty()
            && self.skills.iter().all(SkillPlan::is_empty)
            && self.unowned.is_empty()
            && self.env.is_empty()
    }

    /// Returns true if everything is as declared.
    pub fn is_current(&self) -> bool {
        self.is_empty() && self.skills.iter().all(|skill| skill.label == Label::UpToDate)
    }

    /// Returns every change of a command.
    pub fn command_changes(&self) -> impl Iterator<Item = &CommandChange> {
        let owned = self.skills.iter().chain(&self.removals).flat_map(|skill| &skill.commands);
        owned.chain(&self.unowned)
    }
}

impl SkillPlan {
    /// Returns true if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && matches!(self.action, Action::Current | Action::Refused(_))
    }

    /// Returns why nothing can be done for this skill.
    pub fn error(&self) -> Option<&SkillError> {
        match &self.action {
            Action::Refused(error) => Some(error),
            Action::Current | Action::Install(_) | Action::Repair(_) | Action::Remove(_) => None,
        }
    }

    /// Returns the content to write: text and command files, or command files only.
    pub fn content(&self) -> Option<&Arc<Prepared>> {
        match &self.action {
            Action::Install(install) => Some(&install.content),
            Action::Repair(repair) => repair.content.as_ref(),
            Action::Current | Action::Remove(_) | Action::Refused(_) => None,
        }
    }

    /// Returns the agent entries to change.
    pub fn adapters(&self) -> &[AdapterChange] {
        match &self.action {
            Action::Install(install) => &install.adapters,
            Action::Repair(repair) => &repair.adapters,
            Action::Remove(remove) => &remove.adapters,
            Action::Current | Action::Refused(_) => &[],
        }
    }

    /// Returns true if the skill's folder is removed.
    pub fn removes_text(&self) -> bool {
        matches!(&self.action, Action::Remove(remove) if remove.text)
    }

    /// Cancels the plan for this skill, with the reason.
    fn refuse(&mut self, error: SkillError) {
        // A more specific label stays: a refused update is still available.
        if self.label == Label::UpToDate {
            self.label = Label::Error;
        }
        self.action = Action::Refused(error);
    }
}

/// Returns the changes that turn the current state into the desired one.
pub fn plan(input: &PlanInput<'_>) -> Plan {
    let (target, observed) = (input.facts.target, input.facts.observed);
    let assessments = input.facts.assessments();
    let mut skills: Vec<SkillPlan> = assessments.map(|one| skill_plan(input, one)).collect();
    let mut removals = removal::removals(&input.facts);
    let (foreign, mut env): (Vec<&EnvFile>, Vec<&EnvFile>) =
        observed.env.iter().partition(|file| file.is_foreign);
    // If an audit refuses everything there is to do, nothing is written at all.
    let is_refused = |skill: &SkillPlan| matches!(skill.error(), Some(SkillError::Audit { .. }));
    if skills.iter().any(is_refused) && skills.iter().all(SkillPlan::is_empty) {
        env.clear();
    }
    let foreign = foreign
        .iter()
        .map(|file| format!("{} was not created by csk; leaving it unchanged", file.path));
    let unusable = (!can_be_on_path(&target.root)).then(|| {
        "skill commands cannot be on PATH here: the project's path contains `:`, `;` or a line break"
            .to_owned()
    });
    let warnings = foreign.chain(unusable).collect();
    let commands = commands::plan_commands(input, &mut skills, &mut removals);
    Plan {
        removals,
        skills,
        unowned: commands.unowned,
        commands: commands.all,
        collisions: commands.collisions,
        env: env.into_iter().cloned().collect(),
        ignore: IgnoreRules::default(),
        warnings,
        notes: commands.notes,
    }
}

/// Turns the assessment of a skill and its content into a plan.
fn skill_plan(input: &PlanInput<'_>, assessment: Assessment<'_>) -> SkillPlan {
    let installed = assessment.found.map(|found| Installed {
        commit: found.marker.commit.clone(),
        files: found.marker.files.clone(),
    });
    let mut plan = SkillPlan {
        name: assessment.skill.name.clone(),
        label: assessment.label.clone(),
        commit: assessment.commit.clone(),
        installed,
        action: Action::Current,
        commands: Vec::new(),
        after: BTreeSet::new(),
        warnings: assessment.warnings.clone(),
    };
    decide(input, assessment, &mut plan);
    let is_written = matches!(plan.action, Action::Install(_));
    if let Some(reason) = input.revoked.get(&plan.name).filter(|_| !is_written) {
        let what = "remove it from Skillfile.json, or choose another version";
        plan.warnings.push(format!("`{}` is revoked: {reason}; {what}", plan.name));
    }
    plan
}

fn decide(input: &PlanInput<'_>, assessment: Assessment<'_>, plan: &mut SkillPlan) {
    let is_repair = matches!(assessment.need, Need::Repair);
    let contents = match (assessment.need, input.contents) {
        (Need::Refused(error), _) => return plan.action = Action::Refused(error),
        (Need::Nothing, _) | (Need::Install | Need::Repair, SkillContents::AsInstalled) => {
            if !assessment.adapters.is_empty() {
                let adapters = assessment.adapters;
                plan.action = Action::Repair(Repair { content: None, adapters });
            }
            return;
        }
        (Need::Install | Need::Repair, SkillContents::New(contents)) => contents,
    };
    let content = match contents.get(&plan.name) {
        Some(Ok(content)) => content,
        Some(Err(error)) => return plan.refuse(error.clone()),
        None => {
            let message = format!("the files of `{}` were not prepared", plan.name);
            return plan.refuse(SkillError::Write(message));
        }
    };
    let (new, adapters) = (Arc::clone(content.new.get()), assessment.adapters);
    if is_repair {
        plan.action = Action::Repair(Repair { content: Some(new), adapters });
        return;
    }
    plan.warnings.extend(new.warnings.iter().chain(content.new.warnings()).cloned());
    let mut keeps_edits = assessment.is_edited;
    // A marker without a receipt is trusted only as far as the files match its commit; any difference is the user's.
    if let Some(found) = assessment.found.filter(|found| !found.is_receipted) {
        let mut built = [&new].into_iter().chain(&content.previous);
        keeps_edits = !built.any(|built| is_built(found.content, built));
        if !keeps_edits {
            plan.label = Label::UpdateAvailable;
        }
    }
    plan.action = Action::Install(Install { content: new, keeps_edits, adapters });
}

/// Returns true if the installed files match a commit's content under the current rules or version 1.
fn is_built(found: &Digests, built: &Prepared) -> bool {
    *found == Digests { content: built.content, bundle: built.context }
        || built.first_content == Some(found.content)
}
