//! Libraries that a skill needs: looked for in the folders where a run of it finds them.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

use skill::{LibraryKind, NeededLibrary};
use skill_fs::AbsPath;

use crate::Places;
use crate::run::linked::PythonLink;
use crate::run::packages::ProjectPackages;
use crate::run::{Search, interpreter};

/// Where libraries are on this machine, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Libraries {
    /// Those of R.
    pub(crate) r: Vec<PathBuf>,
    /// Those of Python.
    pub(crate) python: Vec<PathBuf>,
    /// What files among those of Python link to.
    pub(crate) python_links: Vec<PythonLink>,
    /// Those of Node.js.
    pub(crate) node: Vec<PathBuf>,
    /// What links among those lead to and a script may read.
    pub(crate) node_links: Vec<PathBuf>,
    /// Folders that are not used, each with the reason.
    pub(crate) unused: Vec<String>,
}

impl Libraries {
    /// The variables that say where they are.
    pub(crate) const VARIABLES: [&str; 6] =
        ["R_LIBS", "R_LIBS_USER", "R_LIBS_SITE", "PYTHONPATH", "VIRTUAL_ENV", "NODE_PATH"];

    /// Finds the folders in which a run finds them: those of the interpreter that would run, and of the project.
    pub(crate) fn find(places: &Places, project: Option<&Path>) -> Self {
        let home = places.home.as_ref().map(AbsPath::as_path);
        let listed = |name: &str| listed(places, name);
        let mut r: Vec<PathBuf> =
            ["R_LIBS", "R_LIBS_USER", "R_LIBS_SITE"].into_iter().flat_map(listed).collect();
        r.extend(home.into_iter().flat_map(|home| below(&below_one(&home.join("R")))));
        r.extend(
            ["/usr/local/lib/R/site-library", "/usr/lib/R/site-library", "/usr/lib/R/library"]
                .map(PathBuf::from),
        );
        let project = ProjectPackages::find(places, project);
        let avoid: Vec<&Path> = project.avoid.iter().map(PathBuf::as_path).collect();
        let search = Search {
            avoid: &avoid,
            project: &project,
            cache: places.cache.as_ref(),
            variables: &places.variables,
        };
        let (python, python_links) = interpreter("python3", &search)
            .map_or_else(|_| (Vec::new(), Vec::new()), |found| (found.packages, found.links));
        let of_node =
            interpreter("node", &search).map_or_else(|_| Vec::new(), |node| node.packages);
        let ProjectPackages { mut node, mut node_links, unused, .. } = project;
        // What the machine has its scripts read anyway.
        node_links.extend(["/usr", "/lib"].map(PathBuf::from));
        node.extend(of_node);
        Self { r, python, python_links, node, node_links, unused }
    }

    /// Adds the folders that the environment names for interpreters outside of the sandbox: whoever only reads a library looks there first.
    pub(crate) fn with_named(mut self, places: &Places) -> Self {
        self.python.splice(0..0, listed(places, "PYTHONPATH"));
        self.node.splice(0..0, listed(places, "NODE_PATH"));
        self
    }

    /// Returns those of what is needed that are not there, each with how to get it.
    pub(crate) fn missing(&self, needed: &[String]) -> Vec<(String, String)> {
        let mut missing = Vec::new();
        for text in needed {
            let Some(library) = NeededLibrary::parse(text) else {
                missing.push((text.clone(), "it is no name of a library".to_owned()));
                continue;
            };
            let how = match self.version(&library) {
                None => how_to_get(&library),
                Some(version) => match &library.least {
                    Some(least) if is_older(&version, least) => {
                        let there = if version.is_empty() {
                            "it tells no version"
                        } else {
                            &format!("{version} is there")
                        };
                        format!("{there}; {}", how_to_get(&library))
                    }
                    _ => continue,
                },
            };
            missing.push((text.clone(), how));
        }
        // Where a folder is left out, what is missing may be in it.
        if let Some((_, how)) = missing.last_mut().filter(|_| !self.unused.is_empty()) {
            *how = format!("{how}; {}", self.unused.join("; "));
        }
        missing
    }

    /// Returns those of the dependencies in a skill's metadata that are not there, each with how to get it. There a plain name is a package of Python, as others write it, and an
    /// interpreter is no library.
    pub(crate) fn missing_dependencies(&self, text: &str) -> Vec<(String, String)> {
        let is_interpreter =
            |name: &str| matches!(name, "python" | "python3" | "node" | "nodejs" | "r" | "R");
        let named = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let libraries: Vec<String> = named
            .filter(|name| {
                !is_interpreter(name.split(['>', '=', '<', '~', ' ']).next().unwrap_or(name))
            })
            .map(|name| {
                let plain = name.replace("==", ">=").replace("~=", ">=");
                let plain = plain.split('<').next().unwrap_or_default().trim().to_owned();
                if plain.contains(':') { plain } else { format!("python:{plain}") }
            })
            .collect();
        self.missing(&libraries)
    }

