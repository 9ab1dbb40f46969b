//! Installs commands as planned.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;

use skill::Identifier;
use skill_fs::{AbsPath, FsError};

use super::swaps::Swaps;
use crate::Platform;
use crate::install::plan::CommandChange;
use crate::install::write::io_error;
use crate::install::{BIN, Observed, Plan, SkillError, Target};
use crate::sys::make_link;

/// Creates, changes or removes a command at one location. `staged` is a free path on the same file system.
pub(super) fn put_command(
    change: &CommandChange,
    place: AbsPath,
    staged: AbsPath,
    swaps: &mut Swaps,
) -> Result<(), SkillError> {
    let found = fs::read_link(place.as_path()).ok().map(|to| to.to_string_lossy().into_owned());
    let Some(to) = &change.target else {
        // Only the exact link that csk created is removed; anything else belongs to the user.
        let is_ours = change.old.is_some() && found == change.old;
        return if is_ours { swaps.remove_link(place) } else { Ok(()) };
    };
    if found.as_ref() == Some(to) {
        return Ok(());
    }
    if let Some(text) = Platform::CURRENT.shim_text(to) {
        return swaps.put_file(&text, place);
    }
    let _ = fs::remove_file(staged.as_path());
    make_link(to, staged.as_path()).map_err(|error| io_error(&staged, &error))?;
    swaps.put_link(staged, place)
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
    let place = target.folder(BIN).join(change.command.as_str());
    let found = fs::read_link(place.as_path()).ok();
    if change.old.is_some() && found.map(|to| to.to_string_lossy().into_owned()) == change.old {
        fs::remove_file(place.as_path())
            .map_err(|source| FsError::Io { path: place.to_string(), source })?;
    }
    Ok(())
}
