//! Checks whether a folder is under the sole control of the machine's administrator.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use skill_fs::AbsPath;

/// Returns whether only the administrator can change the contents of `folder`; `None` if it does not exist.
#[cfg(unix)]
pub(crate) fn is_administered(folder: &AbsPath) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;

    let metadata = std::fs::symlink_metadata(folder.as_path()).ok()?;
    Some(metadata.is_dir() && metadata.uid() == 0 && metadata.mode() & 0o022 == 0)
}

/// Returns true if only the administrator can change the contents of `folder` or replace it.
pub(crate) fn is_administered_all_the_way(folder: &AbsPath) -> bool {
    std::iter::successors(Some(folder.clone()), AbsPath::parent)
        .all(|folder| is_administered(&folder) == Some(true))
}

/// Ownership cannot be checked on this platform, so no folder belongs to the organization.
#[cfg(not(unix))]
pub(crate) fn is_administered(folder: &AbsPath) -> Option<bool> {
    std::fs::exists(folder.as_path()).ok().filter(|exists| *exists).map(|_| false)
}
