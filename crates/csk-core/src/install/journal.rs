//! What an install is about to make in a project, written down before it does.
//!
//! A ledger says what csk made; it is written when an install is done. If the install is killed before,
//! the journal tells the next one which entries are csk's all the same, and which folder is its leavings.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::BTreeMap;
use std::fs;
use std::io;

use serde_json::{Value, json};
use skill::Identifier;
use skill_fs::{AbsPath, FsError, Root, write_file};

use super::observe::{read_ledger, read_marker};
use super::plan::link_text;
use super::{SKILLS, Target};
use crate::{LEDGER_FILE, Ledger};

const JOURNAL: &str = ".agents/.csk-journal.json";
const STAGE: &str = ".agents/.csk-stage";

/// The entries that an install adds, by folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Journal {
    pub(super) adds: BTreeMap<String, Vec<Identifier>>,
}

/// Returns the folder in which an install prepares what it writes.
pub(super) fn stage(target: &Target) -> AbsPath {
    target.root.join(STAGE)
}

impl Journal {
    /// Writes the journal, and makes the folder for staging.
    pub(super) fn begin(&self, target: &Target) -> Result<(), FsError> {
        let stage = stage(target);
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

    /// Removes what is left of an install that is done.
    pub(super) fn end(target: &Target) -> Result<(), FsError> {
        let stage = stage(target);
        ignore_missing(fs::remove_dir_all(stage.as_path()), &stage)?;
        let journal = target.root.join(JOURNAL);
        ignore_missing(fs::remove_file(journal.as_path()), &journal)
    }
}

/// Finishes what a killed install left: its entries go into the ledgers, its leavings away.
pub(super) fn recover(target: &Target) -> Result<(), FsError> {
    let path = target.root.join(JOURNAL);
    let text = match fs::read_to_string(path.as_path()) {
        Ok(text) => text,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(());
        }
        Err(source) => return Err(failed(&path, source)),
    };
    // A journal is replaced in one step, so one that cannot be read is not from a killed install of ours.
    let journal: Value =
        serde_json::from_str(&text).map_err(|error| failed(&path, io::Error::other(error)))?;
    for (folder, names) in journal["adds"].as_object().into_iter().flatten() {
        let root = target.root.join(folder);
        let mut ledger = read_ledger(&root)?;
        let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
        let ours = names
            .filter_map(|name| Identifier::new(name).ok())
            .filter(|name| is_ours(&root, folder, name));
        ledger.entries.extend(ours);
        write_ledger(&root, &ledger)?;
    }
    Journal::end(target)
}

/// Returns true if what is at the place of an announced entry can only have been made by csk.
fn is_ours(root: &AbsPath, folder: &str, name: &Identifier) -> bool {
    let path = root.join(name.as_str());
    if let Ok(link) = fs::read_link(path.as_path()) {
        return folder != SKILLS && link.to_string_lossy() == link_text(folder, name.as_str());
    }
    let marker = Root::open(&path).ok().and_then(|root| read_marker(&root, path.as_str()).ok());
    marker.is_some_and(|marker| marker.name == *name)
}

/// Writes the ledger of a folder; an empty one goes away.
pub(super) fn write_ledger(folder: &AbsPath, ledger: &Ledger) -> Result<(), FsError> {
    let path = folder.join(LEDGER_FILE);
    if ledger.entries.is_empty() {
        return ignore_missing(fs::remove_file(path.as_path()), &path);
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
