//! Takes back what a run committed.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::{Path, PathBuf};

use crate::run::undo::LastCommit;
use crate::runtime::OpenSkillRuntime;
use crate::state::decided::nowhere;
use crate::{Event, RuntimeError};

impl OpenSkillRuntime {
    /// Returns what was committed last to a workspace.
    pub fn last_commit(&self, workspace: &Path) -> Result<LastCommit, RuntimeError> {
        let places = self.places()?;
        let path = places.cwd.as_path().join(workspace);
        let setup = |message: String, hint: Option<&str>| RuntimeError::Setup {
            message,
            hint: hint.map(str::to_owned),
        };
        let real = std::fs::canonicalize(&path)
            .map_err(|error| setup(format!("{}: {error}", path.display()), None))?;
        let state = places.state.as_ref().ok_or_else(nowhere)?;
        LastCommit::load(state, &real)?.ok_or_else(|| {
            let message =
                format!("no run has committed anything to {} that is kept", real.display());
            setup(message, Some("name the folder of the run: --workspace DIR"))
        })
    }

    /// Makes sure that [`undo`](Self::undo) would take it all back, and changes nothing. Returns folders that would stay, since something else is in
    /// them by now.
    pub fn check_undo(&self, commit: &LastCommit) -> Result<Vec<PathBuf>, RuntimeError> {
        commit.check(self.places()?.state.as_ref().ok_or_else(nowhere)?)
    }

    /// Takes back what was committed last to a workspace, if nobody has changed any of it: all of it, or nothing. It is in the log before it is
    /// done. Returns folders that stay, since something else is in them by now.
    pub fn undo(&mut self, commit: &LastCommit) -> Result<Vec<PathBuf>, RuntimeError> {
        self.check_undo(commit)?;
        self.record(&Event::Undone {
            skill_id: commit.skill_id.clone(),
            execution_id: commit.execution_id.clone(),
            session_id: self.session.id.clone(),
            paths: commit.replaced.len(),
        })?;
        let state = self.places()?.state.clone().ok_or_else(nowhere)?;
        commit.take_back(&state)
    }
}
