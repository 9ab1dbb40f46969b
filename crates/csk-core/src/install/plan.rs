//! Decides what an install changes, without touching the disk.
//!
//! Input: a [`World`], which is all that was resolved, observed, prepared and let through the gate. Output: a [`Plan`],
//! one [`SkillPlan`] for each skill. A plan owns everything that is going to be written.

mod adapters;
mod commands;
mod removal;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use skill::Identifier;
use skill_fs::Digests;

pub use self::adapters::AdapterChange;
pub use self::commands::{Collision, CommandChange};
pub use self::standing::Facts;
pub(crate) use self::standing::is_edited;
pub(super) use self::standing::{Need, Standing};

use super::gate::Gated;
use super::hook::can_be_on_path;
use super::observe::EnvFile;
use super::store::StoreLayout;
use super::{Prepared, SkillError};
use crate::Commit;

/// Everything that a plan follows from.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    /// What is wanted, and what is there.
    pub facts: Facts<'a>,
    /// What is going to be written.
    pub contents: Contents<'a>,
    /// Why skills that are installed are revoked, where they are.
    pub revoked: &'a BTreeMap<Identifier, String>,
    /// Where command files are.
    pub store: &'a StoreLayout,
}

/// The content of the skills that need some.
#[derive(Debug, Clone, Copy)]
pub enum Contents<'a> {
    /// What was prepared for each, or why that failed.
    New(&'a BTreeMap<Identifier, Result<Content, SkillError>>),
    /// Nothing is written: the plan says what is wrong with what is installed.
    AsInstalled,
}

/// The content of one skill.
#[derive(Debug, Clone)]
pub struct Content {
    /// What is written.
    pub new: Gated<Arc<Prepared>>,
    /// What the commit gives that another csk says it installed.
    pub before: Option<Arc<Prepared>>,
}

/// Everything that is to be done in one project.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Skills that are not declared any more.
    pub removals: Vec<SkillPlan>,
    /// Declared skills, in the order of the Skillfile.
    pub skills: Vec<SkillPlan>,
    /// Commands that go and belong to no skill.
    pub unowned: Vec<CommandChange>,
    /// Every command that is going to be there, with its skill and where it leads.
    pub commands: BTreeMap<Identifier, (Identifier, String)>,
    /// Commands that more than one skill brings. Nothing is installed while there are some.
    pub collisions: Vec<Collision>,
    /// Files that put the commands on PATH and are written.
    pub env: Vec<EnvFile>,
    /// Entries that are added to `.gitignore`, before anything else is written.
    pub ignore: Vec<String>,
    /// Warnings about the project.
    pub warnings: Vec<String>,
    /// What is worth knowing of it.
    pub notes: Vec<String>,
}

/// What is to be done for one skill. Its text, its entries of agents and its commands change together or not at all.
#[derive(Debug, Clone)]
pub struct SkillPlan {
    /// The skill.
    pub name: Identifier,
    /// The state before, for `status`.
    pub label: Label,
    /// The commit that is wanted; none for a removal.
    pub commit: Option<Commit>,
    /// What is installed.
    pub installed: Option<Installed>,
    /// What is done.
    pub action: Action,
    /// Its commands that appear, change or go.
    pub commands: Vec<CommandChange>,
    /// Skills that must be changed before it: it takes over their commands.
    pub after: BTreeSet<Identifier>,
    /// Warnings that stop nothing.
    pub warnings: Vec<String>,
}

/// What a plan and a report say of an installed version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The commit.
    pub commit: String,
    /// The files.
    pub files: Vec<String>,
}

/// What is done for a skill.
#[derive(Debug, Clone)]
pub enum Action {
    /// Nothing: its text and its entries of agents are as declared.
    Current,
    /// Its text is written.
    Install(Install),
    /// Its text stays, and what belongs to it is made again.
    Repair(Repair),
    /// It is not declared any more.
    Remove(Remove),
    /// Nothing, and this is why.
    Refused(SkillError),
}

/// A skill whose text is written.
#[derive(Debug, Clone)]
pub struct Install {
    /// The files.
    pub content: Arc<Prepared>,
    /// Whether what is there was changed by hand, and is kept aside.
    pub keeps_edits: bool,
    /// The entries of agents that change.
    pub adapters: Vec<AdapterChange>,
}

/// A skill whose text stays.
#[derive(Debug, Clone)]
pub struct Repair {
    /// The files of its commands, where those in the store are missing or wrong.
    pub content: Option<Arc<Prepared>>,
    /// The entries of agents that change.
    pub adapters: Vec<AdapterChange>,
}

/// A skill that is not declared any more.
#[derive(Debug, Clone)]
pub struct Remove {
    /// Whether the folder of the skill is csk's, and goes.
    pub text: bool,
    /// Whether what is there was changed by hand, and is kept aside.
    pub keeps_edits: bool,
    /// The entries of agents that go.
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
    /// Not what was installed; the text says what differs, where that is not the content.
    ContentDrift(Option<String>),
    /// Not declared any more; an install removes it.
    Removed,
    /// It cannot be told.
    Error,
}

impl Label {
    /// Returns the stable word.
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
    /// Returns true if nothing is to be done.
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

    /// Returns what is written of it: text and command files, or command files alone.
    pub fn content(&self) -> Option<&Arc<Prepared>> {
        match &self.action {
            Action::Install(install) => Some(&install.content),
            Action::Repair(repair) => repair.content.as_ref(),
            Action::Current | Action::Remove(_) | Action::Refused(_) => None,
        }
    }

