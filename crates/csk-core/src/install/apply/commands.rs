//! Installs commands as planned.

use std::collections::BTreeSet;

use skill::Identifier;
use skill_fs::{AbsPath, FsError};

use super::swaps::Swaps;
use crate::install::plan::CommandChange;
use crate::install::shim::{read_shim, stage_shim};
use crate::install::write::io_error;
use crate::install::{Observed, Plan, SkillError, Target};

/// Creates, changes or removes a command at one location. `staged` is a free path on the same file system.
pub(super) fn put_command(
    change: &CommandChange,
    place: AbsPath,
    staged: AbsPath,
    swaps: &mut Swaps,
) -> Result<(), SkillError> {
    let found = read_shim(&place).map_err(|error| io_error(&place, &error))?;
    let Some(to) = &change.target else {
        // Only the exact link that csk created is removed; anything else belongs to the user.
        let is_ours = change.old.is_some() && found == change.old;
        return if is_ours { swaps.remove_shim(place) } else { Ok(()) };
    };
    if found.as_ref() == Some(to) {
        return Ok(());
    }
    stage_shim(to, &staged).map_err(|error| io_error(&staged, &error))?;
    swaps.put_shim(staged, place)
}

/// Removes commands that belong to no skill and updates the ledger of commands in memory. `done` lists the skills that
/// were changed.
pub(super) fn update_command_ledger(
    target: &Target,
    plan: &Plan,
    observed: &mut Observed,
    done: &BTreeSet<&Identifier>,
) -> Result<(), FsError> {
    for change in &plan.unowned {
        remove_unowned(target, change)?;
    }
    let skills = plan.skills.iter().chain(&plan.removals);
    // One skill may take over a command from another, so additions are applied last.
    let owned = skills.filter(|skill| done.contains(&skill.name)).flat_map(|skill| &skill.commands);
    let (made, gone): (Vec<_>, Vec<_>) =
        owned.chain(&plan.unowned).partition(|change| change.target.is_some());
    let entries = &mut observed.bin.ledger.entries;
    for change in gone {
        entries.remove(&change.command);
    }
    entries.extend(made.into_iter().map(|change| change.command.clone()));
    Ok(())
}

fn remove_unowned(target: &Target, change: &CommandChange) -> Result<(), FsError> {
    let place = target.shim(&change.command);
    let failed = |source| FsError::Io { path: place.to_string(), source };
    if change.old.is_some() && read_shim(&place).map_err(failed)? == change.old {
        skill_fs::remove_file(&place).map_err(failed)?;
    }
    Ok(())
}
