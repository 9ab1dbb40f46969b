//! macOS: no call keeps a path below a folder, so no link is followed. Not run.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::Dir;
use skill::RelPath;

use super::unix::{open_following_nothing, open_real_by_names, type_of};
use super::{Folder, Type};

/// Opens a folder at its real path: a link anywhere on the way is refused.
pub(crate) fn open_real(path: &Path) -> io::Result<Folder> {
    open_real_by_names(path)
}

/// Opens a file below `folder`, following nothing.
pub(crate) fn open_beneath(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_following_nothing(folder, path)
}

/// Opens a file below `folder` with no link on the way.
pub(crate) fn open_plain(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_following_nothing(folder, path)
}

/// Hands each name in `folder` to `take`, in no order, until it breaks off.
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
