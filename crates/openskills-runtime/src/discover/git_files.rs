//! Reads files of a git repository without running git, so that nothing in an untrusted repository is executed.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

/// The maximum size of a file.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the configuration of the repository that contains a folder. Included files are not read.
pub(crate) fn config_around(folder: &Path) -> Option<String> {
    folder.ancestors().find_map(config_of)
}

/// Returns the configuration of the repository at `folder`, if it is one.
fn config_of(folder: &Path) -> Option<String> {
    let own = git_folder(folder)?;
    // A worktree points to the repository that has its configuration.
    let shared = match read_small(&own.join("commondir")) {
        Some(shared) => own.join(shared.trim()),
        None => own,
    };
    read_small(&shared.join("config"))
}

/// Reads a small file; `None` if it is missing, too large or not a regular file.
fn read_small(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let bytes = (found.is_file() && found.len() <= MAX_BYTES).then(|| fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the git directory of the repository at `root`, also for worktrees and submodules.
pub(crate) fn git_folder(root: &Path) -> Option<PathBuf> {
    let own = root.join(".git");
    match fs::metadata(&own).ok()?.is_dir() {
        true => Some(own),
        false => Some(root.join(read_small(&own)?.strip_prefix("gitdir:")?.trim())),
    }
}
