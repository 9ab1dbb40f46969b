//! Changes of command lines that conflict with changes that something else made meanwhile. They are kept until the user
//! decides which side to take.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sandbox::{ApplyError, Change, Conflict, GitData, Layer, StoredLayer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skill_fs::{AbsPath, FsError, make_private_folder};

use crate::RuntimeError;
use crate::run::run_folder::remove_all;
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::state::own_files::read_json;

/// The folder of kept changes, in the cache folder, where the layers are.
const FOLDER: &str = "kept";
/// Describes kept changes.
const RECORD: &str = "kept.json";
/// The writes.
const LAYER: &str = "layer";
/// The maximum size of a description.
const MAX_BYTES: u64 = 4 << 20;
/// How many changed files a description lists.
const MAX_LISTED: usize = 1000;

/// Changes of a command line that were not applied because of a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptChanges {
    /// ID of the changes: the ID of the execution.
    pub id: String,
    /// Session ID.
    pub session_id: String,
    /// The command line, with secrets redacted.
    pub command: String,
    /// The folder that it worked in.
    pub workspace: PathBuf,
    /// The files that something else changed meanwhile, and what happened to them.
    pub conflicts: Vec<String>,
    /// The first of the changes.
    pub changes: Vec<String>,
    /// How many changes there are.
    pub change_count: usize,
}

/// Which side of a conflict to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What the command wrote.
    Command,
    /// What is in the workspace.
    Workspace,
}

/// Keeps a layer whose changes conflict.
pub(super) fn keep(
    cache: &AbsPath,
    layer: &Path,
    kept: KeptChanges,
) -> Result<KeptChanges, RuntimeError> {
    let folder = cache.join(FOLDER);
    make_private_folder(&folder)?;
    let own = folder.join(&kept.id);
    let failed = |source| FsError::Io { path: own.to_string(), source };
    make_private_folder(&own)?;
    let text = serde_json::to_string_pretty(&kept).map_err(|error| failed(error.into()))?;
    fs::write(own.join(RECORD).as_path(), text).map_err(failed)?;
    fs::rename(layer, own.join(LAYER).as_path()).map_err(failed)?;
    Ok(kept)
}

/// Returns the changes that are not refused.
pub(super) fn allowed(changes: &[Change]) -> Vec<Change> {
    changes.iter().filter(|change| change.refused.is_none()).cloned().collect()
}

/// Applies changes. Files that something else added to a deleted folder stay, and are no error.
pub(super) fn apply(layer: &Layer, changes: &[Change]) -> Result<(), ApplyError> {
    match layer.apply(changes) {
        Err(ApplyError::LeftoversKept { .. }) => Ok(()),
        done => done,
    }
}

/// Describes conflicts, one line each.
pub(super) fn conflict_lines(conflicts: &[Conflict]) -> Vec<String> {
    let line = |one: &Conflict| format!("{}: {}", one.path.display(), one.what);
    conflicts.iter().take(MAX_LISTED).map(line).collect()
}

/// Describes changes, one line each.
pub(super) fn change_lines(changes: &[Change]) -> Vec<String> {
    let line = |change: &Change| format!("{} {}", change.kind.as_str(), change.shown());
    changes.iter().take(MAX_LISTED).map(line).collect()
}

impl OpenSkillRuntime {
    /// Returns all kept changes, sorted by ID. Leftovers that cannot be read are errors.
    pub fn kept_changes(&self) -> Result<Vec<KeptChanges>, RuntimeError> {
        let folder = self.kept_folder()?;
        let failed = |source| FsError::Io { path: folder.to_string(), source };
        let entries = match fs::read_dir(folder.as_path()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error).into()),
        };
        let mut all = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            if let Some(id) = name.to_str().filter(|id| is_id(id)) {
                all.extend(self.read_kept(id)?);
            }
        }
        all.sort_by(|one: &KeptChanges, other| one.id.cmp(&other.id));
        Ok(all)
    }

    /// Takes one side of a conflict, given an ID or its unique beginning. With [`Side::Command`], everything that the
    /// command wrote is applied, over what is in the workspace; with [`Side::Workspace`], it is discarded.
    pub fn resolve_kept(&mut self, id: &str, side: Side) -> Result<KeptChanges, RuntimeError> {
        let all = self.kept_changes()?;
        let found: Vec<&KeptChanges> = all.iter().filter(|kept| kept.id.starts_with(id)).collect();
        let [kept] = found.as_slice() else {
            let ids: Vec<&str> = all.iter().map(|kept| kept.id.as_str()).collect();
            let message = match found.len() {
                0 => format!("no kept changes with ID `{id}`"),
                _ => format!("several kept changes have an ID that begins with `{id}`"),
            };
            let hint = (!ids.is_empty()).then(|| format!("available: {}", ids.join(", ")));
            return Err(RuntimeError::Setup { message, hint });
        };
        let own = self.kept_folder()?.join(&kept.id);
        if side == Side::Command {
            let _lock = self.lock_workspace(&kept.workspace)?;
            let failed = |error: ApplyError| RuntimeError::Setup {
                message: format!("cannot apply the kept changes: {error}"),
                hint: Some("they are still kept".to_owned()),
            };
            // Only what changes from now on is a conflict.
            let folder = own.join(LAYER);
            let stored = StoredLayer {
                folder: folder.as_path(),
                workspace: &kept.workspace,
                since: SystemTime::now(),
                git: GitData::Writable,
            };
            let layer = stored.open().map_err(failed)?;
            let changes = layer.changes().map_err(failed)?;
            apply(&layer, &allowed(&changes)).map_err(failed)?;
        }
        remove_all(own.as_path())
            .map_err(|source| FsError::Io { path: own.to_string(), source })?;
        Ok((*kept).clone())
    }

    fn kept_folder(&self) -> Result<AbsPath, RuntimeError> {
        Ok(self.places()?.cache.as_ref().ok_or_else(no_state_folder)?.join(FOLDER))
    }

    fn read_kept(&self, id: &str) -> Result<Option<KeptChanges>, RuntimeError> {
        let path = self.kept_folder()?.join(id).join(RECORD);
        // Without a description, keeping them was interrupted before anything was kept.
        let Some(kept) = read_json::<KeptChanges>(&path, MAX_BYTES)? else { return Ok(None) };
        if kept.id != id {
            let source = io::Error::other("the file describes other changes");
            return Err(FsError::Io { path: path.to_string(), source }.into());
        }
        Ok(Some(kept))
    }
}

/// Returns true for the ID of an execution.
fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}
