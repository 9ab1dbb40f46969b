//! The commands of a project: each is a link in `.agents/bin` to its file in the command store.
//!
//! What is wanted follows from what is installed or about to be. Two skills that bring one command stop the
//! project; something of the user's in a command's place stops the skill.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use skill::{Identifier, Marker, RelPath, folded_name};

use super::{Action, Label, SkillPlan, World};
use crate::install::store::StoreLayout;
use crate::install::{AdapterState, BIN, ContextState, Observed, SkillError};

/// A command that appears, changes or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandChange {
    /// The command.
    pub command: Identifier,
    /// Where it leads; none for one that goes.
    pub target: Option<String>,
    /// The link of csk's that is there now; anything else is the user's.
    pub old: Option<String>,
}

/// A command that several skills bring: each as it writes the command, with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision(pub Vec<(Identifier, Identifier)>);

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, others) = self.0.split_first().expect("two skills or more bring it");
        write!(f, "`{}` is brought by {}", first.0, first.1)?;
        for (command, skill) in others {
            write!(f, " and by {skill}")?;
            if *command != first.0 {
                write!(f, " as `{command}`")?;
            }
        }
        Ok(())
    }
}

/// The commands of a project.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Every one that is going to be there, with its skill and where it leads.
    pub(super) all: BTreeMap<Identifier, (Identifier, String)>,
    /// Those that go and belong to no skill.
    pub(super) unowned: Vec<CommandChange>,
    pub(super) collisions: Vec<Collision>,
    pub(super) notes: Vec<String>,
}

/// Adds to each skill what changes of its commands, and refuses those that cannot have theirs.
pub(super) fn plan_commands(
    world: &World<'_>,
    skills: &mut [SkillPlan],
    removals: &mut [SkillPlan],
) -> Commands {
    let observed = world.facts.observed;
    for skill in &mut *skills {
        let mut brought = Exports::of(skill, observed).commands.into_keys();
        if let Some(command) = brought.find(|command| is_foreign(observed, command, world.store)) {
            let path = world.facts.target.folder(BIN).join(command.as_str()).to_string();
            skill.refuse(SkillError::Foreign { path });
        }
    }
    while refuse_taken(skills, observed) {}
    let collisions = collisions(skills, observed);
    if !collisions.is_empty() {
        collisions.iter().for_each(|collision| refuse_all(skills, collision));
        return Commands { collisions, ..Commands::default() };
    }
    let owners = owners(observed);
    let mut commands = Commands::default();
    let mut changes = add_commands(world, &owners, skills, &mut commands);
    let lost = lost_commands(observed, world.store);
    let known: BTreeSet<&Identifier> = observed.bin.ledger.entries.iter().chain(&lost).collect();
    for command in known.iter().filter(|command| !commands.all.contains_key(**command)) {
        let old = link_of(observed, command).filter(|to| world.store.holds(to));
        let change = CommandChange { command: (*command).clone(), target: None, old };
        match owners.get(command) {
            Some(owner) => changes.entry((*owner).clone()).or_default().push(change),
            None => commands.unowned.push(change),
        }
    }
    for skill in skills.iter_mut().chain(removals) {
        let own = changes.remove(&skill.name).into_iter().flatten();
        // The commands of a skill that nothing can be done for stay with it.
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
                "{BIN}/{name} is not csk's; neither `csk exec` nor the shell hook puts it on PATH"
            )
        })
        .collect();
    commands
}

