//! The files of a project before a change, to restore them if it fails.

#![expect(clippy::disallowed_methods, reason = "restores files after a failure")]

use std::fs;

use csk_core::{LOCKFILE, SKILLFILE};
use skill_fs::{AbsPath, read_text, write_file};
use term::Failure;

/// The folder of installed skills and commands.
const FOLDER: &str = ".agents";

/// The contents of files before a change.
pub(super) struct SavedProject {
    root: AbsPath,
    files: Vec<(AbsPath, Option<String>)>,
    had_folder: bool,
}

impl SavedProject {
    pub(super) fn read(root: &AbsPath) -> anyhow::Result<Self> {
        let read = |name: &str| {
            let path = root.join(name);
            Ok((path.clone(), read_text(&path)?))
        };
        let files = [SKILLFILE, LOCKFILE, ".gitignore"].into_iter().map(read);
        Ok(Self {
            root: root.clone(),
            files: files.collect::<anyhow::Result<_>>()?,
            had_folder: fs::symlink_metadata(root.join(FOLDER).as_path()).is_ok(),
        })
    }

    /// Restores the files. An install of the skills that were there before has run already.
    pub(super) fn restore(&self) -> anyhow::Result<()> {
        for (path, text) in &self.files {
            match text {
                Some(text) => drop(write_file(path, text.as_bytes())?),
                None if path.as_path().exists() => skill_fs::remove_file(path)
                    .map_err(|error| Failure::files(format!("cannot remove `{path}`"), error))?,
                None => {}
            }
        }
        if !self.had_folder {
            self.remove_folder();
        }
        Ok(())
    }

    /// Removes the folder that csk created for the failed change, unless it contains anything else by now.
    fn remove_folder(&self) {
        let folder = self.root.join(FOLDER);
        for name in ["env.sh", "env.ps1"] {
            let _ = skill_fs::remove_file(&folder.join(name));
        }
        for folder in [folder.join("skills"), folder.join("bin"), folder] {
            // Fails for a folder that is not empty.
            let _ = fs::remove_dir(folder.as_path());
        }
    }
}
