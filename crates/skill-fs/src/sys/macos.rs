//! macOS: no system call keeps a path below a folder, so no symlink is followed. Not tested.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::Dir;
use skill::RelPath;

use super::unix::{open_no_follow, open_real_by_component, type_of};
use super::{Folder, Type};

/// Opens a folder at its real path; fails if any component of the path is a symlink.
pub(crate) fn open_real(path: &Path) -> io::Result<Folder> {
    open_real_by_component(path)
}

/// Opens a file below `folder`; follows no symlink.
pub(crate) fn open_beneath(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_no_follow(folder, path)
}

/// Opens a file below `folder`; follows no symlink.
pub(crate) fn open_plain(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_no_follow(folder, path)
}

/// Passes each name in `folder` to `take`, in no particular order, until `take` fails.
pub(crate) fn each_entry<E: From<io::Error>>(
    folder: &Folder,
    mut take: impl FnMut(&[u8], Option<Type>) -> Result<(), E>,
) -> Result<(), E> {
    for entry in Dir::read_from(&folder.0).map_err(io::Error::from)? {
        let entry = entry.map_err(io::Error::from)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            take(name, type_of(entry.file_type()))?;
        }
    }
    Ok(())
}
