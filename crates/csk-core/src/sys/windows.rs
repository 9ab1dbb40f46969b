//! Windows: symlinks need a privilege, files have a read-only attribute, and their names say whether they are programs.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{OpenOptionsExt, symlink_dir, symlink_file};
use std::path::Path;

use skill_fs::AbsPath;

use super::Executable;

const FILE_ATTRIBUTE_READONLY: u32 = 1;
/// "A required privilege is not held by the client."
const ERROR_PRIVILEGE_NOT_HELD: i32 = 1314;
/// "The file or directory is not a reparse point."
const ERROR_NOT_A_REPARSE_POINT: i32 = 4390;

/// Creates a symlink to `text` at `path`. Fails without the privilege to create symlinks, which Developer Mode grants.
pub(crate) fn make_link(text: &str, path: &AbsPath) -> io::Result<()> {
    // A relative target with slashes would not be followed.
    let target = text.replace('/', r"\");
    let points_to_folder = path.parent().is_some_and(|folder| {
        fs::metadata(folder.join(&target).as_path()).is_ok_and(|m| m.is_dir())
    });
    let created = if points_to_folder {
        symlink_dir(&target, path.as_path())
    } else {
        symlink_file(&target, path.as_path())
    };
    // Some systems report success and create nothing.
    match created.and_then(|()| fs::symlink_metadata(path.as_path())) {
        Ok(metadata) if metadata.is_symlink() => Ok(()),
        Err(error) if !is_unsupported(&error) => Err(error),
        Ok(_) | Err(_) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this system cannot create symlinks; on Windows, they require Developer Mode",
        )),
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(ERROR_PRIVILEGE_NOT_HELD)
}

/// Returns the target of a symlink, with slashes if it is relative; `None` if `path` is something else.
pub(crate) fn read_link(path: &AbsPath) -> io::Result<Option<String>> {
    match fs::read_link(path.as_path()) {
        Ok(target) => Ok(Some(match AbsPath::new(&target) {
            Ok(absolute) => absolute.to_string(),
            Err(_) => target.to_string_lossy().replace('\\', "/"),
        })),
        Err(error) if error.raw_os_error() == Some(ERROR_NOT_A_REPARSE_POINT) => Ok(None),
        // File systems without links report other errors.
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            match fs::symlink_metadata(path.as_path())?.is_symlink() {
                true => Err(error),
                false => Ok(None),
            }
        }
        Err(error) => Err(error),
    }
}

/// Files have no executable bit here.
pub(crate) fn make_executable(_: &mut OpenOptions) {}

/// Clears the read-only attribute of a file; folders have none that matters.
pub(crate) fn make_writable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let mut permissions = metadata.permissions();
    if metadata.is_symlink() || !permissions.readonly() {
        return Ok(());
    }
    #[expect(clippy::permissions_set_readonly_false, reason = "on Windows this is one attribute")]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions)
}

/// Makes the file that is going to be created read-only; its creator can still write it through the open handle.
pub(crate) fn make_file_read_only(options: &mut OpenOptions, _: Executable) {
    options.attributes(FILE_ATTRIBUTE_READONLY);
}

/// The read-only attribute of a folder does not protect its entries.
pub(crate) fn make_read_only(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns true if `path` is a file; [`crate::which`] tries only the names of programs.
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file()
}
