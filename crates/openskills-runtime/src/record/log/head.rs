//! Records where a log ends. The file has a fixed size, so a single write replaces it.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use skill_fs::AbsPath;

use super::LogError;
use super::chain::{Chain, text};

pub(super) const FILE: &str = "head.json";
/// Larger than any head, so that the size never changes.
const SIZE: usize = 512;
/// The format that is written. The first one did not seal `first` and `last`, and had no ID.
pub(super) const VERSION: u32 = 2;
/// Maximum number of bytes read from a head.
const MAX_HEAD: u64 = 4096;

/// Where a log ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    pub(super) schema_version: u32,
    /// How lines are linked.
    pub(super) chain: String,
    /// Random ID of the log; empty in the first format.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    /// ID of the archived log that this one continues.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) previous: String,
    /// Number of events.
    pub(super) events: u64,
    /// Number of the first event in the last file.
    pub(super) first: u64,
    /// Size of the last file in bytes.
    pub(super) size: u64,
    /// Length of the last line in bytes, line break included.
    pub(super) last: u64,
    /// Digest of all other fields and the last line.
    pub(super) seal: String,
}

impl Head {
    /// Returns the head with its seal. `last` is the last line of the log.
    pub(super) fn sealed(self, chain: &Chain, last: &[u8]) -> Self {
        let seal = text(&chain.seal(&self, last)).to_owned();
        Self { seal, ..self }
    }

    /// Reads the head of the log in `folder`, if there is one.
    pub(super) fn load(folder: &AbsPath) -> Result<Option<Self>, LogError> {
        let path = folder.join(FILE);
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let Some(file) = open_regular(&path)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(MAX_HEAD).read_to_end(&mut bytes).map_err(failed)?;
        let broken = |what: String| LogError::Broken { what: format!("`{path}` {what}") };
        let head: Self = serde_json::from_slice(&bytes)
            .map_err(|error| broken(format!("is malformed: {error}")))?;
        if head.schema_version > VERSION {
            let what = format!(
                "has format version {}; this version of openskills reads versions 1 to {VERSION}",
                head.schema_version
            );
            return Err(broken(what));
        }
        let is_id =
            |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let has_ids = match head.schema_version {
            1 => head.id.is_empty() && head.previous.is_empty(),
            VERSION => is_id(&head.id) && (head.previous.is_empty() || is_id(&head.previous)),
            _ => false,
        };
        let is_possible = has_ids
            && head.last <= head.size
            && (head.events == 0) == (head.size == 0)
            && head.first <= head.events.saturating_add(1)
            && head.events < u64::MAX / 2;
        if is_possible {
            Ok(Some(head))
        } else {
            Err(broken("is malformed: its fields contradict each other".to_owned()))
        }
    }

    /// Replaces the head of the log in `folder`. A new head is created atomically.
    pub(super) fn save(&self, folder: &AbsPath) -> Result<File, LogError> {
        let path = folder.join(FILE);
        let failed = |source| LogError::Io { path: path.to_string(), source };
        let mut bytes = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        bytes.resize(SIZE.max(bytes.len() + 1) - 1, b' ');
        bytes.push(b'\n');
        let mut options = OpenOptions::new();
        options.write(true);
        private(&mut options);
        match options.open(path.as_path()) {
            Ok(mut file) => {
                file.write_all(&bytes).map_err(failed)?;
                Ok(file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let new = folder.join(format!("{FILE}.new"));
                let mut file =
                    options.create(true).truncate(true).open(new.as_path()).map_err(failed)?;
                file.write_all(&bytes).map_err(failed)?;
                fs::rename(new.as_path(), path.as_path()).map_err(failed)?;
                Ok(file)
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// Opens a regular file without blocking on anything else. Returns `None` if there is none.
pub(super) fn open_regular(path: &AbsPath) -> Result<Option<File>, LogError> {
    let failed = |source| LogError::Io { path: path.to_string(), source };
    let mut options = OpenOptions::new();
    options.read(true);
    no_links(&mut options);
    let file = match options.open(path.as_path()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let is_file = file.metadata().map_err(failed)?.is_file();
    if is_file { Ok(Some(file)) } else { Err(failed(io::Error::other("not a regular file"))) }
}

/// Does not follow a symbolic link at the end of a path, and does not block on a pipe.
pub(super) fn no_links(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).expect("the flags fit in an i32");
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
    #[cfg(not(unix))]
    let _ = options;
}

/// Makes new files accessible to the user only.
pub(super) fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    no_links(options);
}
