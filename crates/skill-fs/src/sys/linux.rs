//! Linux: the kernel keeps the path below the folder.

use std::fs::File;
use std::io;

use rustix::fs::{Mode, ResolveFlags};
use rustix::io::Errno;
use skill::RelPath;

use super::Folder;
use super::unix::{FILE, open_following_nothing};

/// How often a path that is being renamed under us is tried again.
const TRIES: usize = 16;

/// Opens a file below `folder`. Links are followed as long as they stay below.
pub(crate) fn open_beneath(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_resolving(folder, path, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
}

/// Opens a file below `folder` with no link on the way.
pub(crate) fn open_plain(folder: &Folder, path: &RelPath) -> io::Result<File> {
    open_resolving(folder, path, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

fn open_resolving(folder: &Folder, path: &RelPath, resolve: ResolveFlags) -> io::Result<File> {
    for _ in 0..TRIES {
        match rustix::fs::openat2(&folder.0, path.as_str(), FILE, Mode::empty(), resolve) {
            Ok(file) => return Ok(File::from(file)),
            Err(Errno::AGAIN) => {}
            // A kernel or a filter without openat2: nothing is followed then, which is stricter.
            Err(Errno::NOSYS | Errno::PERM) => return open_following_nothing(folder, path),
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
    fn without_openat2_no_link_is_followed_at_all() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("a")).unwrap();
        std::fs::write(scratch.path().join("a/f"), "inside").unwrap();
        std::os::unix::fs::symlink("a/f", scratch.path().join("link")).unwrap();
        std::os::unix::fs::symlink("a", scratch.path().join("folder-link")).unwrap();
        let folder = Folder::open(scratch.path()).unwrap();
        let open = |path: &str| open_following_nothing(&folder, &RelPath::new(path).unwrap());
        let mut text = String::new();
        open("a/f").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "inside");
        assert!(open("link").is_err());
        assert!(open("folder-link/f").is_err());
    }
}
