//! Takes a commit back: all of it, or nothing.
//!
//! What stands against it is found first. What is to be put back is written to a folder of our own in the workspace before anything is touched; then
//! each path changes by one step, which can be reversed. After every step each path is as it was before the commit or as the commit left it,
//! so that the next call completes what a killed one began.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock, mkdirat, openat, symlinkat};
use skill::Digest;

use super::commit::may_write;
use super::layer::{names, open_below, open_folder};
use super::undo::state;
use super::work::{self, Work, clear_leftover, give, give_link, new_name};
use crate::undo::{Owner, Replaced, State, UndoError, kept_name};

pub(crate) fn check(
    workspace: &Path,
    folder: &Path,
    replaced: &[Replaced],
) -> Result<Vec<PathBuf>, UndoError> {
    let host = open_folder(workspace).map_err(failed(workspace))?;
    Ok(plan(&host, folder, replaced)?.stay.into_iter().collect())
}

pub(crate) fn take_back(
    workspace: &Path,
    folder: &Path,
    replaced: &[Replaced],
) -> Result<Vec<PathBuf>, UndoError> {
    // Two at once would remove what the other has staged.
    let _held = lock(folder)?;
    let host = open_folder(workspace).map_err(failed(workspace))?;
    let mut plan = plan(&host, folder, replaced)?;
    let kept = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = format!(".openskills-undo-{kept}.tmp");
    clear_leftover(&host, &name).map_err(failed(Path::new(&name)))?;
    if !plan.is_done(replaced) {
        let mut work = Work::new(host, name).map_err(failed(workspace))?;
        let done = stage_all(&work, &plan, folder, replaced)
            .and_then(|()| carry_out(&mut work, &plan, replaced));
        if let Err(error) = done {
            return Err(match work.take_back() {
                Ok(()) => error,
                Err((paths, _)) => UndoError::Partly { paths, because: error.to_string() },
            });
        }
        work.clear("old-");
        // It is all taken back; what cannot be removed of our own folder is named.
        plan.stay.extend(work.finish().err());
    }
    Ok(plan.stay.into_iter().collect())
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

/// What is there now, and what of it stays.
struct Plan {
    /// What is at each path.
    now: Vec<State>,
    /// Folders that the commit made, with something else in them.
    stay: BTreeSet<PathBuf>,
}

impl Plan {
    /// Returns true if every path is as it was before the commit.
    fn is_done(&self, replaced: &[Replaced]) -> bool {
        let mut all = self.now.iter().zip(replaced);
        all.all(|(now, one)| is_like(now, &one.before) || self.stay.contains(&one.path))
            && self.now.iter().zip(replaced).all(|(now, one)| mark_of(now, &one.before).is_none())
    }
}

/// Finds whatever stands against it, without touching anything.
fn plan(host: &OwnedFd, folder: &Path, replaced: &[Replaced]) -> Result<Plan, UndoError> {
    let mut now = Vec::new();
    for (number, one) in replaced.iter().enumerate() {
        let found = state(host, &one.path).map_err(failed(&one.path))?;
        let is_before = is_like(&found, &one.before);
        if !is_before && !is_like(&found, &one.after) {
            return Err(UndoError::Changed { path: one.path.clone() });
        }
        if !is_before {
            kept(folder, number, one)?;
            may_write(host, &one.path).map_err(failed(&one.path))?;
        }
        now.push(found);
    }
    let known: BTreeSet<&Path> = replaced.iter().map(|one| one.path.as_path()).collect();
    for (_, one) in now.iter().zip(replaced).filter(|(found, _)| **found == State::Nothing) {
        has_way(host, one, &known)?;
    }
    let gone: BTreeSet<&Path> = replaced
        .iter()
        .filter(|one| one.before == State::Nothing)
        .map(|one| one.path.as_path())
        .collect();
    let mut stay = BTreeSet::new();
    // From below, since what stays in a folder keeps the folder.
    for (found, one) in now.iter().zip(replaced).rev() {
        let is_going =
            matches!(found, State::Folder { .. }) && !matches!(one.before, State::Folder { .. });
        if !is_going {
            continue;
        }
        let inside = open_below(host, &one.path, OFlags::DIRECTORY).and_then(|open| names(&open));
        for name in inside.map_err(failed(&one.path))? {
            let path = one.path.join(name);
            if gone.contains(path.as_path()) && !stay.contains(&path) {
                continue;
            }
            if one.before != State::Nothing {
                // Something else was there, and has to be again.
                return Err(UndoError::Changed { path });
            }
            stay.insert(one.path.clone());
        }
    }
    Ok(Plan { now, stay })
}

/// Makes sure that nobody removed the folders on the way to where nothing is, or put something else in their place. What the commit itself did to them
/// is taken back with it.
fn has_way(host: &OwnedFd, one: &Replaced, known: &BTreeSet<&Path>) -> Result<(), UndoError> {
    let above = one.path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    for path in above.filter(|path| !known.contains(path)) {
        match state(host, path).map_err(failed(path))? {
            State::Folder { .. } => {}
            // What is to be gone there is.
            State::Nothing if one.before == State::Nothing => {}
            State::Nothing | State::File { .. } | State::Link { .. } | State::Other => {
                return Err(UndoError::Changed { path: path.to_owned() });
            }
        }
    }
    Ok(())
}

/// Returns true if something is as it was noted. Owners are not compared, since not everybody can give them back; nor is whether the owner of a folder
/// may enter it, which has to be while something in it changes.
fn is_like(now: &State, noted: &State) -> bool {
    match (now, noted) {
        (State::Folder { mode: ours, .. }, State::Folder { mode, .. }) => {
            ours | 0o700 == mode | 0o700
        }
        (State::File { mode: ours, sha256: digest, .. }, State::File { mode, sha256, .. }) => {
            ours == mode && digest == sha256
        }
        (State::Link { target: ours, .. }, State::Link { target, .. }) => ours == target,
        (State::Nothing, State::Nothing) => true,
        (
            State::Folder { .. }
            | State::File { .. }
            | State::Link { .. }
            | State::Nothing
            | State::Other,
            _,
        ) => false,
    }
}

/// Returns the rights and the owner that a folder is to have again.
fn mark_of(now: &State, before: &State) -> Option<(u32, Option<work::Owner>)> {
    match before {
        State::Folder { mode, owner } if now != before => {
            Some((*mode, owner.map(|owner| (owner.user, owner.group))))
        }
        State::Folder { .. }
        | State::Nothing
        | State::File { .. }
        | State::Link { .. }
        | State::Other => None,
    }
}

/// Returns what a file held before the commit.
fn kept(folder: &Path, number: usize, one: &Replaced) -> Result<Vec<u8>, UndoError> {
    let lost = || UndoError::Lost { path: one.path.clone() };
    match &one.before {
        State::File { sha256, .. } => {
            let bytes = std::fs::read(folder.join(kept_name(number))).map_err(|_| lost())?;
            if Digest::of(&bytes).to_string() == *sha256 { Ok(bytes) } else { Err(lost()) }
        }
        State::Other => Err(lost()),
        State::Nothing | State::Folder { .. } | State::Link { .. } => Ok(Vec::new()),
    }
}

/// Returns true if a folder is to be a folder again: then it stays, and only its rights change.
fn is_same_folder(now: &State, before: &State) -> bool {
    matches!((now, before), (State::Folder { .. }, State::Folder { .. }))
}

/// Writes everything that is to be put back to our own folder.
fn stage_all(
    work: &Work,
    plan: &Plan,
    folder: &Path,
    replaced: &[Replaced],
) -> Result<(), UndoError> {
    for (number, (now, one)) in plan.now.iter().zip(replaced).enumerate() {
        if is_like(now, &one.before) || is_same_folder(now, &one.before) {
            continue;
        }
        let bytes = kept(folder, number, one)?;
        stage(work, number, &one.before, &bytes).map_err(failed(&one.path))?;
    }
    Ok(())
}

fn stage(work: &Work, number: usize, before: &State, bytes: &[u8]) -> io::Result<()> {
    let name = new_name(number);
    let own = |owner: &Owner| (owner.user, owner.group);
    match before {
        State::Nothing | State::Other => {}
        // Its own rights come last, when everything is in it.
        State::Folder { mode, .. } => {
            mkdirat(&work.own, &name, Mode::RWXU)?;
            let made = open_below(&work.own, Path::new(&name), OFlags::DIRECTORY)?;
            fchmod(made, Mode::from_raw_mode(mode | 0o700))?;
        }
        State::Link { target, owner } => {
            symlinkat(target, &work.own, &name)?;
            if let Some(owner) = owner {
                give_link(&work.own, &name, own(owner));
            }
        }
        State::File { mode, owner, .. } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut file = File::from(openat(&work.own, &name, flags, Mode::RUSR | Mode::WUSR)?);
            file.write_all(bytes)?;
            if let Some(owner) = owner {
                give(&file.as_fd().try_clone_to_owned()?, own(owner));
            }
            fchmod(&file, Mode::from_raw_mode(*mode))?;
        }
    }
    Ok(())
}