/// Adds every command that is going to be there. Returns those that other skills give up for it, by skill.
fn add_commands(
    world: &World<'_>,
    owners: &BTreeMap<&Identifier, &Identifier>,
    skills: &mut [SkillPlan],
    commands: &mut Commands,
) -> BTreeMap<Identifier, Vec<CommandChange>> {
    let observed = world.facts.observed;
    let mut given_up: BTreeMap<Identifier, Vec<CommandChange>> = BTreeMap::new();
    for skill in skills {
        let exports = Exports::of(skill, observed);
        for (command, path) in exports.commands {
            // What the user has put there is never touched, and the skill was refused for it.
            if is_foreign(observed, &command, world.store) {
                continue;
            }
            let link = world.store.place(&skill.name, &exports.id).join(path.as_str()).to_string();
            commands.all.insert(command.clone(), (skill.name.clone(), link.clone()));
            let found = link_of(observed, &command);
            if observed.bin.ledger.entries.contains(&command) && found.as_ref() == Some(&link) {
                continue;
            }
            if skill.label == Label::UpToDate {
                let what = format!("{BIN}/{command} is missing or wrong");
                skill.label = Label::ContentDrift(Some(what));
            }
            // Nothing is done for a skill that was refused.
            if skill.error().is_some() {
                continue;
            }
            // The skill that had it gives it up first, together with its own text.
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

/// Refuses all skills that bring one command.
fn refuse_all(skills: &mut [SkillPlan], Collision(brought): &Collision) {
    for (command, name) in brought {
        let other = brought.iter().map(|(_, skill)| skill).find(|skill| *skill != name);
        let skill = skills.iter_mut().find(|skill| skill.name == *name);
        if let Some((skill, with)) = skill.filter(|skill| skill.error().is_none()).zip(other) {
            skill.refuse(SkillError::Collision { command: command.clone(), with: with.clone() });
        }
    }
}

/// Returns the commands of installed skills that no ledger names: it was lost, or another csk wrote none. A link into the folder of the very skill
/// that brings the command is what csk makes.
fn lost_commands(observed: &Observed, store: &StoreLayout) -> BTreeSet<Identifier> {
    let is_lost = |command: &Identifier| {
        let link = link_of(observed, command)?;
        match observed.contexts.get(&store.skill_of(&link)?)? {
            ContextState::Installed { marker, .. } => brings(marker, command).then_some(()),
            ContextState::Missing
            | ContextState::Foreign
            | ContextState::Newer(_)
            | ContextState::Broken(_) => None,
        }
    };
    observed.bin.entries.keys().filter(|command| is_lost(command).is_some()).cloned().collect()
}

/// Refuses skills that would take over the command of another one which stays as it is; true if there was one, which stays as it is now.
fn refuse_taken(skills: &mut [SkillPlan], observed: &Observed) -> bool {
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
            Some(format!(
                "the command `{command}` still belongs to `{owner}`, which cannot be updated"
            ))
        });
        if let Some(message) = taken {
            skill.refuse(SkillError::Write(message));
            is_refused = true;
        }
    }
    is_refused
}

/// Returns the link at a command's place.
fn link_of(observed: &Observed, command: &Identifier) -> Option<String> {
    match observed.bin.entries.get(command) {
        Some(AdapterState::Link(to)) => Some(to.clone()),
        Some(AdapterState::Missing | AdapterState::Folder(_) | AdapterState::Other) | None => None,
    }
}

/// Returns the commands that installed skills brought, each with its skill.
fn owners(observed: &Observed) -> BTreeMap<&Identifier, &Identifier> {
    let mut owners = BTreeMap::new();
    // Another csk's marker names commands that csk knows of only where they are in their place.
    let named = observed.bin.entries.keys().chain(&observed.bin.ledger.entries);
    let named: BTreeMap<&str, &Identifier> = named.map(|name| (name.as_str(), name)).collect();
    for (name, state) in &observed.contexts {
        let ContextState::Installed { marker, .. } = state else { continue };
        for command in marker.command_paths.keys() {
            owners.entry(command).or_insert(name);
        }
        let others = marker.commands.iter().filter_map(|command| named.get(command.as_str()));
        for command in others.filter(|command| brings(marker, command)) {
            owners.entry(command).or_insert(name);
        }
    }
    owners
}

/// Returns true if an installed skill brought a command. Another csk's marker does not tell its commands from those of the system.
fn brings(marker: &Marker, command: &Identifier) -> bool {
    marker.command_paths.contains_key(command)
        || (marker.skill_schema_version.is_none()
            && marker.commands.iter().any(|name| name == command.as_str()))
}

/// The commands that a skill is going to bring.
#[derive(Default)]
struct Exports {
    /// Each with its file.
    commands: BTreeMap<Identifier, RelPath>,
    /// Where they are in the store.
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
            // A marker that csk did not write brings nothing onto PATH.
            Some(ContextState::Installed { marker, is_receipted: true, .. }) => {
                Self { commands: marker.command_paths.clone(), id: marker.runtime_id().to_owned() }
            }
            _ => Self::default(),
        }
    }
}

/// Returns true if there is something at a command's place that csk did not make.
fn is_foreign(observed: &Observed, command: &Identifier, store: &StoreLayout) -> bool {
    match observed.bin.entries.get(command) {
        None => false,
        Some(AdapterState::Link(to)) if store.holds(to) => false,
        Some(_) => true,
    }
}

/// Returns the commands that more than one skill brings. Names that differ only in case are one on some file systems.
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
