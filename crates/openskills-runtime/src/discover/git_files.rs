//! What the files of a git repository say, read without git: nothing of a repository runs for it.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

/// The most that is read of a file.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the configuration of the repository that a folder is or is in. What that includes from elsewhere is not read.
pub(crate) fn config_around(folder: &Path) -> Option<String> {
    folder.ancestors().find_map(config_of)
}

/// Returns the configuration of the repository that a folder is, if it is one.
fn config_of(folder: &Path) -> Option<String> {
    let own = git_folder(folder)?;
    // The repository of a worktree names the one that it shares its configuration with.
    let shared = match read_small(&own.join("commondir")) {
        Some(shared) => own.join(shared.trim()),
        None => own,
    };
    read_small(&shared.join("config"))
}

/// Reads a small file; none where there is none, or no plain one.
fn read_small(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let bytes = (found.is_file() && found.len() <= MAX_BYTES).then(|| fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the folder in which the repository at `root` keeps its own files; that of a worktree or a submodule is elsewhere.
pub(crate) fn git_folder(root: &Path) -> Option<PathBuf> {
    let own = root.join(".git");
    match fs::metadata(&own).ok()?.is_dir() {
        true => Some(own),
        false => Some(root.join(read_small(&own)?.strip_prefix("gitdir:")?.trim())),
    }
}
