//! The commands of a project: each is a link in `.agents/bin` to its file in the runtime store.
//!
//! What is wanted follows from what is installed or about to be. Two skills that bring one command stop the
//! project; something of the user's in a command's place stops the skill.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use skill::{Identifier, Marker, RelPath, folded_name};

use super::{
    AdapterState, BIN, ContextState, Group, Label, Observed, Plan, Prepared, ProjectError,
    SkillError, Store, Target,
};

/// A command that appears, changes or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shim {
    /// The command.
    pub command: Identifier,
    /// The skill that brings it; none for one that goes.
    pub skill: Option<Identifier>,
    /// The skill that it changes together with: the one that brings it, or brought it; none if no marker names it.
    pub owner: Option<Identifier>,
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

/// The prepared skills of a project, by name.
pub(crate) type Files = BTreeMap<Identifier, Arc<Prepared>>;

/// Adds the commands to `plan`.
pub(crate) fn plan_shims(
    target: &Target,
    plan: &mut Plan,
    observed: &Observed,
    files: &Files,
    store: &Store,
) -> Result<(), ProjectError> {
    let exports = |group: &Group| exports(group, observed, files);
    for group in &mut plan.skills {
        let foreign =
            exports(group).0.into_keys().find(|command| is_foreign(observed, command, store));
        if let Some(command) = foreign {
            let path = target.folder(BIN).join(command.as_str()).to_string();
            group.refuse(SkillError::Foreign { path });
        }
    }
    while refuse_taken(plan, exports) {}
    let collisions = collisions(&plan.skills, exports);
    if !collisions.is_empty() {
        return Err(ProjectError::Collision(collisions));
    }
    plan.commands.clear();
    let mut wanted = BTreeSet::new();
    for group in &mut plan.skills {
        let (commands, id) = exports(group);
        for (command, path) in commands {
            // What the user has put there is never touched, and was told of above.
            if is_foreign(observed, &command, store) {
                continue;
            }
            let link = store.place(&group.name, &id).join(path.as_str()).to_string();
            let is_ours = observed.bin.ledger.entries.contains(&command);
            let found = observed.bin.entries.get(&command);
            if !is_ours || found != Some(&AdapterState::Link(link.clone())) {
                if group.label == Label::UpToDate {
                    let what = format!("{BIN}/{command} is missing or wrong");
                    group.label = Label::ContentDrift(Some(what));
                }
                let (skill, owner) = (Some(group.name.clone()), Some(group.name.clone()));
                let target = Some(link.clone());
                // The skill that had it gives it up first, together with its own text.
                if let Some(before) = owner_of(&command, observed).filter(|it| *it != group.name) {
                    let old = match found {
                        Some(AdapterState::Link(to)) => Some(to.clone()),
                        _ => None,
                    };
                    let (command, owner) = (command.clone(), Some(before.clone()));
                    plan.shims.push(Shim { command, skill: None, owner, target: None, old });
                    group.after.insert(before);
                }
                plan.shims.push(Shim { command: command.clone(), skill, owner, target, old: None });
            }
            plan.commands.insert(command.clone(), (group.name.clone(), link));
            wanted.insert(command);
        }
    }
    let lost = lost_commands(observed, store);
    let known: BTreeSet<&Identifier> = observed.bin.ledger.entries.iter().chain(&lost).collect();
    for command in known.iter().copied().filter(|command| !wanted.contains(*command)) {
        let old = match observed.bin.entries.get(command) {
            Some(AdapterState::Link(to)) if store.holds(to) => Some(to.clone()),
            _ => None,
        };
        let owner = owner_of(command, observed);
        plan.shims.push(Shim { command: command.clone(), skill: None, owner, target: None, old });
    }
    let others =
        observed.bin.entries.keys().filter(|name| !wanted.contains(*name) && !known.contains(name));
    plan.notes.extend(others.map(|name| {
        format!("{BIN}/{name} is not csk's; neither `csk exec` nor the shell hook puts it on PATH")
    }));
    Ok(())
}