    /// Returns the folders of an installed library. Without a kind the first that has one of that name counts.
    pub(crate) fn folders(&self, text: &str) -> Option<Vec<PathBuf>> {
        let library = NeededLibrary::parse(text)?;
        let kinds = if text.contains(':') {
            vec![library.kind]
        } else {
            vec![LibraryKind::R, LibraryKind::Python, LibraryKind::Node]
        };
        let name = &library.name;
        let with = |folders: &[PathBuf], file: &str| {
            let found = folders.iter().map(|folder| folder.join(name));
            found.into_iter().find(|folder| folder.join(file).is_file()).map(|folder| vec![folder])
        };
        kinds.into_iter().find_map(|kind| match kind {
            LibraryKind::R => with(&self.r, "DESCRIPTION"),
            LibraryKind::Node => with(&self.node, "package.json"),
            LibraryKind::Python => {
                self.python.iter().find_map(|folder| python_folders(folder, name))
            }
        })
    }

    /// Returns the version of a library that is there; empty where none is told.
    fn version(&self, library: &NeededLibrary) -> Option<String> {
        let name = &library.name;
        match library.kind {
            LibraryKind::R => self.r.iter().find_map(|folder| {
                field(&read(&folder.join(name).join("DESCRIPTION"))?, "Version:")
            }),
            LibraryKind::Node => self.node.iter().find_map(|folder| {
                let package = folder.join(name);
                if !self.is_readable(&package) {
                    return None;
                }
                node_version(&package)
            }),
            LibraryKind::Python => self.python.iter().find_map(|folder| {
                let version = python_version(folder, name)?;
                self.is_linked(folder, name).then_some(version)
            }),
        }
    }
}

impl Libraries {
    /// Returns true for a package of node that a script may read, wherever its link leads.
    fn is_readable(&self, package: &Path) -> bool {
        let open = self.node.iter().chain(&self.node_links);
        let open: Vec<PathBuf> = open.filter_map(|folder| fs::canonicalize(folder).ok()).collect();
        let real = fs::canonicalize(package);
        real.is_ok_and(|real| open.iter().any(|folder| real.starts_with(folder)))
    }

    /// Returns true unless a package of Python was installed as a link to what a script may not read.
    fn is_linked(&self, folder: &Path, name: &str) -> bool {
        let record = python_record(folder, name).and_then(|(about, _)| read(&about.join("RECORD")));
        let record = record.unwrap_or_default();
        let mut files = record.lines().filter_map(|line| line.split(',').next());
        files.all(|file| {
            let mut links = self.python_links.iter().filter(|link| link.file == file);
            links.all(|link| !link.reads.is_empty())
        })
    }
}

/// Returns the version of a package of node; empty where it tells none.
fn node_version(package: &Path) -> Option<String> {
    let Some(text) = read(&package.join("package.json")) else {
        return package.join("index.js").is_file().then(String::new);
    };
    let data: serde_json::Value = serde_json::from_str(&text).ok()?;
    let version = data.as_object()?.get("version").and_then(serde_json::Value::as_str);
    Some(version.unwrap_or_default().to_owned())
}

/// Returns the folders that a variable lists.
fn listed(places: &Places, name: &str) -> Vec<PathBuf> {
    let text = places.library_variables.get(name).map_or("", String::as_str);
    std::env::split_paths(text).filter(|path| path.is_absolute()).collect()
}

fn how_to_get(library: &NeededLibrary) -> String {
    let name = &library.name;
    match library.kind {
        LibraryKind::R => format!("in R: install.packages(\"{name}\")"),
        LibraryKind::Python => format!("python3 -m pip install {name}"),
        LibraryKind::Node => format!("npm install {name}"),
    }
}

/// Returns the folders in a folder.
fn below_one(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut all: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    all.sort();
    all
}

fn below(folders: &[PathBuf]) -> Vec<PathBuf> {
    folders.iter().flat_map(|folder| below_one(folder)).collect()
}

/// Reads a small file that says what a library is.
fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() < 1 << 20).then(|| fs::read_to_string(path).ok())?
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    Some(line.unwrap_or_default().trim().to_owned())
}

