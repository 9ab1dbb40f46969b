//! Removes command files that no installed skill uses any more.
//!
//! Anything reachable from disk is in use: through the markers of the configured projects, of every consumer and of the
//! global scope, and through the commands in their folders. If a marker cannot be read, all command files of its skill
//! stay.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeSet;
use std::fs;
use std::io;

use serde_json::Value;
use skill::{Identifier, MARKER_FILE};
use skill_fs::{AbsPath, FsError, Root, write_file};
use skill_state::Receipts;

use crate::install::fingerprint_cache;
use crate::install::hook::{commands_folder, sync};
use crate::install::journal::remove_tree;
use crate::install::observe::read_marker;
use crate::install::shim::read_shim;
use crate::install::{BIN, Consumers, Mode, SKILLS};

/// What was removed, or would be in a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Command files, as `<skill>/<commit>`.
    pub runtimes: Vec<String>,
    /// Folders in which nothing is installed any more.
    pub consumers: Vec<AbsPath>,
    /// Deleted projects for which csk still had records.
    pub forgotten: Vec<AbsPath>,
    /// Why projects could not be read. If there are any, nothing was removed.
    pub unreadable: Vec<String>,
}

/// Who started the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// An install, as a side effect.
    Install,
    /// The user, with `csk gc`.
    User,
}

/// Created before a change and removed after the collection, so that an interrupted install is noticed.
const PENDING: &str = ".gc-pending";

/// Records that there is going to be garbage.
pub(crate) fn mark_garbage(home: &AbsPath) -> Result<(), FsError> {
    write_file(&home.join(PENDING), b"").map(|_| ())
}

/// Returns true if there may be uncollected garbage.
pub(crate) fn has_garbage(home: &AbsPath) -> bool {
    fs::symlink_metadata(home.join(PENDING).as_path()).is_ok()
}

/// Finds unused files and removes them, unless this is a dry run. `projects` are the configured ones. The caller must
/// hold the process lock.
pub fn collect(
    home: &AbsPath,
    projects: &[AbsPath],
    mode: Mode,
    caller: Caller,
) -> Result<Garbage, FsError> {
    let consumers = Consumers::read(home)?;
    let mut used = UsedFiles::default();
    let mut kept = Consumers::default();
    let mut garbage = Garbage::default();
    for root in consumers.0 {
        // A missing folder may come back, so only the user can have it forgotten.
        let is_away = caller == Caller::Install && !root.as_path().is_dir();
        if is_away {
            let receipts = Receipts::load(home, &root);
            let commits =
                receipts.commits().map(|(skill, commit)| (skill.to_owned(), commit.to_owned()));
            used.commits.extend(commits);
        }
        used.add_links(&root.join(BIN), home);
        if is_away || used.add(&root) {
            used.add_links(&commands_folder(home, &root), home);
            kept.0.insert(root);
        } else {
            garbage.consumers.push(root);
        }
    }
    for root in projects.iter().cloned().chain([home.join("global")]) {
        used.add_links(&root.join(BIN), home);
        used.add(&root);
    }
    garbage.unreadable.append(&mut used.unreadable);
    if !garbage.unreadable.is_empty() {
        // Their usage is unknown, so nothing is removed.
        return Ok(garbage);
    }
    for skill in folders(&home.join("runtime"))? {
        let folder = home.join("runtime").join(&skill);
        for commit in folders(&folder)? {
            if used.holds(&skill, &commit) {
                continue;
            }
            if mode == Mode::Apply {
                remove_tree(&folder.join(&commit))?;
            }
            garbage.runtimes.push(format!("{skill}/{commit}"));
        }
        if mode == Mode::Apply {
            // Fails unless the folder is empty.
            let _ = fs::remove_dir(folder.as_path());
        }
    }
    if caller == Caller::User {
        for folder in [Receipts::folder(home), fingerprint_cache::folder(home)] {
            garbage.forgotten.extend(forget(&folder, mode)?);
        }
        garbage.forgotten.sort();
        garbage.forgotten.dedup();
    }
    if mode == Mode::Apply {
        if !garbage.consumers.is_empty() {
            kept.write(home)?;
            sync(home, &kept)?;
        }
        // If it cannot be removed, the next run collects again.
        let _ = skill_fs::remove_file(&home.join(PENDING));
    }
    Ok(garbage)
}

