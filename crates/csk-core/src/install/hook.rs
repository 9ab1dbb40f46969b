//! What the shell hooks may believe: which folders csk has installed into, and that nobody has put anything into
//! their folders of commands since.
//!
//! `hook/projects` has a line for each project, a name and its path, that a shell can read without a process.
//! `hook/<name>` has the time of the folder of commands when csk last looked at it; a folder with another time, or a
//! link, is not put on PATH until csk has looked again.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system and the clock")]

use std::fs;
use std::time::SystemTime;

use skill_fs::{AbsPath, FsError, write_file};
use skill_state::key_of;

use super::{BIN, Consumers};

const FOLDER: &str = "hook";

/// Returns true if a path can stand on PATH and on a line.
pub fn can_be_on_path(root: &AbsPath) -> bool {
    !root.as_str().contains([':', '\n', ';'])
}

fn stamp(home: &AbsPath, root: &AbsPath) -> AbsPath {
    home.join(FOLDER).join(key_of(root))
}

/// Writes the list of projects, unless it says the same already.
pub(super) fn sync(home: &AbsPath, consumers: &Consumers) -> Result<(), FsError> {
    let folder = home.join(FOLDER);
    fs::create_dir_all(folder.as_path())
        .map_err(|source| FsError::Io { path: folder.to_string(), source })?;
    let global = home.join("global");
    let lines = consumers.0.iter().filter(|root| can_be_on_path(root) && **root != global);
    let text: String = lines.map(|root| format!("{} {root}\n", key_of(root))).collect();
    write_file(&folder.join("projects"), text.as_bytes()).map(|_| ())
}

/// Returns true if nobody has changed the folder of commands since csk looked at it. A link in its place, or on
/// the way to it, leads elsewhere and is a change.
pub fn is_as_left(home: &AbsPath, root: &AbsPath) -> bool {
    let look = |path: &AbsPath| fs::symlink_metadata(path.as_path());
    if look(&root.join(".agents")).is_ok_and(|found| found.is_symlink()) {
        return false;
    }
    let bin = look(&root.join(BIN));
    let stamp = look(&stamp(home, root)).and_then(|stamp| stamp.modified());
    match (bin, stamp) {
        (Ok(bin), Ok(stamp)) => bin.is_dir() && bin.modified().is_ok_and(|time| time == stamp),
        (Err(_), Ok(_)) => true,
        (_, Err(_)) => false,
    }
}

/// Notes that csk has looked at the folder of commands: the stamp gets the folder's own time.
pub(super) fn look_done(home: &AbsPath, root: &AbsPath) -> Result<(), FsError> {
    if is_as_left(home, root) {
        return Ok(());
    }
    let stamp = stamp(home, root);
    let failed = |source| FsError::Io { path: stamp.to_string(), source };
    fs::create_dir_all(home.join(FOLDER).as_path()).map_err(failed)?;
    let file = fs::File::create(stamp.as_path()).map_err(failed)?;
    let bin = fs::symlink_metadata(root.join(BIN).as_path()).and_then(|found| found.modified());
    file.set_modified(bin.unwrap_or_else(|_| SystemTime::now())).map_err(failed)
}
