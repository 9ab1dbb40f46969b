//! What is active in a session, so that nothing is put into a context twice.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use skill::Digest;
use skill_fs::{AbsPath, FsError, make_private_folder};

use crate::SkillActivation;

/// Where sessions with a name are kept, below the state folder.
const FOLDER: &str = "sessions";
/// A session that nobody used for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The id of an active skill, and the digest of its content.
type Active = (String, String);

/// The session that activations belong to.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// What was activated here: ids and digests, by key.
    seen: HashMap<Digest, (String, String)>,
    /// Where it is kept across processes.
    folder: Option<AbsPath>,
    /// What files of it say. Their names are digests of that, so none ever says anything else.
    read: Mutex<HashMap<OsString, Active>>,
    /// Whether it should be kept and there is nowhere to.
    is_lost: bool,
}

impl Session {
    /// Returns a session. One with a name of the host's is kept in the state folder.
    pub(crate) fn new(named: Option<String>, made: String, state: Option<&AbsPath>) -> Self {
        let folder = named
            .as_ref()
            .zip(state)
            .map(|(id, state)| state.join(FOLDER).join(Digest::of(id.as_bytes()).short()));
        let is_lost = named.is_some() && folder.is_none();
        Self {
            id: named.unwrap_or(made),
            seen: HashMap::new(),
            folder,
            read: Mutex::default(),
            is_lost,
        }
    }

    /// Returns what tells an activation from others: the same skill in the same folder, the same content, the same
    /// arguments are the same.
    pub(crate) fn key(activation: &SkillActivation, path: &str, arguments: Option<&str>) -> Digest {
        let given = if arguments.is_some() { "with" } else { "without" };
        let parts =
            [given, &activation.skill_id, path, &activation.hash, arguments.unwrap_or_default()];
        Digest::of(parts.join("\0").as_bytes())
    }

    /// Returns true if the same was noted before.
    pub(crate) fn has(&self, key: &Digest) -> bool {
        self.seen.contains_key(key) || self.file(key).is_some_and(|file| file.as_path().is_file())
    }

    /// Notes an activation; returns true if somebody did just before.
    pub(crate) fn note(
        &mut self,
        key: Digest,
        activation: &SkillActivation,
    ) -> Result<bool, FsError> {
        let was_kept = match (self.folder.as_ref(), self.file(&key)) {
            (Some(folder), Some(file)) => keep(folder, &file, activation)?,
            _ => false,
        };
        let active = (activation.skill_id.clone(), activation.hash.clone());
        Ok(self.seen.insert(key, active).is_some() || was_kept)
    }

    /// Returns ids and digests of what is active, here and in other processes of a session that has a name. What cannot
    /// be read is an error: it may be a restriction.
    pub(crate) fn active(&self) -> Result<Vec<(String, String)>, FsError> {
        if self.is_lost {
            let source = io::Error::other("there is no folder for sessions: HOME is not set");
            return Err(FsError::Io { path: self.id.clone(), source });
        }
        let mut active: BTreeSet<(String, String)> = self.seen.values().cloned().collect();
        active.extend(self.kept()?.into_iter().map(|(_, one)| one));
        Ok(active.into_iter().collect())
    }

    /// Returns what a session that has a name keeps: files, each with an id and a digest.
    fn kept(&self) -> Result<Vec<(PathBuf, Active)>, FsError> {
        let mut all = Vec::new();
        let Some(folder) = &self.folder else { return Ok(all) };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |path: &Path, source| FsError::Io { path: path.display().to_string(), source };
        let entries = match fs::read_dir(folder.as_path()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(failed(folder.as_path(), error)),
        };
        for entry in entries {
            let path = entry.map_err(|error| failed(folder.as_path(), error))?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_owned();
            if let Some(one) = read.get(&name) {
                all.push((path, one.clone()));
                continue;
            }
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                // Another process ended it just now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(&path, error)),
            };
            let value: serde_json::Value =
                serde_json::from_str(&text).map_err(|error| failed(&path, error.into()))?;
            let field = |key: &str| value[key].as_str().map(str::to_owned);
            let broken = || failed(&path, io::Error::other("it is no activation"));
            let one = (field("skillId").ok_or_else(broken)?, field("hash").ok_or_else(broken)?);
            read.insert(name, one.clone());
            all.push((path, one));
        }
        Ok(all)
    }

    /// Forgets an activation.
    pub(crate) fn forget(&mut self, key: &Digest) {
        self.seen.remove(key);
        if let Some(file) = self.file(key) {
            // If it is gone already there is nothing to forget.
            let _ = fs::remove_file(file.as_path());
        }
    }

    /// Ends what is active of a skill, but for the content that `keep` names; returns true if anything was. What cannot be read or removed is an
    /// error: it may be a restriction.
    pub(crate) fn end(&mut self, skill_id: &str, keep: Option<&str>) -> Result<bool, FsError> {
        let is_meant = |id: &str, hash: &str| id == skill_id && keep != Some(hash);
        let before = self.seen.len();
        self.seen.retain(|_, (id, hash)| !is_meant(id, hash));
        let mut is_ended = self.seen.len() < before;
        for (path, (id, hash)) in self.kept()? {
            if is_meant(&id, &hash) {
                match fs::remove_file(&path) {
                    Ok(()) => is_ended = true,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(source) => {
                        return Err(FsError::Io { path: path.display().to_string(), source });
                    }
                }
            }
        }
        Ok(is_ended)
    }

    fn file(&self, key: &Digest) -> Option<AbsPath> {
        self.folder.as_ref().map(|folder| folder.join(format!("{}.json", key.short())))
    }
}

/// Makes the file of an activation; returns true if it was there. It is whole as soon as it is there.
fn keep(folder: &AbsPath, path: &AbsPath, activation: &SkillActivation) -> Result<bool, FsError> {
    let failed = |source| FsError::Io { path: path.to_string(), source };
    if !folder.as_path().is_dir() {
        forget_old(folder);
    }
    make_private_folder(folder)?;
    let text = serde_json::to_string_pretty(activation).map_err(|error| failed(error.into()))?;
    let mut file = tempfile::NamedTempFile::new_in(folder.as_path()).map_err(failed)?;
    file.write_all(format!("{text}\n").as_bytes()).map_err(failed)?;
    match file.persist_noclobber(path.as_path()) {
        Ok(_) => Ok(false),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(true),
        Err(error) => Err(failed(error.error)),
    }
}

/// Removes sessions that nobody used for long. They are ours alone, and only a help for the memory of a model.
fn forget_old(folder: &AbsPath) {
    let Some(sessions) = folder.parent() else { return };
    let Ok(entries) = fs::read_dir(sessions.as_path()) else { return };
    let now = SystemTime::now();
    for entry in entries.filter_map(Result::ok) {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = modified
            .is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > FORGOTTEN));
        if is_old {
            // Another process may be faster; then there is nothing to do.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
