//! Records what an install is about to create in a project.
//!
//! A ledger lists what csk created; it is written when an install finishes. If the install is killed before that, the
//! journal tells the next one which entries belong to csk anyway, and which folder to clean up.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::fs;
use std::io;

use serde_json::{Value, json};
use skill::{Identifier, LEDGER_FILE};
use skill_fs::{AbsPath, FsError, Root, WalkLimits, digests, read_text, walk, write_file};

use super::observe::{read_ledger, read_marker};
use super::plan::is_edited;
use super::shim::read_shim;
use super::{BIN, SKILLS, Store, Target};
use crate::sys::{make_writable, read_link};
use crate::text::read_json;
use crate::{Agents, Ledger};

const JOURNAL: &str = ".agents/.csk-journal.json";
const STAGE: &str = ".agents/.csk-stage";

/// The entries that an install adds, by folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Journal {
    pub(super) adds: BTreeMap<String, Vec<Identifier>>,
}

/// The folder for backups of the user's edits.
const BACKUPS: &str = ".agents/backups";

/// Returns the folder in which an install stages what it writes.
pub(super) fn stage(target: &Target) -> AbsPath {
    target.root.join(STAGE)
}

impl Journal {
    /// Reads the journal of an interrupted install, if there is one.
    pub(super) fn read(target: &Target) -> Result<Option<Self>, FsError> {
        let path = target.root.join(JOURNAL);
        let Some(text) = read_text(&path)? else { return Ok(None) };
        // A journal is replaced atomically, so a malformed one does not come from an interrupted install of csk.
        let value: Value = read_json(&text).map_err(|error| {
            let what =
                "not a csk journal; delete it if no other csk process is running in this project";
            failed(&path, io::Error::other(format!("{error}; {what}")))
        })?;
        let names = |names: &Value| -> Vec<Identifier> {
            let texts = names.as_array().into_iter().flatten().filter_map(Value::as_str);
            texts.filter_map(|name| Identifier::new(name).ok()).collect()
        };
        let adds = value["adds"].as_object().into_iter().flatten();
        Ok(Some(Self { adds: adds.map(|(folder, all)| (folder.clone(), names(all))).collect() }))
    }

    /// Writes the journal and creates the staging folder.
    pub(super) fn begin(&self, target: &Target) -> Result<(), FsError> {
        let stage = stage(target);
        // Without a journal no install is running, so the stage contains only leftovers.
        remove_tree(&stage)?;
        fs::create_dir_all(stage.as_path()).map_err(|source| failed(&stage, source))?;
        let adds: BTreeMap<&str, Vec<&str>> = self
            .adds
            .iter()
            .map(|(folder, names)| {
                (folder.as_str(), names.iter().map(Identifier::as_str).collect())
            })
            .collect();
        let text = format!("{:#}\n", json!({ "adds": adds, "schema_version": 1 }));
        write_file(&target.root.join(JOURNAL), text.as_bytes()).map(|_| ())
    }

    /// Cleans up after a finished install. The stage never contains anything of the user's.
    pub(super) fn end(target: &Target) -> Result<(), FsError> {
        let stage = stage(target);
        remove_tree(&stage)?;
        let journal = target.root.join(JOURNAL);
        ignore_missing(skill_fs::remove_file(&journal), &journal)
    }
}

/// Returns true if the entry `name` in `folder` is exactly what csk created: the same link, or a folder that is byte
/// for byte what was installed.
pub(super) fn is_pristine(target: &Target, folder: &str, name: &Identifier) -> bool {
    let path = target.folder(folder).join(name.as_str());
    if let Ok(Some(link)) = read_link(&path) {
        return folder != SKILLS && link == target.link_text(folder, name);
    }
    let Ok(root) = Root::open(&path) else { return false };
    is_untouched(&root)
}

/// Returns true if a folder is byte for byte what its marker says.
pub(super) fn is_untouched(root: &Root) -> bool {
    let found = walk(root, &WalkLimits::SKILL).and_then(|entries| digests(root, &entries));
    let marker = read_marker(root, root.path().as_str());
    marker.is_ok_and(|(marker, _)| found.is_ok_and(|found| !is_edited(&marker, &found)))
}

/// Returns a free path in the backups folder.
pub(super) fn free_backup_path(target: &Target, name: &str) -> Result<AbsPath, FsError> {
    let folder = target.root.join(BACKUPS);
    fs::create_dir_all(folder.as_path()).map_err(|source| failed(&folder, source))?;
    let mut place = folder.join(name);
    for number in 1.. {
        if fs::symlink_metadata(place.as_path()).is_err() {
            break;
        }
        place = folder.join(format!("{name}-{number}"));
    }
    Ok(place)
}

