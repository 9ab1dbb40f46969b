//! Puts the commands of a project in place, as the plan has them.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;

use skill::Identifier;
use skill_fs::{AbsPath, FsError, write_file};

use super::journal::stage;
use super::{BIN, ContextState, Observed, Plan, Target};
use crate::Platform;
use crate::sys::make_link;

/// Makes, changes and takes away the commands. Those of a skill that failed stay as they are.
pub(super) fn put_shims(
    target: &Target,
    plan: &Plan,
    observed: &mut Observed,
    failed: &BTreeSet<Identifier>,
) -> Result<(), FsError> {
    let folder = target.folder(BIN);
    let failure = |path: &AbsPath, source| FsError::Io { path: path.to_string(), source };
    // The commands that a skill that failed still needs.
    let mut kept = BTreeSet::new();
    for name in failed {
        if let Some(ContextState::Installed { marker, .. }) = observed.contexts.get(name) {
            kept.extend(marker.command_paths.keys().cloned());
        }
    }
    for shim in &plan.shims {
        let place = folder.join(shim.command.as_str());
        let is_failed = shim.skill.as_ref().is_some_and(|skill| failed.contains(skill));
        match &shim.target {
            _ if is_failed || kept.contains(&shim.command) => {}
            Some(to) => {
                fs::create_dir_all(folder.as_path()).map_err(|error| failure(&folder, error))?;
                put_shim(target, to, &place)?;
                observed.bin.ledger.entries.insert(shim.command.clone());
            }
            None => {
                // Only the very link that csk made goes; what else is there is the user's.
                let found = fs::read_link(place.as_path()).ok();
                if shim.old.is_some()
                    && found.map(|to| to.to_string_lossy().into_owned()) == shim.old
                {
                    fs::remove_file(place.as_path()).map_err(|error| failure(&place, error))?;
                }
                observed.bin.ledger.entries.remove(&shim.command);
            }
        }
    }
    Ok(())
}

/// Makes one command, in the place of an older one, in one step.
fn put_shim(target: &Target, to: &str, place: &AbsPath) -> Result<(), FsError> {
    let failure = |source| FsError::Io { path: place.to_string(), source };
    if let Some(text) = Platform::HERE.shim_text(to) {
        return write_file(place, text.as_bytes()).map(|_| ());
    }
    let staged = stage(target).join(format!("new@{}@bin", place.file_name().unwrap_or_default()));
    make_link(to, staged.as_path()).map_err(failure)?;
    fs::rename(staged.as_path(), place.as_path()).map_err(failure)
}
