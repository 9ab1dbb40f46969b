//! Linux: `openat2` keeps a path below the folder.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, RawDir, ResolveFlags, SeekFrom};
use rustix::io::Errno;
use skill::RelPath;

use super::unix::{FILE, FOLDER, open_no_follow, open_real_by_component, type_of};
use super::{Folder, Type};

/// How often to try a path that is being renamed at the same time.
const MAX_TRIES: usize = 16;

/// The number of bytes of directory entries to request at a time.
const LISTING_BUFFER: usize = 32 << 10;

/// Passes each name in `folder` to `take`, in no particular order, until `take` fails.
pub(crate) fn each_entry<E: From<io::Error>>(
    folder: &Folder,
    mut take: impl FnMut(&[u8], Option<Type>) -> Result<(), E>,
) -> Result<(), E> {
    // The position in the listing belongs to the descriptor, so rewind it before listing again.
    if folder.1.swap(true, Ordering::Relaxed) {
        rustix::fs::seek(&folder.0, SeekFrom::Start(0)).map_err(io::Error::from)?;
    }
    let mut buffer = Vec::with_capacity(LISTING_BUFFER);
    let mut entries = RawDir::new(&folder.0, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(io::Error::from)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            take(name, type_of(entry.file_type()))?;
        }
    }
    Ok(())
}

/// Opens a folder at its real path; fails if any component of the path is a symlink.
pub(crate) fn open_real(path: &Path) -> io::Result<Folder> {
    let flags = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, FOLDER, Mode::empty(), flags) {
        Ok(folder) => Ok(Folder(folder, AtomicBool::new(false))),
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => open_real_by_component(path),
        Err(error) => Err(error.into()),
    }
}

/// Opens a file below `folder`. Symlinks are followed as long as they stay below it.
pub(crate) fn open_beneath(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_resolving(folder, path, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
}

/// Opens a file below `folder`; follows no symlink.
pub(crate) fn open_plain(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_resolving(folder, path, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

fn open_resolving(folder: &Folder, path: &RelPath, resolve: ResolveFlags) -> io::Result<File> {
    for _ in 0..MAX_TRIES {
        match rustix::fs::openat2(&folder.0, path.as_str(), FILE, Mode::empty(), resolve) {
            Ok(file) => return Ok(File::from(file)),
            Err(Errno::AGAIN) => {}
            // The kernel or a seccomp filter lacks openat2: follow no symlink at all, which is stricter.
            Err(Errno::NOSYS | Errno::PERM) => return open_no_follow(folder, path),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::AGAIN.into())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "makes fixtures")]

    use std::io::Read;

    use super::*;

    #[test]
    fn without_openat2_no_symlink_is_followed() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("a")).unwrap();
        std::fs::write(scratch.path().join("a/f"), "inside").unwrap();
        std::os::unix::fs::symlink("a/f", scratch.path().join("link")).unwrap();
        std::os::unix::fs::symlink("a", scratch.path().join("folder-link")).unwrap();
        let folder = Folder::open(scratch.path()).unwrap();
        let open = |path: &str| open_no_follow(&folder, &RelPath::new(path).unwrap());
        let mut text = String::new();
        open("a/f").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "inside");
        assert!(open("link").is_err());
        assert!(open("folder-link/f").is_err());
    }
}
