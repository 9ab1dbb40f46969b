//! Changes to a skill's entries that can be undone until all of them are made.
//!
//! A skill has several entries on disk: its text, an entry for each agent, a link for each command. They change
//! together or not at all.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;

use skill_fs::{AbsPath, FsError, Replaced, exchange, replace_folder};

use crate::install::SkillError;
use crate::install::journal::remove_tree;
use crate::install::shim::{make_shim, read_shim, stage_shim};
use crate::install::write::{copy_context, io_error, write_error};
use crate::sys::{make_link, read_link};

/// The changes made so far, in order.
#[derive(Debug, Default)]
pub(super) struct Swaps(Vec<Swap>);

/// One change, with what is needed to undo it.
#[derive(Debug)]
enum Swap {
    /// A link or a file was created.
    Made { place: AbsPath },
    /// A folder was created.
    Put { staged: AbsPath, place: AbsPath },
    /// A link to `text` was replaced.
    Relinked { staged: AbsPath, place: AbsPath, text: String },
    /// A shim of `target` was replaced.
    Reshimmed { staged: AbsPath, place: AbsPath, target: String },
    /// A shim of `target` was removed.
    Unshimmed { place: AbsPath, target: String },
    /// An entry was moved.
    Moved { from: AbsPath, to: AbsPath },
    /// Two entries of different types were exchanged.
    Switched { staged: AbsPath, place: AbsPath },
    /// Two folders were exchanged.
    Exchanged { staged: AbsPath, place: AbsPath },
    /// A copy of a skill was replaced file by file; undoing it copies the skill again.
    Copied { from: AbsPath, staged: AbsPath, place: AbsPath },
}

impl Swaps {
    /// Moves an entry away.
    pub(super) fn move_away(&mut self, place: AbsPath, to: AbsPath) -> Result<(), SkillError> {
        skill_fs::rename(&place, &to).map_err(|error| io_error(&place, &error))?;
        self.0.push(Swap::Moved { from: place, to });
        Ok(())
    }

    /// Moves a staged link into place, replacing a link if there is one. Both must be on the same file system.
    pub(super) fn put_link(&mut self, staged: AbsPath, place: AbsPath) -> Result<(), SkillError> {
        let old = link_text(&place).map_err(|error| io_error(&place, &error))?;
        skill_fs::rename(&staged, &place).map_err(|error| io_error(&place, &error))?;
        self.0.push(match old {
            Some(text) => Swap::Relinked { staged, place, text },
            None => Swap::Made { place },
        });
        Ok(())
    }

    /// Moves a staged shim into place, replacing a shim if there is one. Both must be on the same file system.
    pub(super) fn put_shim(&mut self, staged: AbsPath, place: AbsPath) -> Result<(), SkillError> {
        let failed = |error: io::Error| io_error(&place, &error);
        let old = read_shim(&place).map_err(failed)?;
        if old.is_none() && fs::symlink_metadata(place.as_path()).is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        skill_fs::rename(&staged, &place).map_err(failed)?;
        self.0.push(match old {
            Some(target) => Swap::Reshimmed { staged, place, target },
            None => Swap::Made { place },
        });
        Ok(())
    }

    /// Removes a shim.
    pub(super) fn remove_shim(&mut self, place: AbsPath) -> Result<(), SkillError> {
        let failed = |error: io::Error| io_error(&place, &error);
        let Some(target) = read_shim(&place).map_err(failed)? else { return Ok(()) };
        skill_fs::remove_file(&place).map_err(failed)?;
        self.0.push(Swap::Unshimmed { place, target });
        Ok(())
    }

    /// Moves a staged folder into place, replacing a folder if there is one. If the file system cannot exchange
    /// folders, `source` is used to recreate the old copy; without it, this must be the last change.
    pub(super) fn put_folder(
        &mut self,
        staged: AbsPath,
        place: AbsPath,
        source: Option<AbsPath>,
    ) -> Result<(), SkillError> {
        let replaced = replace_folder(&staged, &place).map_err(|error| write_error(&error))?;
        match (replaced, source) {
            (Replaced::Created, _) => self.0.push(Swap::Put { staged, place }),
            (Replaced::Exchanged, _) => self.0.push(Swap::Exchanged { staged, place }),
            (Replaced::FileByFile, Some(from)) => {
                self.0.push(Swap::Copied { from, staged, place });
            }
            (Replaced::FileByFile, None) => {}
        }
        Ok(())
    }

    /// Exchanges a staged entry with the current one, whatever their types. Returns false if the file system cannot.
    pub(super) fn exchange(
        &mut self,
        staged: &AbsPath,
        place: &AbsPath,
    ) -> Result<bool, SkillError> {
        let done = exchange(staged, place).map_err(|error| write_error(&error))?;
        if done {
            let (staged, place) = (staged.clone(), place.clone());
            self.0.push(Swap::Switched { staged, place });
        }
        Ok(done)
    }

    /// Undoes all changes in reverse order. Returns an error message for each that failed.
    pub(super) fn undo(self) -> Vec<String> {
        let undone = self.0.into_iter().rev().map(Swap::undo);
        let failed = undone.filter_map(Result::err);
        failed.map(|(place, why)| format!("cannot restore `{place}`: {why}")).collect()
    }
}

impl Swap {
    fn undo(self) -> Result<(), (AbsPath, String)> {
        let io = |place: AbsPath| move |error: io::Error| (place, error.to_string());
        let files = |place: AbsPath| move |error: FsError| (place, error.to_string());
        match self {
            Self::Made { place } => skill_fs::remove_file(&place).map_err(io(place)),
            Self::Put { staged, place } => skill_fs::rename(&place, &staged).map_err(io(place)),
            Self::Relinked { staged, place, text } => make_link(&text, &staged)
                .and_then(|()| skill_fs::rename(&staged, &place))
                .map_err(io(place)),
            Self::Reshimmed { staged, place, target } => stage_shim(&target, &staged)
                .and_then(|()| skill_fs::rename(&staged, &place))
                .map_err(io(place)),
            Self::Unshimmed { place, target } => make_shim(&target, &place).map_err(io(place)),
            Self::Moved { from, to } => skill_fs::rename(&to, &from).map_err(io(from)),
            Self::Switched { staged, place } => {
                exchange(&staged, &place).map(|_| ()).map_err(files(place))
            }
            Self::Exchanged { staged, place } => {
                replace_folder(&staged, &place).map(|_| ()).map_err(files(place))
            }
            Self::Copied { from, staged, place } => {
                remove_tree(&staged).map_err(files(place.clone()))?;
                copy_context(&from, &staged).map_err(|error| (place.clone(), error.to_string()))?;
                replace_folder(&staged, &place).map(|_| ()).map_err(files(place))
            }
        }
    }
}

/// Returns the target of a link, or `None` if nothing exists there. Anything else is an error.
fn link_text(place: &AbsPath) -> io::Result<Option<String>> {
    match read_link(place) {
        Ok(Some(text)) => Ok(Some(text)),
        Ok(None) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
