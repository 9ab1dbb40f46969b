//! Where a log ends. The file has a fixed size, so that one write replaces it.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use skill_fs::AbsPath;

use super::LogError;

/// The name of the file.
pub(super) const FILE: &str = "head.json";
/// Its size: more than any head needs.
const SIZE: usize = 384;

/// Where a log ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    pub(super) schema_version: u32,
    /// How lines are linked.
    pub(super) chain: String,
    /// How many events there are.
    pub(super) events: u64,
    /// The first event of the last file.
    pub(super) first: u64,
    /// How many bytes the last file has.
    pub(super) size: u64,
    /// How many of them are the last line, with its line break.
    pub(super) last: u64,
    /// The digest of all that and the last line.
    pub(super) seal: String,
}

impl Head {
    /// Reads the head of the log in `folder`, if there is one.
    pub(super) fn load(folder: &AbsPath) -> Result<Option<Self>, LogError> {
        let path = folder.join(FILE);
        let bytes = match fs::read(path.as_path()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(LogError::Io { path: path.to_string(), source }),
        };
        let broken = |what: String| LogError::Broken { what: format!("{path} {what}") };
        let head: Self = serde_json::from_slice(&bytes)
            .map_err(|error| broken(format!("is malformed: {error}")))?;
        if head.schema_version != 1
            || head.last > head.size
            || (head.events == 0) != (head.size == 0)
        {
            return Err(broken("is malformed: it cannot be true".to_owned()));
        }
        Ok(Some(head))
    }

    /// Replaces the head of the log in `folder`.
    pub(super) fn save(&self, folder: &AbsPath) -> Result<File, LogError> {
        let path = folder.join(FILE);
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let mut bytes = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        bytes.resize(SIZE.max(bytes.len() + 1) - 1, b' ');
        bytes.push(b'\n');
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        private(&mut options);
        let mut file = options.open(path.as_path()).map_err(failed)?;
        file.write_all(&bytes).map_err(failed)?;
        Ok(file)
    }
}

/// Makes new files the user's alone.
pub(super) fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}
