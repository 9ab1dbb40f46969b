//! Unix: links and permission bits.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

/// Makes a link at `path` that says `text`.
pub(crate) fn make_link(text: &str, path: &Path) -> io::Result<()> {
    symlink(text, path)
}

/// Lets everybody execute the file that is going to be made, as far as the user's umask does.
pub(crate) fn make_executable(options: &mut OpenOptions) {
    options.mode(0o777);
}

/// Gives the owner all rights to a folder.
pub(crate) fn make_writable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    fs::set_permissions(path, PermissionsExt::from_mode(metadata.permissions().mode() | 0o700))
}
