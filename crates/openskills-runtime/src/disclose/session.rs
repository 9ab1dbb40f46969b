//! Tracks which skills are active in a session, so that instructions are not repeated in a model's context.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use skill::Digest;
use skill_fs::{AbsPath, FsError, make_private_folder};

use crate::SkillActivation;
use crate::state::own_files::remove_old;

/// The subfolder of the state folder for named sessions.
const FOLDER: &str = "sessions";
/// The file with the folder of the last command line.
const CURRENT: &str = "current-folder";
/// The file that stops a session.
const STOPPED: &str = "stopped";
/// Unused sessions are removed after this time.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The id of an active skill, and the digest of its content.
type Active = (String, String);

/// The session that activations belong to.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// Activations in this process, by key.
    seen: HashMap<Digest, (String, String)>,
    /// Where a named session is stored.
    folder: Option<AbsPath>,
    /// Parsed files of the session. Their names are digests of their content, so they never go stale.
    read: Mutex<HashMap<OsString, Active>>,
    /// Whether the session is named but there is no folder to store it in.
    has_no_folder: bool,
}

impl Session {
    /// Returns a session. A session with a name from the host is stored in the state folder.
    pub(crate) fn new(named: Option<String>, made: String, state: Option<&AbsPath>) -> Self {
        let folder = named
            .as_ref()
            .zip(state)
            .map(|(id, state)| state.join(FOLDER).join(Digest::of(id.as_bytes()).short()));
        let has_no_folder = named.is_some() && folder.is_none();
        Self {
            id: named.unwrap_or(made),
            seen: HashMap::new(),
            folder,
            read: Mutex::default(),
            has_no_folder,
        }
    }

    /// Returns the key of an activation. Activations with the same skill, folder, content and arguments have the same
    /// key.
    pub(crate) fn key(activation: &SkillActivation, path: &str, arguments: Option<&str>) -> Digest {
        let given = if arguments.is_some() { "with" } else { "without" };
        let parts =
            [given, &activation.skill_id, path, &activation.hash, arguments.unwrap_or_default()];
        Digest::of(parts.join("\0").as_bytes())
    }

    /// Returns true if an activation with this key was recorded.
    pub(crate) fn has(&self, key: &Digest) -> bool {
        self.seen.contains_key(key) || self.file(key).is_some_and(|file| file.as_path().is_file())
    }

    /// Records an activation; returns true if it was already recorded, possibly by another process.
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

    /// Returns ids and digests of the active skills, including those of other processes in a named session. Unreadable
    /// files are errors, because they may contain restrictions.
    pub(crate) fn active(&self) -> Result<Vec<(String, String)>, FsError> {
        if self.has_no_folder {
            let source = io::Error::other("cannot locate the session folder: HOME is not set");
            return Err(FsError::Io { path: self.id.clone(), source });
        }
        let mut active: BTreeSet<(String, String)> = self.seen.values().cloned().collect();
        active.extend(self.kept()?.into_iter().map(|(_, one)| one));
        Ok(active.into_iter().collect())
    }

    /// Returns the stored activations of a named session.
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
                // Another process has just deactivated it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(&path, error)),
            };
            let value: serde_json::Value =
                serde_json::from_str(&text).map_err(|error| failed(&path, error.into()))?;
            let field = |key: &str| value[key].as_str().map(str::to_owned);
            let broken = || failed(&path, io::Error::other("not a valid activation"));
            let one = (field("skillId").ok_or_else(broken)?, field("hash").ok_or_else(broken)?);
            read.insert(name, one.clone());
            all.push((path, one));
        }
        Ok(all)
    }

    /// Records the folder that the session's last command line ended in, and the folder of its caller.
    pub(crate) fn remember_folder(&self, caller: &Path, current: &Path) -> Result<(), FsError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        make_private_folder(folder)?;
        let file = folder.join(CURRENT);
        let failed = |source| FsError::Io { path: file.to_string(), source };
        let mut temporary = tempfile::NamedTempFile::new_in(folder.as_path()).map_err(failed)?;
        let text = [caller.as_os_str().as_encoded_bytes(), current.as_os_str().as_encoded_bytes()];
        temporary.write_all(&text.join(&0)).map_err(failed)?;
        temporary.persist(file.as_path()).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Returns the folder that the session's last command line ended in, if it still exists and the caller has not
    /// moved since.
    pub(crate) fn last_folder(&self, caller: &Path) -> Option<PathBuf> {
        let file = self.folder.as_ref()?.join(CURRENT);
        let text = fs::read_to_string(file.as_path()).ok()?;
        let (before, current) = text.split_once('\0')?;
        (Path::new(before) == caller && Path::new(current).is_dir()).then(|| current.into())
    }

    /// Records that the session must not go on, and why.
    pub(crate) fn stop(&self, reason: &str) -> Result<(), FsError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        make_private_folder(folder)?;
        let file = folder.join(STOPPED);
        let failed = |source| FsError::Io { path: file.to_string(), source };
        fs::write(file.as_path(), reason).map_err(failed)
    }

    /// Returns why the session must not go on, if it was stopped.
    pub(crate) fn stopped(&self) -> Result<Option<String>, FsError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let file = folder.join(STOPPED);
        match fs::read_to_string(file.as_path()) {
            Ok(reason) => Ok(Some(reason)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FsError::Io { path: file.to_string(), source }),
        }
    }

    /// Removes an activation.
    pub(crate) fn forget(&mut self, key: &Digest) {
        self.seen.remove(key);
        if let Some(file) = self.file(key) {
            // It may already be gone.
            let _ = fs::remove_file(file.as_path());
        }
    }

    /// Ends the activations of a skill, except of the version with digest `keep`; returns true if there were any. Files
    /// that cannot be read or removed are errors, because they may contain restrictions.
    pub(crate) fn end(&mut self, skill_id: &str, keep: Option<&str>) -> Result<bool, FsError> {
        let matches = |id: &str, hash: &str| id == skill_id && keep != Some(hash);
        let before = self.seen.len();
        self.seen.retain(|_, (id, hash)| !matches(id, hash));
        let mut is_ended = self.seen.len() < before;
        for (path, (id, hash)) in self.kept()? {
            if matches(&id, &hash) {
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

/// Writes the file of an activation atomically; returns true if it already existed.
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

/// Removes sessions that have not been used for a long time. Losing one only means that instructions are shown again.
fn forget_old(folder: &AbsPath) {
    let Some(sessions) = folder.parent() else { return };
    remove_old(sessions.as_path(), MAX_AGE, |session| fs::remove_dir_all(session));
}
