//! The command store: `runtime/<skill>/<commit>/` in csk's home folder contains a skill's command files.
//!
//! A folder is staged, then moved into place as a whole: read-only, with a list of the digests of its files. If it
//! differs from its list, it was tampered with and is written again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};
use skill::{Digest, Identifier, RelPath};
use skill_fs::{AbsPath, FsError, Root, fingerprint, replace_folder};
use skill_state::{
    COMMAND_FILES_LIST, CommandFileMode, command_files_path, compare_command_files, file_line,
    link_line,
};

use super::fingerprint_cache::{FingerprintCache, FolderRecord};
use super::journal::{remove_obstacle, remove_tree};
use super::write::{FileMode, io_error, seal, write_error, write_files, write_text};
use super::{SkillError, write};
use crate::sys::make_writable;
use crate::{CommandFiles, FileKind};

/// The command store.
#[derive(Debug)]
pub struct Store {
    layout: StoreLayout,
    seen: Mutex<FingerprintCache>,
    states: Mutex<States>,
}

/// The paths in the store. Does not access the disk.
#[derive(Debug, Clone)]
pub struct StoreLayout {
    home: AbsPath,
    folder: AbsPath,
}

impl StoreLayout {
    pub(super) fn new(home: &AbsPath) -> Self {
        Self { home: home.clone(), folder: home.join("runtime") }
    }

    /// Returns the folder of the command files of a skill's commit.
    pub(super) fn path(&self, skill: &Identifier, commit: &str) -> AbsPath {
        command_files_path(&self.home, skill.as_str(), commit)
    }

    /// Returns true if a path is inside the store.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.below(path).is_some()
    }

    /// Returns the skill that a file in the store belongs to.
    pub(super) fn skill_of(&self, path: &str) -> Option<Identifier> {
        let below = self.below(path)?;
        let (skill, _) = below.as_str().split_once('/')?;
        Identifier::new(skill).ok()
    }

    fn below(&self, path: &str) -> Option<RelPath> {
        RelPath::new(self.folder.below(&AbsPath::new(path).ok()?)?).ok()
    }
}

type States = BTreeMap<(Identifier, String), Arc<OnceLock<CommandFilesState>>>;

/// The state of a skill's command files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandFilesState {
    /// They match their list, which has this digest.
    Intact(Digest),
    /// Nothing.
    Missing,
    /// They differ; the text says how.
    Tampered(String),
}

impl Store {
    /// Opens the store in csk's home folder.
    pub fn new(home: &AbsPath) -> Self {
        let layout = StoreLayout::new(home);
        let seen = Mutex::new(FingerprintCache::load(home, &layout.folder));
        Self { layout, seen, states: Mutex::default() }
    }

    /// Opens the store without remembered fingerprints: every file is read.
    pub fn without_cache(home: &AbsPath) -> Self {
        let layout = StoreLayout::new(home);
        Self { layout, seen: Mutex::default(), states: Mutex::default() }
    }

    /// Returns how the command files of a skill's commit differ from what they should be, including their list.
    pub(crate) fn differs(
        &self,
        skill: &Identifier,
        commit: &str,
        list: &CommandFileList,
    ) -> Option<String> {
        match self.state(skill, commit) {
            CommandFilesState::Missing => Some("all are missing".to_owned()),
            CommandFilesState::Tampered(what) => Some(what),
            CommandFilesState::Intact(found) if found == list.digest => None,
            CommandFilesState::Intact(_) => Some("they do not match the commit".to_owned()),
        }
    }

    /// Returns the paths in the store.
    pub fn layout(&self) -> &StoreLayout {
        &self.layout
    }

    /// Returns the folder of the command files of a skill's commit.
    pub fn path(&self, skill: &Identifier, commit: &str) -> AbsPath {
        self.layout.path(skill, commit)
    }

    /// Checks the command files of a skill's commit, once per run.
    pub fn state(&self, skill: &Identifier, commit: &str) -> CommandFilesState {
        let slot = {
            let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(states.entry((skill.clone(), commit.to_owned())).or_default())
        };
        slot.get_or_init(|| {
            let place = self.path(skill, commit);
            match self.inspect(&place, &key(skill, commit)) {
                Ok(Ok(list)) => CommandFilesState::Intact(list),
                Ok(Err(difference)) => CommandFilesState::Tampered(difference),
                Err(FsError::NotFound { path }) if path == place.as_str() => {
                    CommandFilesState::Missing
                }
                Err(error) => CommandFilesState::Tampered(error.to_string()),
            }
        })
        .clone()
    }

