//! Finds the project folder.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::Path;

use skill_fs::{AbsPath, FsError, real_path};

use crate::Places;

/// The project that contains the working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Project {
    /// The real path of its folder.
    pub(crate) root: AbsPath,
    /// The folders between the project folder and the working folder, including the latter.
    pub(crate) between: Vec<AbsPath>,
    /// Whether its subfolders may be searched. A home folder is not searched.
    pub(crate) is_searched: bool,
}

/// Finds the project: the given folder, or the git repository that contains the working folder, or the working folder
/// itself.
pub(crate) fn find_project(named: Option<&Path>, places: &Places) -> Result<Project, FsError> {
    let home = places.home.as_ref().and_then(|home| real_path(home).ok());
    let (root, cwd) = match named {
        Some(named) => {
            let named = AbsPath::new(places.cwd.as_path().join(named)).map_err(|error| {
                let path = named.to_string_lossy().into_owned();
                FsError::Io { path, source: std::io::Error::other(error.to_string()) }
            })?;
            let root = real_path(&named)?;
            (root.clone(), root)
        }
        None => {
            let cwd = real_path(&places.cwd)?;
            (repository(&cwd, home.as_ref()).unwrap_or_else(|| cwd.clone()), cwd)
        }
    };
    let mut between: Vec<AbsPath> = std::iter::successors(Some(cwd), AbsPath::parent)
        .take_while(|folder| *folder != root)
        .collect();
    between.reverse();
    let is_searched = Some(&root) != home.as_ref() && root.parent().is_some();
    Ok(Project { root, between, is_searched })
}

/// Returns the nearest git repository at or above `cwd`. A repository of the whole home folder (dotfiles) does not
/// count as the project of a folder inside it.
fn repository(cwd: &AbsPath, home: Option<&AbsPath>) -> Option<AbsPath> {
    std::iter::successors(Some(cwd.clone()), AbsPath::parent)
        .find(|folder| std::fs::symlink_metadata(folder.join(".git").as_path()).is_ok())
        .filter(|folder| folder == cwd || Some(folder) != home)
}