fn carry_out(work: &mut Work, plan: &Plan, replaced: &[Replaced]) -> Result<(), UndoError> {
    let all = || plan.now.iter().zip(replaced).enumerate();
    let mut all_back: Vec<_> = all().collect();
    all_back.reverse();
    // What came goes, the deepest first; then what went comes back, from above.
    for (number, (now, one)) in &all_back {
        let is_gone = is_like(now, &one.before) || plan.stay.contains(&one.path);
        if one.before == State::Nothing && !is_gone {
            unchanged(work, now, one)?;
            match now {
                State::Folder { .. } => work.remove_folder(&one.path),
                State::Nothing | State::File { .. } | State::Link { .. } | State::Other => {
                    work.put_aside(*number, &one.path)
                }
            }
            .map_err(failed(&one.path))?;
        }
    }
    for (number, (now, one)) in all() {
        let is_there = is_like(now, &one.before) || is_same_folder(now, &one.before);
        if one.before == State::Nothing || is_there {
            continue;
        }
        unchanged(work, now, one)?;
        if *now == State::Nothing {
            work.place(number, &one.path).map_err(failed(&one.path))?;
            continue;
        }
        work.exchange(number, &one.path).map_err(failed(&one.path))?;
        if !work.is_bare(number).map_err(failed(&one.path))? {
            return Err(UndoError::Changed { path: one.path.clone() });
        }
    }
    for (_, (now, one)) in &all_back {
        if let Some((mode, owner)) = mark_of(now, &one.before) {
            work.mark(&one.path, mode, owner).map_err(failed(&one.path))?;
        }
    }
    Ok(())
}

/// Makes sure, just before a path changes, that nobody else has changed it.
fn unchanged(work: &Work, now: &State, one: &Replaced) -> Result<(), UndoError> {
    let found = state(&work.host, &one.path).map_err(failed(&one.path))?;
    // A file in place of a folder: what was in it comes back only after it.
    if is_like(&found, now) { Ok(()) } else { Err(UndoError::Changed { path: one.path.clone() }) }
}
