//! Changes of a skill's entries that can be taken back until all of them are made.
//!
//! A skill is several entries on disk: its text, an entry for each agent, a link for each command. They change together or not at all.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::io;

use skill_fs::{AbsPath, FsError, Replaced, exchange, replace_folder, write_file};

use crate::install::SkillError;
use crate::install::journal::remove_tree;
use crate::install::write::{copy_context, io_error, write_error};
use crate::sys::make_link;

/// The changes that were made so far, in order.
#[derive(Debug, Default)]
pub(super) struct Swaps(Vec<Change>);

/// One change, with what it takes to undo it.
#[derive(Debug)]
enum Change {
    /// A link or a file was made where nothing was.
    Made { place: AbsPath },
    /// A folder was put where nothing was.
    Put { staged: AbsPath, place: AbsPath },
    /// A link of this text was replaced.
    Relinked { staged: AbsPath, place: AbsPath, text: String },
    /// A link of this text was removed.
    Unlinked { place: AbsPath, text: String },
    /// A file of these bytes was replaced.
    Rewritten { place: AbsPath, bytes: Vec<u8> },
    /// An entry was moved.
    Moved { from: AbsPath, to: AbsPath },
    /// Two entries of different kinds changed places.
    Switched { staged: AbsPath, place: AbsPath },
    /// Two folders changed places.
    Exchanged { staged: AbsPath, place: AbsPath },
    /// A copy of a skill was replaced file by file; it is copied again.
    Copied { from: AbsPath, staged: AbsPath, place: AbsPath },
}

impl Swaps {
    /// Moves an entry away.
    pub(super) fn put_aside(&mut self, place: AbsPath, to: AbsPath) -> Result<(), SkillError> {
        fs::rename(place.as_path(), to.as_path()).map_err(|error| io_error(&place, &error))?;
        self.0.push(Change::Moved { from: place, to });
        Ok(())
    }

    /// Puts a staged link, on the same file system, where a link or nothing is.
    pub(super) fn put_link(&mut self, staged: AbsPath, place: AbsPath) -> Result<(), SkillError> {
        let old = link_text(&place).map_err(|error| io_error(&place, &error))?;
        fs::rename(staged.as_path(), place.as_path()).map_err(|error| io_error(&place, &error))?;
        self.0.push(match old {
            Some(text) => Change::Relinked { staged, place, text },
            None => Change::Made { place },
        });
        Ok(())
    }

    /// Removes a link.
    pub(super) fn remove_link(&mut self, place: AbsPath) -> Result<(), SkillError> {
        let old = link_text(&place).map_err(|error| io_error(&place, &error))?;
        let Some(text) = old else { return Ok(()) };
        fs::remove_file(place.as_path()).map_err(|error| io_error(&place, &error))?;
        self.0.push(Change::Unlinked { place, text });
        Ok(())
    }

    /// Writes a file where a file or nothing is.
    pub(super) fn put_file(&mut self, text: &str, place: AbsPath) -> Result<(), SkillError> {
        let old = match fs::read(place.as_path()) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io_error(&place, &error)),
        };
        write_file(&place, text.as_bytes()).map_err(|error| write_error(&error))?;
        self.0.push(match old {
            Some(bytes) => Change::Rewritten { place, bytes },
            None => Change::Made { place },
        });
        Ok(())
    }

    /// Puts a staged folder where a folder or nothing is. `source` is what an older copy can be made from again, where the file system cannot
    /// exchange folders; without one the folder must be the last change.
    pub(super) fn put_folder(
        &mut self,
        staged: AbsPath,
        place: AbsPath,
        source: Option<AbsPath>,
    ) -> Result<(), SkillError> {
        let replaced = replace_folder(&staged, &place).map_err(|error| write_error(&error))?;
        match (replaced, source) {
            (Replaced::Created, _) => self.0.push(Change::Put { staged, place }),
            (Replaced::Exchanged, _) => self.0.push(Change::Exchanged { staged, place }),
            (Replaced::FileByFile, Some(from)) => {
                self.0.push(Change::Copied { from, staged, place });
            }
            (Replaced::FileByFile, None) => {}
        }
        Ok(())
    }

    /// Exchanges a staged entry and the one in its place, whatever kinds they are; false where the file system cannot.
    pub(super) fn exchange(
        &mut self,
        staged: &AbsPath,
        place: &AbsPath,
    ) -> Result<bool, SkillError> {
        let done = exchange(staged, place).map_err(|error| write_error(&error))?;
        if done {
            let (staged, place) = (staged.clone(), place.clone());
            self.0.push(Change::Switched { staged, place });
        }
        Ok(done)
    }

    /// Takes everything back, the last change first. Returns what could not be.
    pub(super) fn undo(self) -> Vec<String> {
        let undone = self.0.into_iter().rev().map(Change::undo);
        let failed = undone.filter_map(Result::err);
        failed.map(|(place, why)| format!("{place} could not be put back: {why}")).collect()
    }
}

impl Change {
    fn undo(self) -> Result<(), (AbsPath, String)> {
        let io = |place: AbsPath| move |error: io::Error| (place, error.to_string());
        let files = |place: AbsPath| move |error: FsError| (place, error.to_string());
        match self {
            Self::Made { place } => fs::remove_file(place.as_path()).map_err(io(place)),
            Self::Put { staged, place } => {
                fs::rename(place.as_path(), staged.as_path()).map_err(io(place))
            }
            Self::Relinked { staged, place, text } => make_link(&text, staged.as_path())
                .and_then(|()| fs::rename(staged.as_path(), place.as_path()))
                .map_err(io(place)),
            Self::Unlinked { place, text } => make_link(&text, place.as_path()).map_err(io(place)),
            Self::Rewritten { place, bytes } => {
                write_file(&place, &bytes).map(|_| ()).map_err(files(place))
            }
            Self::Moved { from, to } => fs::rename(to.as_path(), from.as_path()).map_err(io(from)),
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

/// Returns where a link leads; none if there is nothing. Anything else is an error.
fn link_text(place: &AbsPath) -> io::Result<Option<String>> {
    match fs::read_link(place.as_path()) {
        Ok(text) => Ok(Some(text.to_string_lossy().into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