/// Returns what an installer wrote of a package of Python, and its version.
fn python_record(folder: &Path, name: &str) -> Option<(PathBuf, String)> {
    let wanted = normal(name);
    fs::read_dir(folder).ok()?.filter_map(Result::ok).find_map(|entry| {
        let file = entry.file_name().to_string_lossy().into_owned();
        let stem = file.strip_suffix(".dist-info").or_else(|| file.strip_suffix(".egg-info"))?;
        let (found, version) = stem.split_once('-')?;
        let version = version.split('-').next().unwrap_or(version);
        (normal(found) == wanted).then(|| (entry.path(), version.to_owned()))
    })
}

/// Returns the version of a package of Python; of a bare module none is told.
fn python_version(folder: &Path, name: &str) -> Option<String> {
    let module = folder.join(normal(name));
    let is_bare = || module.join("__init__.py").is_file() || module.with_extension("py").is_file();
    let written = python_record(folder, name).map(|(_, version)| version);
    written.or_else(|| is_bare().then(String::new))
}

/// Returns what an installer wrote of a package of Python, and the folders of its modules.
fn python_folders(folder: &Path, name: &str) -> Option<Vec<PathBuf>> {
    let (about, _) = python_record(folder, name)?;
    let listed = read(&about.join("top_level.txt")).unwrap_or_else(|| normal(name));
    let is_name = |line: &&str| {
        !line.is_empty() && line.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let modules = listed.lines().map(str::trim).filter(is_name).map(|line| folder.join(line));
    let modules: Vec<PathBuf> = modules.filter(|path| path.is_dir()).collect();
    Some(std::iter::once(about).chain(modules).collect())
}

fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
}

/// Returns true if a version comes before another; one that is not told is older than any.
fn is_older(version: &str, least: &str) -> bool {
    let numbers = |text: &str| -> Vec<u128> {
        let parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let mut all: Vec<u128> = parts.map(|part| part.parse().unwrap_or(u128::MAX)).collect();
        // 1.0 is 1.0.0.
        while all.last() == Some(&0) {
            all.pop();
        }
        all
    };
    version.is_empty() || numbers(version) < numbers(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_where_they_are_installed() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path();
        for (path, text) in [
            ("r/pensar/DESCRIPTION", "Package: pensar\nVersion: 0.3.1\n"),
            ("py/requests-2.31.0.dist-info/METADATA", ""),
            ("py/bare/__init__.py", ""),
            ("node/left-pad/package.json", "{\"version\": \"1.3.0\"}"),
            ("node/@scope/thing/package.json", "{\"version\": \"2.0.0\"}"),
            ("node/noversion/package.json", "{\"main\": \"a.js\"}"),
            ("node/bare/index.js", ""),
        ] {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::write(base.join(path), text).unwrap();
        }
        let folder = |name: &str| vec![base.join("none"), base.join(name)];
        let libraries = Libraries {
            r: folder("r"),
            python: folder("py"),
            node: folder("node"),
            ..Libraries::default()
        };
        let there = [
            "pensar",
            "r:pensar>=0.3",
            "node:@scope/thing>=2",
            "node:@scope/thing>=2.0.0.0",
            "python:requests",
            "python:Requests >= 2",
            "python:bare",
            "node:left-pad>=1.3.0",
            "node:@scope/thing",
            "node:noversion",
            "node:bare",
        ];
        assert_eq!(libraries.missing(&there.map(str::to_owned)), []);
        assert_eq!(libraries.missing_dependencies("python>=3.8, requests>=2.0, node:left-pad"), []);
        let missing = libraries.missing_dependencies("pandas>=1.5.0, requests==9.0, requests<3");
        let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["python:pandas>=1.5.0", "python:requests>=9.0"]);
        for (text, how) in [
            ("llm.api", "install.packages(\"llm.api\")"),
            ("pensar>=0.4", "0.3.1 is there"),
            ("python:-rhttp", "no name of a library"),
            ("pensar>=99999999999999999999999999999999999999999", "0.3.1 is there"),
            ("python:numpy", "pip install numpy"),
            ("python:bare>=1", "it tells no version"),
            ("node:chalk", "npm install chalk"),
            ("node:noversion>=1", "it tells no version"),
            ("../etc", "no name of a library"),
            ("ruby:rails", "no name of a library"),
            ("node:@a/../b", "no name of a library"),
        ] {
            let missing = libraries.missing(&[text.to_owned()]);
            assert!(missing.len() == 1 && missing[0].1.contains(how), "{text}: {missing:?}");
        }
    }
}
