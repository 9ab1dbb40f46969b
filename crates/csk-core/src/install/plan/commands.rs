//! The commands of a project: each is a link in `.agents/bin` to its file in the command store.
//!
//! The wanted commands follow from the skills that are installed or about to be. Two skills with the same command stop
//! the project; a file of the user's in place of a command stops the skill.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use skill::{Identifier, Marker, RelPath, folded_name};

use super::{Action, Label, PlanInput, SkillPlan};
use crate::install::store::StoreLayout;
use crate::install::{AdapterState, BIN, ContextState, Observed, SkillError};

/// A command to add, change or remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandChange {
    /// The command.
    pub command: Identifier,
    /// The link target; `None` to remove the command.
    pub target: Option<String>,
    /// The current link, if csk created it; anything else belongs to the user.
    pub old: Option<String>,
}

/// A command that several skills provide: each spelling of the command with its skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision(pub Vec<(Identifier, Identifier)>);

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, others) = self.0.split_first().expect("a collision has at least two skills");
        write!(f, "`{}` is provided by {}", first.0, first.1)?;
        for (command, skill) in others {
            write!(f, " and {skill}")?;
            if *command != first.0 {
                write!(f, " (as `{command}`)")?;
            }
        }
        Ok(())
    }
}

/// The planned commands of a project.
#[derive(Debug, Default)]
pub(super) struct CommandPlan {
    /// Every command after the install, with its skill and its link target.
    pub(super) all: BTreeMap<Identifier, (Identifier, String)>,
    /// Commands to remove that belong to no skill.
    pub(super) unowned: Vec<CommandChange>,
    pub(super) collisions: Vec<Collision>,
    pub(super) notes: Vec<String>,
}

/// Adds the command changes to each skill, and refuses skills that cannot get their commands.
pub(super) fn plan_commands(
    input: &PlanInput<'_>,
    skills: &mut [SkillPlan],
    removals: &mut [SkillPlan],
) -> CommandPlan {
    let observed = input.facts.observed;
    for skill in &mut *skills {
        let mut provided = Exports::of(skill, observed).commands.into_keys();
        if let Some(command) = provided.find(|command| is_foreign(observed, command, input.store)) {
            let path = input.facts.target.shim(&command).to_string();
            skill.refuse(SkillError::Foreign { path });
        }
    }
    while refuse_conflicting(skills, observed) {}
    let collisions = collisions(skills, observed);
    if !collisions.is_empty() {
        collisions.iter().for_each(|collision| refuse_all(skills, collision));
        return CommandPlan { collisions, ..CommandPlan::default() };
    }
    let owners = owners(observed);
    let mut commands = CommandPlan::default();
    let mut changes = add_commands(input, &owners, skills, &mut commands);
    let lost = lost_commands(observed, input.store);
    let known: BTreeSet<&Identifier> = observed.bin.ledger.entries.iter().chain(&lost).collect();
    for command in known.iter().filter(|command| !commands.all.contains_key(**command)) {
        let old = link_of(observed, command).filter(|to| input.store.holds(to));
        let change = CommandChange { command: (*command).clone(), target: None, old };
        match owners.get(command) {
            Some(owner) => changes.entry((*owner).clone()).or_default().push(change),
            None => commands.unowned.push(change),
        }
    }
    for skill in skills.iter_mut().chain(removals) {
        let own = changes.remove(&skill.name).into_iter().flatten();
        // A refused skill keeps its commands.
        if skill.error().is_none() {
            skill.commands.extend(own);
        }
    }
    commands.unowned.extend(changes.into_values().flatten());
    let others = observed.bin.entries.keys();
    let others = others.filter(|name| !commands.all.contains_key(*name) && !known.contains(name));
    commands.notes = others
        .map(|name| {
            format!(
                "{BIN}/{name} was not created by csk; neither `csk exec` nor the shell hook puts it on PATH"
            )
        })
        .collect();
    commands
}

/// Adds every command after the install. Returns the commands that other skills give up, by skill.
fn add_commands(
    input: &PlanInput<'_>,
    owners: &BTreeMap<&Identifier, &Identifier>,
    skills: &mut [SkillPlan],
    commands: &mut CommandPlan,
) -> BTreeMap<Identifier, Vec<CommandChange>> {
    let observed = input.facts.observed;
    let mut given_up: BTreeMap<Identifier, Vec<CommandChange>> = BTreeMap::new();
    for skill in skills {
        let exports = Exports::of(skill, observed);
        for (command, path) in exports.commands {
            // A file of the user's is never touched; the skill was refused because of it.
            if is_foreign(observed, &command, input.store) {
                continue;
            }
            let link = input.store.path(&skill.name, &exports.id).join(path.as_str()).to_string();
            commands.all.insert(command.clone(), (skill.name.clone(), link.clone()));
            let found = link_of(observed, &command);
            if observed.bin.ledger.entries.contains(&command) && found.as_ref() == Some(&link) {
                continue;
            }
            if skill.label == Label::UpToDate {
                let what = format!("{BIN}/{command} is missing or incorrect");
                skill.label = Label::ContentDrift(Some(what));
            }
            if skill.error().is_some() {
                continue;
            }
            // The previous owner gives it up first, together with its own text.
            if let Some(&before) = owners.get(&command).filter(|it| ***it != skill.name) {
                let change = CommandChange { command: command.clone(), target: None, old: found };
                given_up.entry(before.clone()).or_default().push(change);
                skill.after.insert(before.clone());
            }
            skill.commands.push(CommandChange { command, target: Some(link), old: None });
        }
    }
    given_up
}

