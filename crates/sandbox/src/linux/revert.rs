//! Reverts the changes that a run made to the workspace: all of them, or none.
//!
//! Conflicts are detected first. The originals are written to a staging folder in the workspace before anything is
//! touched. Then each path changes in one step, which can be rolled back. After every step, each path is either as it
//! was before the run or as the run left it, so if this process is killed, the next call completes the work.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock, mkdirat, openat, symlinkat};
use skill::Digest;

use super::apply::check_writable;
use super::layer::{names, open_below, open_folder};
use super::transaction::{
    OwnerIds, Transaction, clear_leftover, new_name, set_link_owner, set_owner,
};
use super::undo::state;
use crate::undo::{Owner, PathState, ReplacedPath, UndoError, saved_name};

pub(crate) fn check(
    workspace: &Path,
    folder: &Path,
    replaced: &[ReplacedPath],
) -> Result<Vec<PathBuf>, UndoError> {
    let root = open_folder(workspace).map_err(failed(workspace))?;
    Ok(plan(&root, folder, replaced)?.kept_folders.into_iter().collect())
}

pub(crate) fn revert(
    workspace: &Path,
    folder: &Path,
    replaced: &[ReplacedPath],
) -> Result<Vec<PathBuf>, UndoError> {
    // Two processes at once would remove each other's staged files.
    let _lock = lock(folder)?;
    let root = open_folder(workspace).map_err(failed(workspace))?;
    let mut plan = plan(&root, folder, replaced)?;
    let run = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = format!(".openskills-undo-{run}.tmp");
    clear_leftover(&root, &name).map_err(failed(Path::new(&name)))?;
    if !plan.is_done(replaced) {
        let mut transaction = Transaction::new(root, name).map_err(failed(workspace))?;
        let reverted = stage_all(&transaction, &plan, folder, replaced)
            .and_then(|()| perform(&mut transaction, &plan, replaced));
        if let Err(error) = reverted {
            return Err(match transaction.roll_back() {
                Ok(()) => error,
                Err((paths, _)) => UndoError::PartlyUndone { paths, cause: error.to_string() },
            });
        }
        transaction.clear("old-");
        // Everything is reverted. If the staging folder cannot be removed, report it as kept.
        plan.kept_folders.extend(transaction.finish().err());
    }
    Ok(plan.kept_folders.into_iter().collect())
}

fn failed(path: &Path) -> impl Fn(io::Error) -> UndoError + '_ {
    |source| UndoError::Io { path: path.to_owned(), source }
}

fn lock(folder: &Path) -> Result<OwnedFd, UndoError> {
    let open = open_folder(folder).map_err(failed(folder))?;
    match flock(&open, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(open),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(UndoError::Busy),
        Err(error) => Err(failed(folder)(error.into())),
    }
}

/// The current state, and what is kept.
struct RevertPlan {
    /// What is at each path now.
    now: Vec<PathState>,
    /// Folders that the run created and that are kept, because they contain something else.
    kept_folders: BTreeSet<PathBuf>,
}

impl RevertPlan {
    /// Returns true if every path is as it was before the run.
    fn is_done(&self, replaced: &[ReplacedPath]) -> bool {
        let all = || self.now.iter().zip(replaced);
        all().all(|(now, one)| {
            matches_state(now, &one.before) || self.kept_folders.contains(&one.path)
        }) && all().all(|(now, one)| metadata_to_restore(now, &one.before).is_none())
    }
}

