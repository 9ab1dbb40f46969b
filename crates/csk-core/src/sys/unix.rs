//! Unix: symlinks and permission bits.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use skill_fs::AbsPath;

use super::Executable;

/// Creates a symlink to `text` at `path`.
pub(crate) fn make_link(text: &str, path: &AbsPath) -> io::Result<()> {
    symlink(text, path.as_path())
}

/// Returns the target of a symlink; `None` if `path` is something else.
pub(crate) fn read_link(path: &AbsPath) -> io::Result<Option<String>> {
    match fs::read_link(path.as_path()) {
        Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the file that is going to be created executable, as far as the user's umask allows.
pub(crate) fn make_executable(options: &mut OpenOptions) {
    options.mode(0o777);
}

/// Gives the owner full access to a folder.
pub(crate) fn make_writable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    fs::set_permissions(path, PermissionsExt::from_mode(metadata.permissions().mode() | 0o700))
}

/// Makes the file that is going to be created read-only; its creator can still write it through the open handle.
pub(crate) fn make_file_read_only(options: &mut OpenOptions, executable: Executable) {
    options.mode(match executable {
        Executable::Yes => 0o555,
        Executable::No => 0o444,
    });
}

/// Makes a folder read-only for everyone.
pub(crate) fn make_read_only(path: &Path) -> io::Result<()> {
    let mode = fs::symlink_metadata(path)?.permissions().mode();
    fs::set_permissions(path, PermissionsExt::from_mode(mode & !0o222))
}

/// Returns true if `path` is an executable file.
pub(crate) fn is_program(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
