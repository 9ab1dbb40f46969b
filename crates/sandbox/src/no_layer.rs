//! Systems on which no layer lies between a run and its workspace.

use std::io;
use std::path::Path;

use crate::{Change, CommitError};

/// Nothing is committed here, so nothing is taken back.
pub(crate) mod undo {
    use std::io;
    use std::path::{Path, PathBuf};

    use crate::Change;
    use crate::undo::{KeepError, Replaced, State, UndoError};

    fn never() -> io::Error {
        io::Error::other("nothing is committed on this system")
    }

    pub(crate) fn keep(
        workspace: &Path,
        _: &[Change],
        _: &Path,
        _: u64,
    ) -> Result<Vec<(PathBuf, State)>, KeepError> {
        Err(KeepError::Io { path: workspace.to_owned(), source: never() })
    }

    pub(crate) fn look(_: &Path, _: Vec<(PathBuf, State)>) -> io::Result<Vec<Replaced>> {
        Err(never())
    }

    pub(crate) fn check(
        workspace: &Path,
        _: &Path,
        _: &[Replaced],
    ) -> Result<Vec<PathBuf>, UndoError> {
        Err(UndoError::Io { path: workspace.to_owned(), source: never() })
    }

    pub(crate) fn take_back(
        workspace: &Path,
        _: &Path,
        _: &[Replaced],
    ) -> Result<Vec<PathBuf>, UndoError> {
        Err(UndoError::Io { path: workspace.to_owned(), source: never() })
    }
}

/// There is none.
#[derive(Debug)]
pub(crate) enum Layer {}

impl Layer {
    pub(crate) fn changes(&self) -> Result<Vec<Change>, CommitError> {
        match *self {}
    }

    pub(crate) fn commit(&self, _: &[Change], _: &dyn Fn() -> bool) -> Result<(), CommitError> {
        match *self {}
    }

    pub(crate) fn read(&self, _: &Path, _: u64) -> io::Result<Vec<u8>> {
        match *self {}
    }
}
