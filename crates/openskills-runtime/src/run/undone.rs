//! Undoes the last run in a workspace.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::{Path, PathBuf};

use crate::run::undo::LastApplied;
use crate::runtime::OpenSkillRuntime;
use crate::state::decisions::no_state_folder;
use crate::{Event, RuntimeError};

impl OpenSkillRuntime {
    /// Returns the changes that were last applied to a workspace.
    pub fn last_applied(&self, workspace: &Path) -> Result<LastApplied, RuntimeError> {
        let places = self.places()?;
        let path = places.cwd.as_path().join(workspace);
        let setup = |message: String, hint: Option<&str>| RuntimeError::Setup {
            message,
            hint: hint.map(str::to_owned),
        };
        let real = std::fs::canonicalize(&path).map_err(|error| {
            setup(format!("cannot open the workspace `{}`: {error}", path.display()), None)
        })?;
        let state = places.state.as_ref().ok_or_else(no_state_folder)?;
        LastApplied::load(state, &real)?.ok_or_else(|| {
            let message = format!(
                "nothing to undo in `{}`: no recorded run applied changes there",
                real.display()
            );
            setup(message, Some("pass the workspace of the run: `--workspace DIR`"))
        })
    }

    /// Checks that [`undo`](Self::undo) would succeed, without changing anything. Returns folders that would be kept
    /// because they are no longer empty.
    pub fn check_undo(&self, last: &LastApplied) -> Result<Vec<PathBuf>, RuntimeError> {
        last.check(self.places()?.state.as_ref().ok_or_else(no_state_folder)?)
    }

    /// Undoes the last applied changes, all or nothing; fails if any of the files changed since. It is logged before it
    /// happens. Returns folders that are kept because they are no longer empty.
    pub fn undo(&mut self, last: &LastApplied) -> Result<Vec<PathBuf>, RuntimeError> {
        self.check_undo(last)?;
        self.record(&Event::Undone {
            skill_id: last.skill_id.clone(),
            execution_id: last.execution_id.clone(),
            session_id: self.session.id.clone(),
            paths: last.replaced.len(),
        })?;
        let state = self.places()?.state.clone().ok_or_else(no_state_folder)?;
        last.take_back(&state)
    }
}
