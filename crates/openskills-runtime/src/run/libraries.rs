//! Finds the libraries that a skill needs, in the folders where a run would find them.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs;
use std::path::{Path, PathBuf};

use skill::{LibraryKind, NeededLibrary};
use skill_fs::AbsPath;

use crate::Places;
use crate::run::linked::PythonLink;
use crate::run::packages::ProjectPackages;
use crate::run::{Search, interpreter};

/// The library folders of this machine, in search order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Libraries {
    /// Library folders of R.
    pub(crate) r: Vec<PathBuf>,
    /// Package folders of Python.
    pub(crate) python: Vec<PathBuf>,
    /// Folders that Python packages link to.
    pub(crate) python_links: Vec<PythonLink>,
    /// Package folders of Node.js.
    pub(crate) node: Vec<PathBuf>,
    /// Targets of links in them that a script may read.
    pub(crate) node_links: Vec<PathBuf>,
    /// Ignored folders, each with the reason.
    pub(crate) unused: Vec<String>,
}

impl Libraries {
    /// The variables that locate them.
    pub(crate) const VARIABLES: [&str; 6] =
        ["R_LIBS", "R_LIBS_USER", "R_LIBS_SITE", "PYTHONPATH", "VIRTUAL_ENV", "NODE_PATH"];

    /// Finds the folders that a run would use: those of the interpreter and of the project.
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
        // Every script may read these.
        node_links.extend(["/usr", "/lib"].map(PathBuf::from));
        node.extend(of_node);
        Self { r, python, python_links, node, node_links, unused }
    }

    /// Adds the folders that PYTHONPATH and NODE_PATH list, for callers that only read a library outside the sandbox.
    pub(crate) fn with_named(mut self, places: &Places) -> Self {
        self.python.splice(0..0, listed(places, "PYTHONPATH"));
        self.node.splice(0..0, listed(places, "NODE_PATH"));
        self
    }

    /// Returns the missing libraries, each with how to install it.
    pub(crate) fn missing(&self, needed: &[String]) -> Vec<(String, String)> {
        let mut missing = Vec::new();
        for text in needed {
            let Some(library) = NeededLibrary::parse(text) else {
                missing.push((text.clone(), "not a valid library name".to_owned()));
                continue;
            };
            let how = match self.version(&library) {
                None => how_to_get(&library),
                Some(version) => match &library.min_version {
                    Some(least) if is_older(&version, least) => {
                        let there = if version.is_empty() {
                            "its version is unknown"
                        } else {
                            &format!("{version} is installed")
                        };
                        format!("{there}; {}", how_to_get(&library))
                    }
                    _ => continue,
                },
            };
            missing.push((text.clone(), how));
        }
        // The missing library may be in an ignored folder.
        if let Some((_, how)) = missing.last_mut().filter(|_| !self.unused.is_empty()) {
            *how = format!("{how}; {}", self.unused.join("; "));
        }
        missing
    }

    /// Returns the missing dependencies from a skill's metadata, each with how to install it. In this field a plain
    /// name is a Python package, by convention, and interpreters are not libraries.
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

    /// Returns the folders of an installed library. Without a kind, the first language that has a library of that name
    /// wins.
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

    /// Returns the version of an installed library; empty if it has none.
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
    /// Returns true if a script may read a Node.js package, following its link.
    fn is_readable(&self, package: &Path) -> bool {
        let open = self.node.iter().chain(&self.node_links);
        let open: Vec<PathBuf> = open.filter_map(|folder| fs::canonicalize(folder).ok()).collect();
        let real = fs::canonicalize(package);
        real.is_ok_and(|real| open.iter().any(|folder| real.starts_with(folder)))
    }

    /// Returns true unless a Python package was installed as a link to a folder that a script may not read.
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

/// Returns the version of a Node.js package; empty if it has none.
fn node_version(package: &Path) -> Option<String> {
    let Some(text) = read(&package.join("package.json")) else {
        return package.join("index.js").is_file().then(String::new);
    };
    let data: serde_json::Value = serde_json::from_str(&text).ok()?;
    let version = data.as_object()?.get("version").and_then(serde_json::Value::as_str);
    Some(version.unwrap_or_default().to_owned())
}

/// Returns the folders listed in a variable.
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

/// Returns the subfolders of a folder.
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

/// Reads a metadata file of a library, if it is small.
fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() < 1 << 20).then(|| fs::read_to_string(path).ok())?
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    Some(line.unwrap_or_default().trim().to_owned())
}

/// Returns the metadata folder of a Python package, and its version.
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

/// Returns the version of a Python package; empty for a bare module.
fn python_version(folder: &Path, name: &str) -> Option<String> {
    let module = folder.join(normal(name));
    let is_bare = || module.join("__init__.py").is_file() || module.with_extension("py").is_file();
    let written = python_record(folder, name).map(|(_, version)| version);
    written.or_else(|| is_bare().then(String::new))
}

/// Returns the metadata folder of a Python package, and the folders of its modules.
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

/// Returns true if a version is older than `least`; an unknown version is older than any.
fn is_older(version: &str, least: &str) -> bool {
    let numbers = |text: &str| -> Vec<u128> {
        let parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let mut all: Vec<u128> = parts.map(|part| part.parse().unwrap_or(u128::MAX)).collect();
        // 1.0 equals 1.0.0.
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
    fn installed_r_python_and_node_libraries_are_found() {
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
            ("pensar>=0.4", "0.3.1 is installed"),
            ("python:-rhttp", "not a valid library name"),
            ("pensar>=99999999999999999999999999999999999999999", "0.3.1 is installed"),
            ("python:numpy", "pip install numpy"),
            ("python:bare>=1", "its version is unknown"),
            ("node:chalk", "npm install chalk"),
            ("node:noversion>=1", "its version is unknown"),
            ("../etc", "not a valid library name"),
            ("ruby:rails", "not a valid library name"),
            ("node:@a/../b", "not a valid library name"),
        ] {
            let missing = libraries.missing(&[text.to_owned()]);
            assert!(missing.len() == 1 && missing[0].1.contains(how), "{text}: {missing:?}");
        }
    }
}
