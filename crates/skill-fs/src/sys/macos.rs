//! macOS: no call keeps a path below a folder, so no link is followed. Not run.

use std::fs::File;
use std::io;

use skill::RelPath;

use super::Folder;
use super::unix::open_following_nothing;

/// Opens a file below `folder`, following nothing.
pub(crate) fn open_beneath(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_following_nothing(folder, path)
}

/// Opens a file below `folder` with no link on the way.
pub(crate) fn open_plain(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_following_nothing(folder, path)
}