/// Removes records of deleted projects and returns their folders. Files that csk cannot parse stay.
fn forget(folder: &AbsPath, mode: Mode) -> Result<Vec<AbsPath>, FsError> {
    let failed = |source| FsError::Io { path: folder.to_string(), source };
    let entries = match fs::read_dir(folder.as_path()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut gone = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let value: Option<Value> =
            fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let project = value.as_ref().and_then(|value| value["project"].as_str());
        let Some(project) = project.and_then(|project| AbsPath::new(project).ok()) else {
            continue;
        };
        let is_gone = fs::symlink_metadata(project.as_path())
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if is_gone {
            if mode == Mode::Apply {
                fs::remove_file(&path).map_err(failed)?;
            }
            gone.push(project);
        }
    }
    Ok(gone)
}

/// The command files that are in use.
#[derive(Default)]
struct UsedFiles {
    commits: BTreeSet<(String, String)>,
    /// Skills for which a marker could not be read.
    unknown: BTreeSet<String>,
    /// Why projects could not be read.
    unreadable: Vec<String>,
}

impl UsedFiles {
    /// Adds what is installed in a project; returns false if nothing is.
    fn add(&mut self, root: &AbsPath) -> bool {
        self.try_add(root).unwrap_or_else(|error| {
            self.unreadable.push(error.to_string());
            true
        })
    }

    fn try_add(&mut self, root: &AbsPath) -> Result<bool, FsError> {
        let folder = root.join(SKILLS);
        let mut has_some = false;
        for name in folders(&folder)? {
            let path = folder.join(&name);
            let marker = path.join(MARKER_FILE);
            match fs::symlink_metadata(marker.as_path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(FsError::Io { path: marker.to_string(), source }),
                Ok(_) => has_some = true,
            }
            let read = Root::open(&path).map(|root| read_marker(&root, marker.as_str()));
            match read {
                Ok(Ok((marker, _))) => {
                    self.commits.insert((marker.name.to_string(), marker.runtime_id().to_owned()));
                }
                Ok(Err(_)) | Err(_) => {
                    self.unknown.insert(name);
                }
            }
        }
        Ok(has_some)
    }

    /// Adds the targets of commands. A skill that could not be updated keeps its old ones.
    fn add_links(&mut self, folder: &AbsPath, home: &AbsPath) {
        let store = home.join("runtime");
        for entry in fs::read_dir(folder.as_path()).into_iter().flatten().flatten() {
            let Ok(place) = AbsPath::new(entry.path()) else { continue };
            let to = read_shim(&place).ok().flatten().and_then(|to| AbsPath::new(to).ok());
            let below = to.and_then(|to| store.below(&to));
            let mut parts = below.iter().flat_map(|below| below.split('/'));
            if let (Some(skill), Some(id)) = (parts.next(), parts.next()) {
                self.commits.insert((skill.to_owned(), id.to_owned()));
            }
        }
    }

    fn holds(&self, skill: &str, commit: &str) -> bool {
        self.unknown.contains(skill)
            || self.commits.contains(&(skill.to_owned(), commit.to_owned()))
    }
}

/// Returns the names of subfolders that csk may have created; empty if the folder does not exist.
fn folders(folder: &AbsPath) -> Result<Vec<String>, FsError> {
    let failed = |source: io::Error| FsError::Io { path: folder.to_string(), source };
    let entries = match fs::read_dir(folder.as_path()) {
        Ok(entries) => entries,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        let name = entry.file_name().into_string().ok();
        // A staging folder of an interrupted install starts with `.new-` and is removed as well.
        names.extend(name.filter(|name| {
            is_folder && (Identifier::new(name.as_str()).is_ok() || name.starts_with(".new-"))
        }));
    }
    names.sort_unstable();
    Ok(names)
}