/// Refuses all skills that provide the same command.
fn refuse_all(skills: &mut [SkillPlan], Collision(provided): &Collision) {
    for (command, name) in provided {
        let other = provided.iter().map(|(_, skill)| skill).find(|skill| *skill != name);
        let skill = skills.iter_mut().find(|skill| skill.name == *name);
        if let Some((skill, with)) = skill.filter(|skill| skill.error().is_none()).zip(other) {
            skill.refuse(SkillError::Collision { command: command.clone(), with: with.clone() });
        }
    }
}

/// Returns the commands of installed skills that are in no ledger, because it was lost or another csk wrote none. A
/// link into the store folder of the skill that provides the command can only come from csk.
fn lost_commands(observed: &Observed, store: &StoreLayout) -> BTreeSet<Identifier> {
    let is_lost = |command: &Identifier| {
        let link = link_of(observed, command)?;
        match observed.contexts.get(&store.skill_of(&link)?)? {
            ContextState::Installed { marker, .. } => provides(marker, command).then_some(()),
            ContextState::Missing
            | ContextState::Foreign
            | ContextState::Newer(_)
            | ContextState::Broken(_) => None,
        }
    };
    observed.bin.entries.keys().filter(|command| is_lost(command).is_some()).cloned().collect()
}

/// Refuses skills that would take over a command from a skill that cannot change. Returns true if it refused any, since
/// those cannot change either.
fn refuse_conflicting(skills: &mut [SkillPlan], observed: &Observed) -> bool {
    let stays = skills.iter().filter(|skill| skill.error().is_some());
    let kept: BTreeMap<Identifier, Identifier> = stays
        .flat_map(|skill| {
            let commands = Exports::of(skill, observed).commands.into_keys();
            commands.map(|command| (command, skill.name.clone())).collect::<Vec<_>>()
        })
        .collect();
    let mut is_refused = false;
    for skill in skills.iter_mut().filter(|skill| matches!(skill.action, Action::Install(_))) {
        let taken = Exports::of(skill, observed).commands.into_keys().find_map(|command| {
            let owner = kept.get(&command)?;
            Some(format!("command `{command}` still belongs to `{owner}`, which cannot be updated"))
        });
        if let Some(message) = taken {
            skill.refuse(SkillError::Write(message));
            is_refused = true;
        }
    }
    is_refused
}

/// Returns the link target at a command's path.
fn link_of(observed: &Observed, command: &Identifier) -> Option<String> {
    match observed.bin.entries.get(command) {
        Some(AdapterState::Link(to)) => Some(to.clone()),
        Some(AdapterState::Missing | AdapterState::Folder(_) | AdapterState::Other) | None => None,
    }
}

/// Returns the owner of each command, from the installed markers.
fn owners(observed: &Observed) -> BTreeMap<&Identifier, &Identifier> {
    let mut owners = BTreeMap::new();
    // Commands listed in another csk's marker count only if they exist.
    let named = observed.bin.entries.keys().chain(&observed.bin.ledger.entries);
    let named: BTreeMap<&str, &Identifier> = named.map(|name| (name.as_str(), name)).collect();
    for (name, state) in &observed.contexts {
        let ContextState::Installed { marker, .. } = state else { continue };
        for command in marker.command_paths.keys() {
            owners.entry(command).or_insert(name);
        }
        let others = marker.commands.iter().filter_map(|command| named.get(command.as_str()));
        for command in others.filter(|command| provides(marker, command)) {
            owners.entry(command).or_insert(name);
        }
    }
    owners
}

/// Returns true if an installed skill provides a command. Another csk's marker does not tell script commands from
/// system commands.
fn provides(marker: &Marker, command: &Identifier) -> bool {
    marker.command_paths.contains_key(command)
        || (marker.skill_schema_version.is_none()
            && marker.commands.iter().any(|name| name == command.as_str()))
}

/// The commands that a skill is going to provide.
#[derive(Default)]
struct Exports {
    /// The file of each command.
    commands: BTreeMap<Identifier, RelPath>,
    /// The folder of the skill's version in the store.
    id: String,
}

impl Exports {
    fn of(skill: &SkillPlan, observed: &Observed) -> Self {
        if let Action::Install(install) = &skill.action {
            let files = install.content.runtime.as_ref();
            let commands = files.map(|files| files.commands.clone()).unwrap_or_default();
            return Self { commands, id: install.content.runtime_id.clone() };
        }
        match observed.contexts.get(&skill.name) {
            // A marker without a receipt puts nothing on PATH.
            Some(ContextState::Installed { marker, is_receipted: true, .. }) => {
                Self { commands: marker.command_paths.clone(), id: marker.runtime_id().to_owned() }
            }
            _ => Self::default(),
        }
    }
}

/// Returns true if something that csk did not create is at a command's path.
fn is_foreign(observed: &Observed, command: &Identifier, store: &StoreLayout) -> bool {
    match observed.bin.entries.get(command) {
        None => false,
        Some(AdapterState::Link(to)) if store.holds(to) => false,
        Some(_) => true,
    }
}

/// Returns the commands that more than one skill provides. Names that differ only in case collide on some file systems.
fn collisions(skills: &[SkillPlan], observed: &Observed) -> Vec<Collision> {
    let mut owners: BTreeMap<String, Vec<(Identifier, Identifier)>> = BTreeMap::new();
    for skill in skills {
        for command in Exports::of(skill, observed).commands.into_keys() {
            let key = folded_name(command.as_str());
            owners.entry(key).or_default().push((command, skill.name.clone()));
        }
    }
    let shared = owners.into_values().filter(|all| all.len() > 1);
    shared.map(Collision).collect()
}
