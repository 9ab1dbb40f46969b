//! Reads files of an untrusted repository: only regular files, and only up to a size limit.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::GitError;

/// How symlinks are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Followed,
    /// A symlink counts as missing, as it does to git in a work tree.
    Skipped,
}

/// Reads a file of at most `limit` bytes; `None` if it does not exist. Other file types are refused, since opening one
/// (such as a FIFO) may block.
pub(super) fn read(path: &Path, limit: u64, links: Links) -> Result<Option<Vec<u8>>, GitError> {
    let failed = |what: &str| GitError::Failed(format!("cannot read `{}`: {what}", path.display()));
    let found = match links {
        Links::Followed => fs::metadata(path),
        Links::Skipped => fs::symlink_metadata(path),
    };
    let found = match found {
        Ok(found) => found,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(failed(&error.to_string())),
    };
    // Git treats a folder here, and a symlink in a work tree, as an empty rules file.
    if found.is_dir() || (found.is_symlink() && links == Links::Skipped) {
        return Ok(None);
    }
    if !found.is_file() {
        return Err(failed("not a regular file"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(&error.to_string()))?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| failed(&error.to_string()))?;
    if bytes.len() as u64 > limit {
        return Err(failed(&format!("larger than {} MiB", limit >> 20)));
    }
    Ok(Some(bytes))
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns true if `path` is a folder, following symlinks.
pub(super) fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}