/// Returns the commands of installed skills that no ledger names: it was lost, or another csk wrote none. A link into the folder of the very skill
/// that brings the command is what csk makes.
fn lost_commands(observed: &Observed, store: &Store) -> BTreeSet<Identifier> {
    let mut lost = BTreeSet::new();
    for (name, state) in &observed.contexts {
        let ContextState::Installed { marker, .. } = state else { continue };
        let links = observed.bin.entries.iter().filter(|(command, entry)| {
            let leads_there = matches!(entry, AdapterState::Link(to) if store.holds_of(name, to));
            leads_there && brings(marker, command)
        });
        lost.extend(links.map(|(command, _)| command.clone()));
    }
    lost
}

/// Refuses skills that would take over the command of another one which stays as it is; true if there was one, which stays as it is now.
fn refuse_taken(
    plan: &mut Plan,
    exports: impl Fn(&Group) -> (BTreeMap<Identifier, RelPath>, String),
) -> bool {
    let stays = plan.skills.iter().filter(|group| group.error.is_some());
    let kept: BTreeMap<Identifier, Identifier> = stays
        .flat_map(|group| {
            let commands = exports(group).0.into_keys();
            commands.map(|command| (command, group.name.clone())).collect::<Vec<_>>()
        })
        .collect();
    let mut is_refused = false;
    for group in plan.skills.iter_mut().filter(|group| group.install.is_some()) {
        let taken = exports(group).0.into_keys().find_map(|command| {
            let owner = kept.get(&command)?;
            Some(format!(
                "the command `{command}` still belongs to `{owner}`, which cannot be updated"
            ))
        });
        if let Some(message) = taken {
            group.refuse(SkillError::Write(message));
            is_refused = true;
        }
    }
    is_refused
}

/// Returns the installed skill that brought a command.
fn owner_of(command: &Identifier, observed: &Observed) -> Option<Identifier> {
    let brings = |state: &ContextState| match state {
        ContextState::Installed { marker, .. } => brings(marker, command),
        ContextState::Missing
        | ContextState::Foreign
        | ContextState::Newer(_)
        | ContextState::Broken(_) => false,
    };
    observed.contexts.iter().find(|(_, state)| brings(state)).map(|(name, _)| name.clone())
}

/// Returns true if an installed skill brought a command. Another csk's marker does not tell its commands from those of the system.
fn brings(marker: &Marker, command: &Identifier) -> bool {
    marker.command_paths.contains_key(command)
        || (marker.skill_schema_version.is_none()
            && marker.commands.iter().any(|name| name == command.as_str()))
}

/// Returns the commands that a skill is going to bring, each with its file, and where they are in the store.
fn exports(
    group: &Group,
    observed: &Observed,
    files: &Files,
) -> (BTreeMap<Identifier, RelPath>, String) {
    if group.install.is_some() && group.error.is_none() {
        let prepared = files.get(&group.name);
        let runtime = prepared.and_then(|prepared| prepared.runtime.as_ref());
        let commands = runtime.map(|runtime| runtime.commands.clone()).unwrap_or_default();
        let id = prepared.map(|prepared| prepared.runtime_id.clone());
        return (commands, id.unwrap_or_default());
    }
    match observed.contexts.get(&group.name) {
        // A marker that csk did not write brings nothing onto PATH.
        Some(ContextState::Installed { marker, is_receipted: true, .. }) => {
            (marker.command_paths.clone(), marker.runtime_id().to_owned())
        }
        _ => (BTreeMap::new(), String::new()),
    }
}

/// Returns true if there is something at a command's place that csk did not make.
fn is_foreign(observed: &Observed, command: &Identifier, store: &Store) -> bool {
    match observed.bin.entries.get(command) {
        None => false,
        Some(AdapterState::Link(to)) if store.holds(to) => false,
        Some(_) => true,
    }
}

/// Returns the commands that more than one skill brings. Names that differ only in case are one on some file systems.
fn collisions(
    groups: &[Group],
    exports: impl Fn(&Group) -> (BTreeMap<Identifier, RelPath>, String),
) -> Vec<Collision> {
    let mut owners: BTreeMap<String, Vec<(Identifier, Identifier)>> = BTreeMap::new();
    for group in groups {
        for command in exports(group).0.into_keys() {
            let key = folded_name(command.as_str());
            owners.entry(key).or_default().push((command, group.name.clone()));
        }
    }
    let shared = owners.into_values().filter(|all| all.len() > 1);
    shared.map(Collision).collect()
}
