//! Files of an untrusted repository: only regular files are read, and only up to a limit.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::GitError;

/// Whether a link is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Followed,
    /// A link counts as no file, as it does to git in a work tree.
    Skipped,
}

/// Reads a file of at most `limit` bytes; none if there is none. What is no file may keep whoever opens it waiting, so
/// it is refused.
pub(super) fn read(path: &Path, limit: u64, links: Links) -> Result<Option<Vec<u8>>, GitError> {
    let failed = |what: &str| GitError::Failed(format!("cannot read {}: {what}", path.display()));
    let found = match links {
        Links::Followed => fs::metadata(path),
        Links::Skipped => fs::symlink_metadata(path),
    };
    let found = match found {
        Ok(found) => found,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(failed(&error.to_string())),
    };
    // Git takes a folder there, and a link in a work tree, for no rules at all.
    if found.is_dir() || (found.is_symlink() && links == Links::Skipped) {
        return Ok(None);
    }
    if !found.is_file() {
        return Err(failed("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(&error.to_string()))?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| failed(&error.to_string()))?;
    if bytes.len() as u64 > limit {
        return Err(failed(&format!("it is larger than {} MiB", limit >> 20)));
    }
    Ok(Some(bytes))
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns true if there is a folder, links followed.
pub(super) fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}
