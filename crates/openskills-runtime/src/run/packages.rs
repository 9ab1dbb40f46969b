//! Finds the packages of a project that scripts can import: its Python environment and its `node_modules`. `activate`
//! and
//! `run` both use this, so that they agree on what is installed.
//!
//! An untrusted repository can ship such folders. Folders with files in the git index are ignored: only packages that
//! were installed on this machine count.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::{Component, Path, PathBuf};

use super::linked::node_links;
use super::outside::{own_folders, real_home};
use crate::Places;
use crate::discover::git_index::{Listed, lists};

/// The parts of a Python environment; its folder may contain other files.
const PARTS: [&str; 4] = ["pyvenv.cfg", "bin", "lib", "lib64"];

/// The packages of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProjectPackages {
    /// The root of its repository, or the folder itself without one.
    pub(crate) root: PathBuf,
    /// The active Python environment, or else the project's own.
    pub(crate) environment: Option<PythonEnvironment>,
    /// Folders of Python packages that were prepared for this run.
    pub(crate) prepared: Vec<PathBuf>,
    /// The real paths of the `node_modules` that were prepared for this run, and of the project's, nearest first.
    pub(crate) node: Vec<PathBuf>,
    /// Folders of the project that links in them point to, such as workspaces.
    pub(crate) node_links: Vec<PathBuf>,
    /// Ignored folders, each with the reason.
    pub(crate) unused: Vec<String>,
    /// Folders that no interpreter is used from: our own, and the project's.
    pub(crate) avoid: Vec<PathBuf>,
}

impl ProjectPackages {
    /// Finds the packages of the given project, or of the working folder and its parents.
    pub(crate) fn find(places: &Places, project: Option<&Path>) -> Self {
        let base = project.map_or_else(
            || places.cwd.as_path().to_owned(),
            |project| places.cwd.as_path().join(project),
        );
        let base = std::fs::canonicalize(&base).unwrap_or(base);
        let repository = base.ancestors().find(|folder| folder.join(".git").exists());
        let root = repository.unwrap_or(&base).to_owned();
        let mut unused = Vec::new();
        let mut here = |name: &str| -> Vec<PathBuf> {
            let found = folders(&base, repository, name).into_iter();
            found.filter(|folder| is_installed(folder, repository, &mut unused)).collect()
        };
        let active = places.library_variables.get("VIRTUAL_ENV").map(PathBuf::from);
        let active = active.filter(|path| path.is_absolute()).and_then(PythonEnvironment::open);
        let environment =
            active.or_else(|| here(".venv").into_iter().find_map(PythonEnvironment::open));
        let node: Vec<PathBuf> = here("node_modules")
            .into_iter()
            .filter_map(|folder| std::fs::canonicalize(folder).ok())
            .collect();
        let mut avoid = own_folders(places);
        let home = real_home(places.home.as_ref());
        // If the project is the whole home folder, interpreters installed there are not part of it.
        avoid.extend((!home.is_some_and(|home| home.starts_with(&root))).then(|| root.clone()));
        let node_links = node_links(&node, &root);
        Self { root, environment, prepared: Vec::new(), node, node_links, unused, avoid }
    }
}

/// A Python virtual environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonEnvironment {
    root: PathBuf,
    /// Whether it includes the packages of its base interpreter.
    pub(crate) has_system_packages: bool,
    /// The base interpreter: its program if recorded, and its folder.
    made_with: [Option<PathBuf>; 2],
}

impl PythonEnvironment {
    fn open(root: PathBuf) -> Option<Self> {
        // Only normalized paths can be granted.
        let has_parent = root.components().any(|part| part == Component::ParentDir);
        let root = if has_parent { std::fs::canonicalize(root).ok()? } else { root };
        let settings = std::fs::read_to_string(root.join("pyvenv.cfg")).ok()?;
        let value = |wanted: &str| {
            settings.lines().find_map(|line| {
                let (name, value) = line.split_once('=')?;
                (name.trim() == wanted).then(|| value.trim().to_owned())
            })
        };
        let path = |name: &str| value(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let has_system_packages =
            value("include-system-site-packages").is_some_and(|value| value == "true");
        let made_with = [path("executable"), path("home")];
        Some(Self { root, has_system_packages, made_with })
    }

    /// Returns the environment whose programs are in `bin`.
    pub(crate) fn around(bin: &Path) -> Option<Self> {
        Self::open(bin.parent()?.to_owned())
    }

    /// Returns the path of an interpreter in it. The caller has to check where it leads.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    /// Returns the programs that its interpreter may be a copy of (`python -m venv --copies`), according to its
    /// settings.
    pub(crate) fn originals(&self, name: &str) -> Vec<PathBuf> {
        let [program, folder] = &self.made_with;
        let in_folder =
            folder.iter().flat_map(|folder| [folder.join(name), folder.join("python3")]);
        program.iter().cloned().chain(in_folder).collect()
    }

    /// Returns its folders and files that a script reads, except those that link outside of it.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let real_root = std::fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let parts = PARTS.map(|part| self.root.join(part));
        let is_inside = |path: &PathBuf| {
            std::fs::canonicalize(path).is_ok_and(|real| real.starts_with(&real_root))
        };
        parts.into_iter().filter(is_inside).collect()
    }

    /// Returns its package folders; `below` lists where its interpreter looks inside it.
    pub(crate) fn packages(&self, below: &[PathBuf]) -> Vec<PathBuf> {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let mut all: Vec<PathBuf> = Vec::new();
        for folder in below.iter().map(|below| self.root.join(below)).filter(|path| path.is_dir()) {
            // lib64 is often a link to lib.
            if !all.iter().any(|known| real(known) == real(&folder)) {
                all.push(folder);
            }
        }
        all
    }
}

/// Finds folders with a name in a folder and its parents, up to the root of the repository if there is one.
fn folders(base: &Path, repository: Option<&Path>, name: &str) -> Vec<PathBuf> {
    let upwards = base
        .ancestors()
        .take_while(|folder| repository.is_none_or(|root| folder.starts_with(root)));
    upwards.map(|folder| folder.join(name)).filter(|folder| folder.is_dir()).collect()
}

/// Returns true for a folder that was installed on this machine. A folder that the repository tracks is added to
/// `unused`.
fn is_installed(folder: &Path, repository: Option<&Path>, unused: &mut Vec<String>) -> bool {
    let why = match repository.map_or(Listed::No, |root| lists(root, folder)) {
        Listed::No => return true,
        Listed::Yes => "the repository tracks files in it",
        Listed::Unknown => "cannot read the index of its repository",
    };
    unused.push(format!("`{}` is ignored: {why}", folder.display()));
    false
}
