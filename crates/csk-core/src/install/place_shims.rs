//! Puts commands in place, as the plan has them.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;

use skill::Identifier;
use skill_fs::{AbsPath, FsError};

use super::shims::Shim;
use super::swaps::Swaps;
use super::write::io_error;
use super::{BIN, Observed, Plan, SkillError, Target};
use crate::Platform;
use crate::sys::make_link;

/// Makes, changes or takes away a command at one of its places. `staged` is a free path on the same file system.
pub(super) fn put_shim(
    shim: &Shim,
    place: AbsPath,
    staged: AbsPath,
    swaps: &mut Swaps,
) -> Result<(), SkillError> {
    let found = fs::read_link(place.as_path()).ok().map(|to| to.to_string_lossy().into_owned());
    let Some(to) = &shim.target else {
        // Only the very link that csk made goes; what else is there is the user's.
        let is_ours = shim.old.is_some() && found == shim.old;
        return if is_ours { swaps.remove_link(place) } else { Ok(()) };
    };
    if found.as_ref() == Some(to) {
        return Ok(());
    }
    if let Some(text) = Platform::HERE.shim_text(to) {
        return swaps.put_file(&text, place);
    }
    let _ = fs::remove_file(staged.as_path());
    make_link(to, staged.as_path()).map_err(|error| io_error(&staged, &error))?;
    swaps.put_link(staged, place)
}

/// Takes away commands that no skill is known for, and notes which ones csk made. `done` are the skills that were changed.
pub(super) fn settle_shims(
    target: &Target,
    plan: &Plan,
    observed: &mut Observed,
    done: &BTreeSet<&Identifier>,
) -> Result<(), FsError> {
    for shim in &plan.shims {
        let is_done = match &shim.owner {
            Some(owner) => done.contains(owner),
            None => {
                remove_unowned(target, shim)?;
                true
            }
        };
        let entries = &mut observed.bin.ledger.entries;
        match (&shim.target, is_done) {
            (Some(_), true) => {
                entries.insert(shim.command.clone());
            }
            (None, true) => {
                entries.remove(&shim.command);
            }
            (_, false) => {}
        }
    }
    Ok(())
}

fn remove_unowned(target: &Target, shim: &Shim) -> Result<(), FsError> {
    let place = target.folder(BIN).join(shim.command.as_str());
    let found = fs::read_link(place.as_path()).ok();
    if shim.old.is_some() && found.map(|to| to.to_string_lossy().into_owned()) == shim.old {
        fs::remove_file(place.as_path())
            .map_err(|source| FsError::Io { path: place.to_string(), source })?;
    }
    Ok(())
}
