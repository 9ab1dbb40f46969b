//! What the files of a git repository say, read without git: nothing of a repository runs for it.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::Path;

/// The most that is read of a file.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the configuration of the repository that a folder is or is in. What that includes from elsewhere is not read.
pub(crate) fn config_around(folder: &Path) -> Option<String> {
    folder.ancestors().find_map(config_of)
}

/// Returns the configuration of the repository that a folder is, if it is one.
fn config_of(folder: &Path) -> Option<String> {
    let own = folder.join(".git");
    let shared = match fs::metadata(&own).ok()?.is_dir() {
        true => own,
        // A worktree names its repository, and that the one it shares its configuration with.
        false => {
            let text = read_small(&own)?;
            let own = folder.join(text.strip_prefix("gitdir:")?.trim());
            match read_small(&own.join("commondir")) {
                Some(shared) => own.join(shared.trim()),
                None => own,
            }
        }
    };
    read_small(&shared.join("config"))
}

/// Reads a small file; none where there is none, or no plain one.
fn read_small(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let bytes = (found.is_file() && found.len() <= MAX_BYTES).then(|| fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The largest index that is read.
const MAX_INDEX: u64 = 256 << 20;

/// Returns true if the index of the repository at `root` lists anything in a folder. What cannot be looked up counts as listed.
pub(crate) fn lists(root: &Path, folder: &Path) -> bool {
    let Some(inside) = folder.strip_prefix(root).ok().and_then(Path::to_str) else { return true };
    let own = match read_small(&root.join(".git")) {
        // A worktree has its own.
        Some(text) => match text.strip_prefix("gitdir:") {
            Some(own) => root.join(own.trim()),
            None => return true,
        },
        None => root.join(".git"),
    };
    let index = own.join("index");
    match fs::metadata(&index) {
        Err(error) => return error.kind() != std::io::ErrorKind::NotFound,
        Ok(found) if !found.is_file() || found.len() > MAX_INDEX => return true,
        Ok(_) => {}
    }
    let Ok(bytes) = fs::read(&index) else { return true };
    // From version 4 on a path is stored as what differs from the one before it.
    let is_whole = bytes.starts_with(b"DIRC\0\0\0\x02") || bytes.starts_with(b"DIRC\0\0\0\x03");
    !is_whole || memchr::memmem::find(&bytes, format!("{inside}/").as_bytes()).is_some()
}
