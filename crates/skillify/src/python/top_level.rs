//! Finds the top-level packages and modules that an installer would install, without development files next to them.

use std::collections::BTreeSet;

use crate::Files;

/// The top-level packages and modules that an installer installs.
pub(super) enum TopLevel {
    /// Only these.
    Only(BTreeSet<String>),
    /// All files, because they were put in place by an installer.
    Any,
}

impl TopLevel {
    /// Determines what a package installs: from its build metadata, its build settings, its layout, or its name.
    pub(super) fn find(files: &Files, name: &str) -> Self {
        let listed = files.paths().find(|path| path.ends_with("top_level.txt"));
        let listed = listed.and_then(|path| files.text(path)).unwrap_or_default();
        let listed: BTreeSet<String> = listed
            .lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        if !listed.is_empty() {
            return Self::Only(listed);
        }
        if is_installed(files) {
            return Self::Any;
        }
        let named = configured(files);
        if !named.is_empty() {
            return Self::Only(named);
        }
        // Everything in `src/` is installed.
        let in_src = files.paths().filter_map(|path| path.strip_prefix("src/"));
        let in_src: BTreeSet<String> = in_src
            .filter(|path| path.ends_with(".py"))
            .map(|path| top_of(path).to_owned())
            .collect();
        if !in_src.is_empty() {
            return Self::Only(in_src);
        }
        let tops: BTreeSet<String> = files
            .paths()
            .filter(|path| path.ends_with(".py"))
            .map(|path| top_of(path).to_owned())
            .collect();
        // `foo-bar` and `Foo.Bar` are imported as `foo_bar` or `foo`.
        let usual = name.to_lowercase().replace(['-', '.'], "_");
        let first =
            name.to_lowercase().split(['-', '.', '_']).next().unwrap_or_default().to_owned();
        for wanted in [usual, first] {
            if let Some(found) = tops.iter().find(|top| top.to_lowercase() == wanted) {
                return Self::Only(BTreeSet::from([found.clone()]));
            }
        }
        let packages = files.paths().filter_map(|path| path.strip_suffix("/__init__.py"));
        let is_for_development = |top: &str| {
            matches!(
                top,
                "docs"
                    | "doc"
                    | "examples"
                    | "bench"
                    | "benchmarks"
                    | "scripts"
                    | "tools"
                    | "build"
            )
        };
        let packages = packages.filter(|path| !path.contains('/') && !is_for_development(path));
        Self::Only(packages.map(str::to_owned).collect())
    }

    /// Returns true if a file belongs to one of them.
    pub(super) fn has(&self, path: &str) -> bool {
        match self {
            Self::Only(tops) => tops.contains(top_of(path)),
            Self::Any => true,
        }
    }
}

/// Returns the package or module that a file belongs to.
fn top_of(path: &str) -> &str {
    let top = path.split('/').next().unwrap_or(path);
    top.strip_suffix(".py").unwrap_or(top)
}

/// Returns the packages and modules listed in the settings of the build tool.
fn configured(files: &Files) -> BTreeSet<String> {
    let table: toml::Table =
        files.text("pyproject.toml").and_then(|text| text.parse().ok()).unwrap_or_default();
    let at = |keys: &[&str]| {
        let mut value = table.get("tool")?;
        for key in keys {
            value = value.get(key)?;
        }
        Some(value.clone())
    };
    let mut found = BTreeSet::new();
    let mut take = |text: &str| {
        let text = text.trim_start_matches("./");
        let text = text.strip_prefix("src/").unwrap_or(text);
        let top = text.split(['/', '.']).next().unwrap_or(text);
        if !top.is_empty() {
            found.insert(top.to_owned());
        }
    };
    for keys in [
        &["setuptools", "packages"][..],
        &["setuptools", "py-modules"],
        &["hatch", "build", "targets", "wheel", "packages"],
        &["poetry", "packages"],
    ] {
        for item in at(keys).as_ref().and_then(toml::Value::as_array).into_iter().flatten() {
            let named = item.get("include").or(Some(item)).and_then(toml::Value::as_str);
            named.into_iter().for_each(&mut take);
        }
    }
    if let Some(name) = at(&["flit", "module", "name"]) {
        name.as_str().into_iter().for_each(&mut take);
    }
    found
}

/// Returns true if an installer put the files in place, or would install them as they are.
fn is_installed(files: &Files) -> bool {
    files.paths().any(|path| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        (name == "METADATA" && folder.ends_with(".dist-info")) || path == "RECORD"
    })
}

/// Returns the modules listed in RECORD that are not among the files.
pub(super) fn missing(files: &Files) -> Vec<String> {
    let is_record = |path: &&str| path.rsplit('/').next() == Some("RECORD");
    let record = files.paths().find(is_record).and_then(|path| files.text(path));
    let missing: BTreeSet<String> = record
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split(',').next())
        .filter(|path| path.ends_with(".py") && is_module(path) && !files.has(path))
        .map(|path| top_of(path).to_owned())
        .collect();
    missing.into_iter().filter(|top| !top.starts_with("..")).collect()
}

/// Returns true for a module that users may import, and not a test.
pub(super) fn is_module(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_test = name.starts_with("test_") || name.ends_with("_test.py") || name == "conftest.py";
    path.ends_with(".py") && !is_test && !path.split('/').any(|part| part == "tests")
}