/// Removes one of csk's folders, even if parts of it are not writable.
pub(crate) fn remove_tree(path: &AbsPath) -> Result<(), FsError> {
    match skill_fs::remove_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_tree_writable(path).map_err(|source| failed(path, source))?;
            ignore_missing(skill_fs::remove_folder(path), path)
        }
        done => ignore_missing(done, path),
    }
}

/// Removes anything but a folder at the path of one of csk's own folders.
pub(super) fn remove_obstacle(path: &AbsPath) -> Result<(), FsError> {
    match fs::symlink_metadata(path.as_path()) {
        Ok(metadata) if !metadata.is_dir() => ignore_missing(skill_fs::remove_file(path), path),
        _ => Ok(()),
    }
}

/// Makes every folder at or below `path` writable for its owner; links are not followed.
fn make_tree_writable(path: &AbsPath) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path.as_path())?;
    if !metadata.is_dir() {
        return Ok(());
    }
    make_writable(path.as_path(), &metadata)?;
    for entry in fs::read_dir(path.as_path())? {
        if let Ok(name) = entry?.file_name().into_string() {
            make_tree_writable(&path.join(name))?;
        }
    }
    Ok(())
}

/// Completes an interrupted install: adds its entries to the ledgers and cleans up its stage.
pub fn finish_interrupted(target: &Target, agents: &Agents, store: &Store) -> Result<(), FsError> {
    let Some(journal) = Journal::read(target)? else { return Ok(()) };
    // A checkout may contain a journal: only folders that csk manages are accepted.
    let known: Vec<String> = agents
        .adapter_folders(target.scope)
        .into_iter()
        .chain(target.adapters())
        .chain([SKILLS.to_owned(), BIN.to_owned()])
        .collect();
    let pending = Some(journal);
    for folder in known
        .iter()
        .filter(|folder| pending.iter().any(|journal| journal.adds.contains_key(*folder)))
    {
        let root = target.folder(folder);
        let mut ledger = read_ledger(&root)?;
        ledger.entries.extend(journaled_entries(&pending, target, folder, store));
        write_ledger(&root, &ledger)?;
    }
    Journal::end(target)
}

/// Returns the entries of `folder` that an interrupted install recorded and created.
pub(super) fn journaled_entries(
    journal: &Option<Journal>,
    target: &Target,
    folder: &str,
    store: &Store,
) -> Vec<Identifier> {
    let names = journal.iter().filter_map(|journal| journal.adds.get(folder)).flatten();
    names.filter(|name| is_ours(target, folder, name, store)).cloned().collect()
}

/// Returns true if the entry at the recorded path can only have been created by csk.
fn is_ours(target: &Target, folder: &str, name: &Identifier, store: &Store) -> bool {
    if folder != BIN {
        return is_created_by_csk(target, folder, name);
    }
    let link = read_shim(&target.shim(name)).ok().flatten();
    link.is_some_and(|link| store.layout().holds(&link))
}

/// Returns true if a skill's entry in `folder` can only have been created by csk.
pub(super) fn is_created_by_csk(target: &Target, folder: &str, name: &Identifier) -> bool {
    let path = target.folder(folder).join(name.as_str());
    if let Ok(Some(link)) = read_link(&path) {
        return folder != SKILLS && link == target.link_text(folder, name);
    }
    let marker = Root::open(&path).ok().and_then(|root| read_marker(&root, path.as_str()).ok());
    marker.is_some_and(|(marker, _)| marker.name == *name)
}

/// Writes the ledger of a folder; removes it if it is empty.
pub(super) fn write_ledger(folder: &AbsPath, ledger: &Ledger) -> Result<(), FsError> {
    let path = folder.join(LEDGER_FILE);
    if ledger.entries.is_empty() {
        return ignore_missing(skill_fs::remove_file(&path), &path);
    }
    fs::create_dir_all(folder.as_path()).map_err(|source| failed(folder, source))?;
    write_file(&path, ledger.to_json().as_bytes()).map(|_| ())
}

fn ignore_missing(result: io::Result<()>, path: &AbsPath) -> Result<(), FsError> {
    match result {
        Err(error)
            if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Err(failed(path, error))
        }
        _ => Ok(()),
    }
}

fn failed(path: &AbsPath, source: io::Error) -> FsError {
    FsError::Io { path: path.to_string(), source }
}
