//! What is active in a session, so that nothing is put into a context twice.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use skill::Digest;
use skill_fs::{AbsPath, FsError};

use crate::SkillActivation;
use crate::state::make_private_folder;

/// Where sessions with a name are kept, below the state folder.
const FOLDER: &str = "sessions";
/// A session that nobody used for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The session that activations belong to.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    seen: HashSet<Digest>,
    /// Where it is kept across processes.
    folder: Option<AbsPath>,
}

impl Session {
    /// Returns a session. One with a name of the host's is kept in the state folder.
    pub(crate) fn new(named: Option<String>, made: String, state: Option<&AbsPath>) -> Self {
        let folder = named.as_ref().zip(state).map(|(id, state)| {
            let digest = Digest::of(id.as_bytes()).to_string();
            state.join(FOLDER).join(&digest["sha256:".len()..][..32])
        });
        Self { id: named.unwrap_or(made), seen: HashSet::new(), folder }
    }

    /// Notes an activation; returns true if the same was noted before. The same means the same skill with the same
    /// content and the same arguments.
    pub(crate) fn note(
        &mut self,
        activation: &SkillActivation,
        arguments: Option<&str>,
    ) -> Result<bool, FsError> {
        let parts = [&activation.skill_id, &activation.hash, arguments.unwrap_or_default()];
        let given = if arguments.is_some() { "with" } else { "without" };
        let key = Digest::of(format!("{given}\0{}", parts.join("\0")).as_bytes());
        if !self.seen.insert(key) {
            return Ok(true);
        }
        match &self.folder {
            None => Ok(false),
            Some(folder) => keep(folder, &key, activation),
        }
    }
}

/// Makes the file of an activation; returns true if it was there. Of two at the same time one makes it.
fn keep(folder: &AbsPath, key: &Digest, activation: &SkillActivation) -> Result<bool, FsError> {
    let path = folder.join(format!("{}.json", &key.to_string()["sha256:".len()..][..32]));
    let failed = |source| FsError::Io { path: path.to_string(), source };
    if !folder.as_path().is_dir() {
        forget_old(folder);
    }
    make_private_folder(folder)?;
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path.as_path()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(true),
        Err(error) => return Err(failed(error)),
    };
    let text = serde_json::to_string_pretty(activation).map_err(|error| failed(error.into()))?;
    file.write_all(format!("{text}\n").as_bytes()).map_err(failed)?;
    Ok(false)
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
