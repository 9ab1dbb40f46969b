//! For systems where a run's writes cannot go to a layer above the workspace.

use std::io;
use std::path::Path;

use crate::{Applied, ApplyError, BackgroundId, Change, Conflict, ProcessId, StoredLayer};

/// Without layers nothing is applied to a workspace, so there is nothing to undo.
pub(crate) mod undo {
    use std::io;
    use std::path::{Path, PathBuf};

    use crate::Change;
    use crate::undo::{PathState, ReplacedPath, SaveError, UndoError};

    fn unsupported() -> io::Error {
        io::Error::other("applying and undoing changes is not supported on this system")
    }

    pub(crate) fn save(
        workspace: &Path,
        _: &[Change],
        _: &Path,
        _: u64,
    ) -> Result<Vec<(PathBuf, PathState)>, SaveError> {
        Err(SaveError::Io { path: workspace.to_owned(), source: unsupported() })
    }

    pub(crate) fn inspect(_: &Path, _: Vec<(PathBuf, PathState)>) -> io::Result<Vec<ReplacedPath>> {
        Err(unsupported())
    }

    pub(crate) fn check(
        workspace: &Path,
        _: &Path,
        _: &[ReplacedPath],
    ) -> Result<Vec<PathBuf>, UndoError> {
        Err(UndoError::Io { path: workspace.to_owned(), source: unsupported() })
    }

    pub(crate) fn revert(
        workspace: &Path,
        _: &Path,
        _: &[ReplacedPath],
    ) -> Result<Vec<PathBuf>, UndoError> {
        Err(UndoError::Io { path: workspace.to_owned(), source: unsupported() })
    }
}

/// A layer, which never exists on this system.
#[derive(Debug)]
pub(crate) enum Layer {}

impl Layer {
    pub(crate) fn open(stored: &StoredLayer<'_>) -> Result<Self, ApplyError> {
        let source = io::Error::other("layers are not supported on this system");
        Err(ApplyError::Io { path: stored.folder.to_owned(), source })
    }

    pub(crate) fn after(self, _: Applied) -> Self {
        self
    }

    pub(crate) fn seen(&self, _: &[Change]) -> Result<Applied, ApplyError> {
        match *self {}
    }

    pub(crate) fn applied(&self, _: Applied) -> Result<Applied, ApplyError> {
        match *self {}
    }

    pub(crate) fn conflicts(&self, _: &[Change]) -> Result<Vec<Conflict>, ApplyError> {
        match *self {}
    }

    pub(crate) fn changes(&self) -> Result<Vec<Change>, ApplyError> {
        match *self {}
    }

    pub(crate) fn apply(&self, _: &[Change], _: &dyn Fn() -> bool) -> Result<(), ApplyError> {
        match *self {}
    }

    pub(crate) fn read(&self, _: &Path, _: u64) -> io::Result<Vec<u8>> {
        match *self {}
    }
}

/// Processes that were left running, which never happens on this system.
#[derive(Debug)]
pub(crate) enum LeftRunning {}

impl LeftRunning {
    pub(crate) fn id(&self) -> BackgroundId {
        match *self {}
    }

    pub(crate) fn detach(self, _: Option<ProcessId>) -> io::Result<()> {
        match self {}
    }
}

pub(crate) fn start_time(_: i32) -> Option<u64> {
    None
}

pub(crate) fn end_background(_: &BackgroundId) -> io::Result<()> {
    Ok(())
}