/// Detects all conflicts, without touching anything.
fn plan(root: &OwnedFd, folder: &Path, replaced: &[ReplacedPath]) -> Result<RevertPlan, UndoError> {
    let mut now = Vec::new();
    for (number, one) in replaced.iter().enumerate() {
        let found = state(root, &one.path).map_err(failed(&one.path))?;
        let is_before = matches_state(&found, &one.before);
        if !is_before && !matches_state(&found, &one.after) {
            return Err(UndoError::Changed { path: one.path.clone() });
        }
        if !is_before {
            saved_bytes(folder, number, one)?;
            check_writable(root, &one.path).map_err(failed(&one.path))?;
        }
        now.push(found);
    }
    let known: BTreeSet<&Path> = replaced.iter().map(|one| one.path.as_path()).collect();
    for (_, one) in now.iter().zip(replaced).filter(|(found, _)| **found == PathState::Nothing) {
        check_parents(root, one, &known)?;
    }
    let removed: BTreeSet<&Path> = replaced
        .iter()
        .filter(|one| one.before == PathState::Nothing)
        .map(|one| one.path.as_path())
        .collect();
    let mut kept_folders = BTreeSet::new();
    // Bottom-up, because a folder is kept if anything in it is kept.
    for (found, one) in now.iter().zip(replaced).rev() {
        let is_removed = matches!(found, PathState::Folder { .. })
            && !matches!(one.before, PathState::Folder { .. });
        if !is_removed {
            continue;
        }
        let inside = open_below(root, &one.path, OFlags::DIRECTORY).and_then(|open| names(&open));
        for name in inside.map_err(failed(&one.path))? {
            let path = one.path.join(name);
            if removed.contains(path.as_path()) && !kept_folders.contains(&path) {
                continue;
            }
            if one.before != PathState::Nothing {
                // The folder cannot be kept, because something else must be restored in its place.
                return Err(UndoError::Changed { path });
            }
            kept_folders.insert(one.path.clone());
        }
    }
    Ok(RevertPlan { now, kept_folders })
}

/// Checks that the parent folders of a path with nothing at it were not removed or replaced since the run. What the run
/// itself did to them is reverted too.
fn check_parents(
    root: &OwnedFd,
    one: &ReplacedPath,
    known: &BTreeSet<&Path>,
) -> Result<(), UndoError> {
    let above = one.path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    for path in above.filter(|path| !known.contains(path)) {
        match state(root, path).map_err(failed(path))? {
            PathState::Folder { .. } => {}
            // Nothing needs to be restored there.
            PathState::Nothing if one.before == PathState::Nothing => {}
            PathState::Nothing
            | PathState::File { .. }
            | PathState::Link { .. }
            | PathState::Other => {
                return Err(UndoError::Changed { path: path.to_owned() });
            }
        }
    }
    Ok(())
}

/// Returns true if a state matches the recorded one. Owners are not compared, because not every user can restore them;
/// nor are the owner's permissions of a folder, which are needed while something in it changes.
fn matches_state(now: &PathState, recorded: &PathState) -> bool {
    match (now, recorded) {
        (PathState::Folder { mode: ours, .. }, PathState::Folder { mode, .. }) => {
            ours | 0o700 == mode | 0o700
        }
        (
            PathState::File { mode: ours, sha256: digest, .. },
            PathState::File { mode, sha256, .. },
        ) => ours == mode && digest == sha256,
        (PathState::Link { target: ours, .. }, PathState::Link { target, .. }) => ours == target,
        (PathState::Nothing, PathState::Nothing) => true,
        (
            PathState::Folder { .. }
            | PathState::File { .. }
            | PathState::Link { .. }
            | PathState::Nothing
            | PathState::Other,
            _,
        ) => false,
    }
}

/// Returns the permissions and the owner that must be restored for a folder, if any.
fn metadata_to_restore(now: &PathState, before: &PathState) -> Option<(u32, Option<OwnerIds>)> {
    match before {
        PathState::Folder { mode, owner } if now != before => {
            Some((*mode, owner.map(|owner| (owner.user, owner.group))))
        }
        PathState::Folder { .. }
        | PathState::Nothing
        | PathState::File { .. }
        | PathState::Link { .. }
        | PathState::Other => None,
    }
}

/// Returns the saved original of a file.
fn saved_bytes(folder: &Path, number: usize, one: &ReplacedPath) -> Result<Vec<u8>, UndoError> {
    let lost = || UndoError::Lost { path: one.path.clone() };
    match &one.before {
        PathState::File { sha256, .. } => {
            let bytes = std::fs::read(folder.join(saved_name(number))).map_err(|_| lost())?;
            if Digest::of(&bytes).to_string() == *sha256 { Ok(bytes) } else { Err(lost()) }
        }
        PathState::Other => Err(lost()),
        PathState::Nothing | PathState::Folder { .. } | PathState::Link { .. } => Ok(Vec::new()),
    }
}

/// Returns true if a folder is restored to a folder: then it is kept, and only its permissions change.
fn is_same_folder(now: &PathState, before: &PathState) -> bool {
    matches!((now, before), (PathState::Folder { .. }, PathState::Folder { .. }))
}

