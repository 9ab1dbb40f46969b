//! Renames and removes entries. On Windows this includes read-only files, and files that another process has open for a
//! moment.

use crate::{AbsPath, sys};

/// Renames `from` to `to`, replacing a file there.
pub fn rename(from: &AbsPath, to: &AbsPath) -> std::io::Result<()> {
    sys::replace(from.as_path(), to.as_path())
}

/// Removes a file or a symlink to a file.
pub fn remove_file(path: &AbsPath) -> std::io::Result<()> {
    sys::remove_file(path.as_path())
}

/// Removes a folder with everything in it; symlinks in it are not followed.
pub fn remove_folder(path: &AbsPath) -> std::io::Result<()> {
    sys::remove_dir_all(path.as_path())
}
