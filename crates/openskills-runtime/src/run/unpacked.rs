//! Temporary folders for files that are inspected or run before they are installed.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::PathBuf;

use skill_fs::{AbsPath, FsError, Root};
use skill_pack::Package;

use crate::run::{RunFolder, run_folder};
use crate::state::decisions::no_state_folder;
use crate::{Places, RuntimeError};

/// A temporary folder with files of a skill, removed on drop.
pub(crate) struct Unpacked {
    folder: RunFolder,
    root: PathBuf,
}

impl Unpacked {
    pub(crate) fn new(places: &Places) -> Result<Self, RuntimeError> {
        let base = places.cache.as_ref().or(places.state.as_ref()).ok_or_else(no_state_folder)?;
        let base = base.join(run_folder::FOLDER);
        // Otherwise users who only install skills would keep the leftovers of killed installs forever.
        run_folder::sweep(&base);
        let folder = RunFolder::new(&base)?;
        let root = folder.path().to_owned();
        Ok(Self { folder, root })
    }

    /// Unpacks a package into a temporary folder.
    pub(crate) fn of(places: &Places, package: &Package) -> Result<Self, RuntimeError> {
        let Self { folder, .. } = Self::new(places)?;
        let root = folder.path().join(&package.name);
        package.unpack(&root)?;
        Ok(Self { folder, root })
    }

    /// Writes a file.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), RuntimeError> {
        let to = self.root.join(path);
        let folder = to.parent().unwrap_or(&self.root);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&to, bytes));
        written.map_err(|source| FsError::Io { path: to.display().to_string(), source }.into())
    }

    /// Returns the folder.
    pub(crate) fn root(&self) -> Result<Root, RuntimeError> {
        let path = AbsPath::new(&self.root)
            .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })?;
        Ok(Root::open(&path)?)
    }
}
