//! Where a project keeps packages that scripts import: its environment of Python, and its `node_modules`. What `activate` accepts is looked for
//! here too, so that a run finds it.
//!
//! A repository that a stranger wrote can bring such folders. What its index lists is left alone: only what was installed here counts.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::{Path, PathBuf};

use crate::Places;
use crate::git_files::lists;

/// What an environment of Python consists of; it may stand in a folder with much else.
const PARTS: [&str; 4] = ["pyvenv.cfg", "bin", "lib", "lib64"];

/// An environment of Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    root: PathBuf,
    /// Whether the packages of its interpreter count as well.
    pub(crate) has_system_packages: bool,
}

impl Environment {
    /// Finds the environment that is active, else `.venv` of the project.
    pub(crate) fn find(places: &Places) -> Option<Self> {
        let active = places.library_variables.get("VIRTUAL_ENV").map(PathBuf::from);
        if let Some(active) = active.filter(|path| path.is_absolute()).and_then(Self::open) {
            return Some(active);
        }
        let is_ours = |(folder, root): &(PathBuf, Option<PathBuf>)| {
            root.as_deref().is_none_or(|root| !lists(root, folder))
        };
        folders(places, ".venv")
            .into_iter()
            .filter(is_ours)
            .find_map(|(folder, _)| Self::open(folder))
    }

    fn open(root: PathBuf) -> Option<Self> {
        let settings = std::fs::read_to_string(root.join("pyvenv.cfg")).ok()?;
        let has_system_packages = settings.lines().any(|line| {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            name.trim() == "include-system-site-packages" && value.trim() == "true"
        });
        Some(Self { root, has_system_packages })
    }

    /// Returns the interpreter of a name in it. It is the caller's to look where that leads.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    /// Returns the folders and files that a script reads of it. One that leads elsewhere is not among them.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let real_root = std::fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let parts = PARTS.map(|part| self.root.join(part));
        let is_inside = |path: &PathBuf| {
            std::fs::canonicalize(path).is_ok_and(|real| real.starts_with(&real_root))
        };
        parts.into_iter().filter(is_inside).collect()
    }

    /// Returns the folders of its packages.
    pub(crate) fn packages(&self) -> Vec<PathBuf> {
        let versions = std::fs::read_dir(self.root.join("lib")).into_iter().flatten();
        let versions = versions.filter_map(|entry| Some(entry.ok()?.path().join("site-packages")));
        let mut all: Vec<PathBuf> = versions.filter(|path| path.is_dir()).collect();
        all.sort();
        all
    }
}

/// Returns the `node_modules` of the project, the nearest first.
pub(crate) fn node_modules(places: &Places) -> Vec<PathBuf> {
    let all = folders(places, "node_modules").into_iter();
    all.filter(|(folder, root)| root.as_deref().is_none_or(|root| !lists(root, folder)))
        .filter_map(|(folder, _)| std::fs::canonicalize(folder).ok())
        .collect()
}

/// Finds folders of a name from the working folder upwards, to the root of its repository where there is one. Each comes with that root.
fn folders(places: &Places, name: &str) -> Vec<(PathBuf, Option<PathBuf>)> {
    let cwd = places.cwd.as_path();
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists());
    let upwards =
        cwd.ancestors().take_while(|folder| root.is_none_or(|root| folder.starts_with(root)));
    let here = upwards.map(|folder| folder.join(name)).filter(|folder| folder.is_dir());
    here.map(|folder| (folder, root.map(Path::to_owned))).collect()
}