    /// Returns the digest of the list, or how the files differ from it. An unchanged folder is not read.
    fn inspect(&self, place: &AbsPath, key: &str) -> Result<Result<Digest, String>, FsError> {
        let root = Root::open(place)?;
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = write::now();
        let print = fingerprint(&root)?;
        let known = print.and_then(|print| seen().recall(key, &print));
        if let Some(record) = known {
            let list = record.content.content;
            seen().remember(key.to_owned(), Some(record));
            return Ok(Ok(list));
        }
        let found = compare_command_files(&root)?;
        let settled = print.filter(|print| print.is_settled(now));
        let record = settled
            .zip(found.as_ref().ok())
            .map(|(print, list)| FolderRecord::of_command_files(print.digest, *list));
        seen().remember(key.to_owned(), record);
        Ok(found)
    }

    /// Writes the command files of a skill's commit. Modified files are backed up, since someone may have edited them;
    /// returns the backup's path.
    pub(super) fn put(
        &self,
        skill: &Identifier,
        commit: &str,
        runtime: &CommandFiles,
        list: &CommandFileList,
    ) -> Result<Option<AbsPath>, SkillError> {
        let place = self.path(skill, commit);
        let is_edited = matches!(self.state(skill, commit), CommandFilesState::Tampered(_));
        let staged = self.layout.folder.join(skill.as_str()).join(format!(".new-{commit}"));
        let failed = |error: FsError| write_error(&error);
        remove_tree(&staged).map_err(failed)?;
        write_files(&staged, &runtime.files, FileMode::ReadOnly)?;
        write_text(&staged.join(COMMAND_FILES_LIST), &list.text, FileMode::ReadOnly)?;
        seal(&staged).map_err(failed)?;
        let print = Root::open(&staged).and_then(|root| fingerprint(&root)).map_err(failed)?;
        let kept = if is_edited { Some(self.back_up(skill, &place)?) } else { None };
        remove_obstacle(&place).map_err(failed)?;
        replace_folder(&staged, &place).map_err(failed)?;
        remove_tree(&staged).map_err(failed)?;
        let record = print.map(|print| FolderRecord::of_command_files(print.digest, list.digest));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.remember(key(skill, commit), record);
        Ok(kept)
    }

    /// Moves modified command files to the backups.
    #[expect(clippy::disallowed_methods, reason = "the edge to the file system")]
    fn back_up(&self, skill: &Identifier, place: &AbsPath) -> Result<AbsPath, SkillError> {
        let backups = self.layout.home.join("backups");
        std::fs::create_dir_all(backups.as_path()).map_err(|error| io_error(&backups, &error))?;
        let kept = (0..1000)
            .map(|number| backups.join(format!("{skill}@runtime-{number}")))
            .find(|kept| std::fs::symlink_metadata(kept.as_path()).is_err())
            .ok_or_else(|| SkillError::Write(format!("too many backups in `{backups}`")))?;
        // A read-only folder cannot be moved.
        if let Ok(found) = std::fs::symlink_metadata(place.as_path())
            && found.is_dir()
        {
            make_writable(place.as_path(), &found).map_err(|error| io_error(place, &error))?;
        }
        skill_fs::rename(place, &kept).map_err(|error| io_error(&kept, &error))?;
        Ok(kept)
    }

    /// Stores the fingerprints for the next run.
    pub(super) fn save(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.keep_unvisited();
        seen.save(&self.layout.home, &self.layout.folder);
    }
}

fn key(skill: &Identifier, commit: &str) -> String {
    format!("{skill}/{commit}")
}

/// The list of command files, and its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandFileList {
    text: String,
    pub(super) digest: Digest,
}

impl CommandFileList {
    /// Creates the list: for each path its mode, and its digest or link target.
    pub(super) fn new(
        skill: &Identifier,
        commit: &str,
        runtime: &CommandFiles,
    ) -> Result<Self, SkillError> {
        let mut files = Map::new();
        for file in &runtime.files {
            let line = match file.kind {
                FileKind::Link => link_line(&file.text().unwrap_or_default()),
                FileKind::Plain | FileKind::Executable => {
                    let mut sha = Sha256::new();
                    file.content.feed(|bytes| {
                        sha.update(bytes);
                        Ok(())
                    })?;
                    let is_plain = file.kind == FileKind::Plain;
                    let kind =
                        if is_plain { CommandFileMode::Plain } else { CommandFileMode::Executable };
                    file_line(kind, sha.finalize().into())
                }
            };
            files.insert(file.path.to_string(), line.into());
        }
        let value = json!({ "commit": commit, "files": files, "name": skill.as_str(), "schema_version": 1 });
        let text = format!("{value:#}\n");
        Ok(Self { digest: Digest::of(text.as_bytes()), text })
    }
}
