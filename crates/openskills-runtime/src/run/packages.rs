//! Where a project keeps packages that scripts import: its environment of Python, and its `node_modules`. `activate` and `run` both ask
//! here, so that what one accepts the other finds.
//!
//! A repository that a stranger wrote can bring such folders. What its index lists is left alone: only what was installed here counts.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::path::{Path, PathBuf};

use super::linked::node_links;
use super::outside::{own_places, real_home};
use crate::Places;
use crate::discover::git_index::{Listed, lists};

/// What an environment of Python consists of; it may stand in a folder with much else.
const PARTS: [&str; 4] = ["pyvenv.cfg", "bin", "lib", "lib64"];

/// The packages of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProjectPackages {
    /// The root of its repository; without one the folder itself.
    pub(crate) root: PathBuf,
    /// The environment of Python that is active, else the project's own.
    pub(crate) environment: Option<Environment>,
    /// The `node_modules` of the project by their real paths, the nearest first.
    pub(crate) node: Vec<PathBuf>,
    /// Folders of the project that links in them lead to, such as those of workspaces.
    pub(crate) node_links: Vec<PathBuf>,
    /// Folders that are not used, each with the reason.
    pub(crate) unused: Vec<String>,
    /// Where no interpreter is taken from: our own folders, and the project's.
    pub(crate) avoid: Vec<PathBuf>,
}

impl ProjectPackages {
    /// Finds them: for the project that was named, or from the working folder upwards.
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
        let active = active.filter(|path| path.is_absolute()).and_then(Environment::open);
        let environment = active.or_else(|| here(".venv").into_iter().find_map(Environment::open));
        let node: Vec<PathBuf> = here("node_modules")
            .into_iter()
            .filter_map(|folder| std::fs::canonicalize(folder).ok())
            .collect();
        let mut avoid = own_places(places);
        let home = real_home(places.home.as_ref());
        // Where the project is the whole home, what the user installed there is no part of it.
        avoid.extend((!home.is_some_and(|home| home.starts_with(&root))).then(|| root.clone()));
        let node_links = node_links(&node, &root);
        Self { root, environment, node, node_links, unused, avoid }
    }
}

/// An environment of Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    root: PathBuf,
    /// Whether the packages of its interpreter count as well.
    pub(crate) has_system_packages: bool,
    /// The interpreter that it was made with: its program where it says so, else the folder of it.
    made_with: [Option<PathBuf>; 2],
}

impl Environment {
    fn open(root: PathBuf) -> Option<Self> {
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

    /// Returns the interpreter of a name in it. It is the caller's to look where that leads.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    /// Returns the programs that an interpreter in it may be a copy of (`python -m venv --copies`), by what it says itself.
    pub(crate) fn originals(&self, name: &str) -> Vec<PathBuf> {
        let [program, folder] = &self.made_with;
        let in_folder =
            folder.iter().flat_map(|folder| [folder.join(name), folder.join("python3")]);
        program.iter().cloned().chain(in_folder).collect()
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

    /// Returns the folders of its packages; `below` has where its interpreter looks in it.
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

/// Finds folders of a name from a folder upwards, to the root of its repository where there is one.
fn folders(base: &Path, repository: Option<&Path>, name: &str) -> Vec<PathBuf> {
    let upwards = base
        .ancestors()
        .take_while(|folder| repository.is_none_or(|root| folder.starts_with(root)));
    upwards.map(|folder| folder.join(name)).filter(|folder| folder.is_dir()).collect()
}

/// Returns true for a folder that was installed here. One that the repository brings is noted.
fn is_installed(folder: &Path, repository: Option<&Path>, unused: &mut Vec<String>) -> bool {
    let why = match repository.map_or(Listed::No, |root| lists(root, folder)) {
        Listed::No => return true,
        Listed::Yes => "the repository brings files of it",
        Listed::Unknown => "the index of its repository cannot be read",
    };
    unused.push(format!("{} is not used: {why}", folder.display()));
    false
}
