//! Layers that are kept in a folder, and whose processes may go on writing after some changes were applied: which
//! changes are new since then.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::layer::{Layer, failed, is_folder, open_folder, stat_below};
use crate::layer::{Applied, AppliedPath, ApplyError, Change, Stamp, StoredLayer};

/// The folder of an overlay's writes.
const UPPER: &str = "upper";

impl Layer {
    /// Opens a layer that was kept in a folder.
    pub(crate) fn open(stored: &StoredLayer<'_>) -> Result<Self, ApplyError> {
        let upper = stored.folder.join(UPPER);
        Ok(Self {
            upper: open_folder(&upper).map_err(failed(&upper))?,
            base: None,
            workspace: stored.workspace.to_owned(),
            started: stored.since,
            git: stored.git,
            applied: None,
            max_bytes: u64::MAX,
        })
    }

    /// Leaves out what was already applied.
    pub(crate) fn after(self, applied: Applied) -> Self {
        Self { applied: Some(applied), ..self }
    }

    /// Notes what changes are in the layer now.
    pub(crate) fn seen(&self, changes: &[Change]) -> Result<Applied, ApplyError> {
        let known = self.applied.iter().flat_map(|applied| &applied.paths);
        let is_new = |path: &&AppliedPath| {
            changes.iter().all(|change| change.path.as_os_str().as_bytes() != path.path)
        };
        let mut paths: Vec<AppliedPath> = known.filter(is_new).cloned().collect();
        for change in changes {
            let layer = stamp_below(&self.upper, &change.path).map_err(failed(&change.path))?;
            let path = change.path.as_os_str().as_bytes().to_vec();
            paths.push(AppliedPath { path, layer, workspace: None });
        }
        Ok(Applied { paths })
    }

    /// Adds what the changes are in the workspace now.
    pub(crate) fn applied(&self, mut seen: Applied) -> Result<Applied, ApplyError> {
        let root = open_folder(&self.workspace).map_err(failed(&self.workspace))?;
        for one in &mut seen.paths {
            let path = Path::new(OsStr::from_bytes(&one.path));
            one.workspace = stamp_below(&root, path).map_err(failed(path))?;
        }
        Ok(seen)
    }

    /// Returns what was applied for a path, if anything was.
    pub(super) fn applied_path(&self, path: &Path) -> Option<&AppliedPath> {
        let paths = &self.applied.as_ref()?.paths;
        paths.iter().find(|one| one.path == path.as_os_str().as_bytes())
    }

    /// Returns every change that was not applied yet, sorted by path.
    pub(crate) fn changes(&self) -> Result<Vec<Change>, ApplyError> {
        let all = self.all_changes()?;
        let Some(applied) = &self.applied else { return Ok(all) };
        let known: HashMap<&[u8], Option<Stamp>> =
            applied.paths.iter().map(|one| (one.path.as_slice(), one.layer)).collect();
        let mut changes = Vec::new();
        for change in all {
            let now = stamp_below(&self.upper, &change.path).map_err(failed(&change.path))?;
            if known.get(change.path.as_os_str().as_bytes()) != Some(&now) {
                changes.push(change);
            }
        }
        Ok(changes)
    }
}

/// Returns what identifies the state of a path; `None` if nothing exists there.
pub(super) fn stamp_below(root: &OwnedFd, path: &Path) -> io::Result<Option<Stamp>> {
    match stat_below(root, path) {
        Ok(stat) => Ok(Some(Stamp {
            inode: stat.st_ino,
            // The times of a folder change with its content, which is looked at by itself.
            changed: if is_folder(&stat) {
                (0, 0)
            } else {
                (stat.st_ctime, stat.st_ctime_nsec as i64)
            },
            size: if is_folder(&stat) { 0 } else { stat.st_size },
            mode: stat.st_mode,
        })),
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