    /// Returns the entries of agents that change.
    pub fn adapters(&self) -> &[AdapterChange] {
        match &self.action {
            Action::Install(install) => &install.adapters,
            Action::Repair(repair) => &repair.adapters,
            Action::Remove(remove) => &remove.adapters,
            Action::Current | Action::Refused(_) => &[],
        }
    }

    /// Returns true if the folder of the skill goes.
    pub fn removes_text(&self) -> bool {
        matches!(&self.action, Action::Remove(remove) if remove.text)
    }

    /// Takes back everything that was going to be done, and says why.
    fn refuse(&mut self, error: SkillError) {
        // A label that says more than "error" stays: an update that is refused is still available.
        if self.label == Label::UpToDate {
            self.label = Label::Error;
        }
        self.action = Action::Refused(error);
    }
}

/// Returns what turns what was observed into what is wanted.
pub fn plan(world: &World<'_>) -> Plan {
    let (target, observed) = (world.facts.target, world.facts.observed);
    let standings = world.facts.standings();
    let mut skills: Vec<SkillPlan> = standings.map(|one| skill_plan(world, one)).collect();
    let mut removals = removal::removals(&world.facts);
    let (foreign, mut env): (Vec<&EnvFile>, Vec<&EnvFile>) =
        observed.env.iter().partition(|file| file.is_foreign);
    // Where an audit refuses all that there was to do, nothing is written at all.
    let is_refused = |skill: &SkillPlan| matches!(skill.error(), Some(SkillError::Audit { .. }));
    if skills.iter().any(is_refused) && skills.iter().all(SkillPlan::is_empty) {
        env.clear();
    }
    let foreign = foreign
        .iter()
        .map(|file| format!("{} was not made by csk, and is left as it is", file.path));
    let unusable = (!can_be_on_path(&target.root)).then(|| {
        "commands of skills cannot be on PATH here: the project's path holds `:`, `;` or a line break"
            .to_owned()
    });
    let warnings = foreign.chain(unusable).collect();
    let commands = commands::plan_commands(world, &mut skills, &mut removals);
    Plan {
        removals,
        skills,
        unowned: commands.unowned,
        commands: commands.all,
        collisions: commands.collisions,
        env: env.into_iter().cloned().collect(),
        ignore: Vec::new(),
        warnings,
        notes: commands.notes,
    }
}

/// Turns the standing of a skill and its content into what is done.
fn skill_plan(world: &World<'_>, standing: Standing<'_>) -> SkillPlan {
    let installed = standing.found.map(|found| Installed {
        commit: found.marker.commit.clone(),
        files: found.marker.files.clone(),
    });
    let mut plan = SkillPlan {
        name: standing.skill.name.clone(),
        label: standing.label.clone(),
        commit: standing.commit.clone(),
        installed,
        action: Action::Current,
        commands: Vec::new(),
        after: BTreeSet::new(),
        warnings: standing.warnings.clone(),
    };
    decide(world, standing, &mut plan);
    let is_written = matches!(plan.action, Action::Install(_));
    if let Some(reason) = world.revoked.get(&plan.name).filter(|_| !is_written) {
        let what = "take it out of Skillfile.json, or choose another version";
        plan.warnings.push(format!("`{}` is revoked: {reason}; {what}", plan.name));
    }
    plan
}

fn decide(world: &World<'_>, standing: Standing<'_>, plan: &mut SkillPlan) {
    let is_repair = matches!(standing.need, Need::Repair);
    let contents = match (standing.need, world.contents) {
        (Need::Refused(error), _) => return plan.action = Action::Refused(error),
        (Need::Nothing, _) | (Need::Install | Need::Repair, Contents::AsInstalled) => {
            if !standing.adapters.is_empty() {
                let adapters = standing.adapters;
                plan.action = Action::Repair(Repair { content: None, adapters });
            }
            return;
        }
        (Need::Install | Need::Repair, Contents::New(contents)) => contents,
    };
    let content = match contents.get(&plan.name) {
        Some(Ok(content)) => content,
        Some(Err(error)) => return plan.refuse(error.clone()),
        None => {
            let message = format!("the files of {} were not prepared", plan.name);
            return plan.refuse(SkillError::Write(message));
        }
    };
    let (new, adapters) = (Arc::clone(content.new.get()), standing.adapters);
    if is_repair {
        plan.action = Action::Repair(Repair { content: Some(new), adapters });
        return;
    }
    plan.warnings.extend(new.warnings.iter().chain(content.new.warnings()).cloned());
    let mut keeps_edits = standing.is_edited;
    // A marker that csk did not write is believed as far as it fits its commit: what differs is the user's.
    if let Some(found) = standing.found.filter(|found| !found.is_receipted) {
        let mut built = [&new].into_iter().chain(&content.before);
        keeps_edits = !built.any(|built| is_built(found.content, built));
        if !keeps_edits {
            plan.label = Label::UpdateAvailable;
        }
    }
    plan.action = Action::Install(Install { content: new, keeps_edits, adapters });
}

/// Returns true if what is there is what a commit gives, by the rules of today or by the first ones.
fn is_built(found: &Digests, built: &Prepared) -> bool {
    *found == Digests { content: built.content, bundle: built.context }
        || built.first_content == Some(found.content)
}