/// Writes all originals to the staging folder.
fn stage_all(
    transaction: &Transaction,
    plan: &RevertPlan,
    folder: &Path,
    replaced: &[ReplacedPath],
) -> Result<(), UndoError> {
    for (number, (now, one)) in plan.now.iter().zip(replaced).enumerate() {
        if matches_state(now, &one.before) || is_same_folder(now, &one.before) {
            continue;
        }
        let bytes = saved_bytes(folder, number, one)?;
        stage(transaction, number, &one.before, &bytes).map_err(failed(&one.path))?;
    }
    Ok(())
}

fn stage(
    transaction: &Transaction,
    number: usize,
    before: &PathState,
    bytes: &[u8],
) -> io::Result<()> {
    let (staging, name) = (&transaction.staging, new_name(number));
    let ids = |owner: &Owner| (owner.user, owner.group);
    match before {
        PathState::Nothing | PathState::Other => {}
        // Its final permissions are set last, when its content is complete.
        PathState::Folder { mode, .. } => {
            mkdirat(staging, &name, Mode::RWXU)?;
            let created = open_below(staging, Path::new(&name), OFlags::DIRECTORY)?;
            fchmod(created, Mode::from_raw_mode(mode | 0o700))?;
        }
        PathState::Link { target, owner } => {
            symlinkat(target, staging, &name)?;
            if let Some(owner) = owner {
                set_link_owner(staging, &name, ids(owner));
            }
        }
        PathState::File { mode, owner, .. } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut file = File::from(openat(staging, &name, flags, Mode::RUSR | Mode::WUSR)?);
            file.write_all(bytes)?;
            if let Some(owner) = owner {
                set_owner(&file.as_fd().try_clone_to_owned()?, ids(owner));
            }
            fchmod(&file, Mode::from_raw_mode(*mode))?;
        }
    }
    Ok(())
}

fn perform(
    transaction: &mut Transaction,
    plan: &RevertPlan,
    replaced: &[ReplacedPath],
) -> Result<(), UndoError> {
    let all = || plan.now.iter().zip(replaced).enumerate();
    let mut bottom_up: Vec<_> = all().collect();
    bottom_up.reverse();
    // First remove what the run added, bottom-up. Then restore the originals, top-down.
    for (number, (now, one)) in &bottom_up {
        let is_kept = matches_state(now, &one.before) || plan.kept_folders.contains(&one.path);
        if one.before == PathState::Nothing && !is_kept {
            check_unchanged(transaction, now, one)?;
            match now {
                PathState::Folder { .. } => transaction.remove_folder(&one.path),
                PathState::Nothing
                | PathState::File { .. }
                | PathState::Link { .. }
                | PathState::Other => transaction.move_aside(*number, &one.path),
            }
            .map_err(failed(&one.path))?;
        }
    }
    for (number, (now, one)) in all() {
        let is_restored = matches_state(now, &one.before) || is_same_folder(now, &one.before);
        if one.before == PathState::Nothing || is_restored {
            continue;
        }
        check_unchanged(transaction, now, one)?;
        if *now == PathState::Nothing {
            transaction.place(number, &one.path).map_err(failed(&one.path))?;
            continue;
        }
        transaction.exchange(number, &one.path).map_err(failed(&one.path))?;
        if !transaction.is_exchanged_empty(number).map_err(failed(&one.path))? {
            return Err(UndoError::Changed { path: one.path.clone() });
        }
    }
    for (_, (now, one)) in &bottom_up {
        if let Some((mode, owner)) = metadata_to_restore(now, &one.before) {
            transaction.set_metadata(&one.path, mode, owner).map_err(failed(&one.path))?;
        }
    }
    Ok(())
}

/// Checks, just before a path changes, that nothing else has changed it.
fn check_unchanged(
    transaction: &Transaction,
    now: &PathState,
    one: &ReplacedPath,
) -> Result<(), UndoError> {
    let found = state(&transaction.workspace, &one.path).map_err(failed(&one.path))?;
    // The planned state still applies where a file replaces a folder: the folder's content is restored only after it.
    if matches_state(&found, now) {
        Ok(())
    } else {
        Err(UndoError::Changed { path: one.path.clone() })
    }
}
