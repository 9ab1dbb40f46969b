//! Folders of a project that its installed packages link to: npm workspaces, and editable pip installs.
//!
//! A script may read such a folder like any other package. But it contains the project's sources and not files selected
//! by an installer, so it stays closed if it contains a file named like a key or credential.

#![expect(clippy::disallowed_methods, reason = "the edge to the file system")]

use std::fs::FileType;
use std::path::{Component, Path, PathBuf};

use super::outside::is_key_name;

/// Folders with more entries stay closed.
const MAX_ENTRIES: usize = 20_000;
/// Larger link files are not read.
const MAX_FILE: u64 = 1 << 20;
/// Package folders inside other folders; each is checked separately.
const INSTALLED: [&str; 3] = ["node_modules", ".venv", "__pycache__"];

/// A link file among Python packages, which adds a folder to the import path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonLink {
    /// The name of the file.
    pub(crate) file: String,
    /// The folder added to the import path; `None` if the file maps single packages.
    pub(crate) folder: Option<PathBuf>,
    /// What a script may read of the target; empty if nothing.
    pub(crate) reads: Vec<PathBuf>,
}

/// Returns the folders of the project at `root` that links in its `node_modules` point to.
pub(crate) fn node_links(modules: &[PathBuf], root: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in modules {
        for entry in entries(folder) {
            let is_scope = entry.file_name().is_some_and(|name| as_text(name).starts_with('@'));
            let packages =
                if is_scope && !entry.is_symlink() { entries(&entry) } else { vec![entry] };
            for package in packages.into_iter().filter(|path| path.is_symlink()) {
                let Ok(real) = std::fs::canonicalize(&package) else { continue };
                let is_inside = modules.iter().any(|folder| real.starts_with(folder));
                if !is_inside && !all.contains(&real) && may_be_read(&real, root, modules) {
                    all.push(real);
                }
            }
        }
    }
    all
}

/// Returns the links in a Python package folder.
pub(crate) fn python_links(packages: &Path, root: &Path) -> Vec<PythonLink> {
    let mut all = Vec::new();
    for file in entries(packages) {
        let name = file.file_name().map(|name| as_text(name).into_owned()).unwrap_or_default();
        let is_finder = name.starts_with("__editable___") && name.ends_with("_finder.py");
        if name.ends_with(".pth") {
            let text = read(&file).unwrap_or_default();
            for line in text.lines().map(str::trim_end).filter(|line| line.starts_with('/')) {
                let Ok(folder) = std::fs::canonicalize(line) else { continue };
                if folder.starts_with(packages) || is_system(&folder) {
                    continue;
                }
                let reads = importable(&folder, root, packages);
                all.push(PythonLink { file: name.clone(), folder: Some(folder), reads });
            }
        } else if is_finder {
            for path in mapped(&read(&file).unwrap_or_default()) {
                let with_ending = path.with_extension("py");
                let found =
                    std::fs::canonicalize(&path).or_else(|_| std::fs::canonicalize(with_ending));
                let Ok(real) = found else { continue };
                let is_open = may_be_read(&real, root, &[packages.to_owned()]);
                let reads = if is_open { vec![real] } else { Vec::new() };
                all.push(PythonLink { file: name.clone(), folder: None, reads });
            }
        }
    }
    all
}

/// Returns what a script may read of an import folder: all of it, or just its packages if it contains more than
/// sources.
fn importable(folder: &Path, root: &Path, packages: &Path) -> Vec<PathBuf> {
    let installed = [packages.to_owned()];
    if may_be_read(folder, root, &installed) {
        return vec![folder.to_owned()];
    }
    let is_module = |path: &PathBuf| {
        path.join("__init__.py").is_file() || path.extension().is_some_and(|end| end == "py")
    };
    let modules = entries(folder).into_iter().filter(is_module);
    modules.filter(|path| !path.is_symlink() && may_be_read(path, root, &installed)).collect()
}

/// Returns the paths in the mapping of a setuptools editable install: `MAPPING: dict[str, str] = {'name':
/// '/path/name'}`.
fn mapped(text: &str) -> Vec<PathBuf> {
    let line = text.lines().find(|line| line.starts_with("MAPPING")).unwrap_or_default();
    let quoted = line.split('\'').skip(1).step_by(2);
    quoted.filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

/// Returns true if a script may read a file or folder of a project as a package: it is inside the project, not hidden,
/// contains no installed packages, and no file named like a key or credential.
fn may_be_read(real: &Path, root: &Path, installed: &[PathBuf]) -> bool {
    let Ok(inside) = real.strip_prefix(root) else { return false };
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !as_text(name).starts_with('.'),
        _ => false,
    };
    inside.components().next().is_some()
        && inside.components().all(is_plain)
        && !installed.iter().any(|folder| folder.starts_with(real))
        && holds_no_key(real)
}

fn holds_no_key(real: &Path) -> bool {
    let mut open = vec![real.to_owned()];
    let mut left = MAX_ENTRIES;
    while let Some(folder) = open.pop() {
        if folder.is_file() {
            continue;
        }
        let Ok(all) = std::fs::read_dir(&folder) else { return false };
        for entry in all {
            let Some((entry, rest)) = entry.ok().zip(left.checked_sub(1)) else { return false };
            left = rest;
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { return false };
            if kind.is_dir() && INSTALLED.iter().any(|known| name == *known) {
                continue;
            }
            // Source files may be named after keys without containing any.
            if is_key_name(&as_text(&name)) && !is_code(&entry.path(), kind) {
                return false;
            }
            if kind.is_dir() {
                open.push(entry.path());
            }
        }
    }
    true
}

/// Returns true for a source file, and for a folder, because its files are checked individually.
fn is_code(path: &Path, kind: FileType) -> bool {
    const CODE: [&str; 10] = ["py", "pyi", "pyc", "js", "mjs", "cjs", "ts", "tsx", "jsx", "map"];
    let is_hidden = path.file_name().is_some_and(|name| as_text(name).starts_with('.'));
    let end = path.extension().map(as_text);
    !is_hidden && (kind.is_dir() || end.is_some_and(|end| CODE.contains(&&*end)))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut all: Vec<PathBuf> = all.map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn read(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok()?;
    (found.is_file() && found.len() <= MAX_FILE).then(|| std::fs::read_to_string(path).ok())?
}

fn as_text(name: &std::ffi::OsStr) -> std::borrow::Cow<'_, str> {
    name.to_string_lossy()
}

/// Returns true for system paths, which every script may read.
fn is_system(path: &Path) -> bool {
    super::interpreter::is_system(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn linked_packages_with_secrets_or_outside_the_project_are_not_read() {
        let scratch = tempfile::tempdir().unwrap();
        let root = &fs::canonicalize(scratch.path()).unwrap().join("project");
        let modules = root.join("node_modules");
        for (path, text) in [
            ("node_modules/@app/plain/package.json", "{}"),
            ("packages/lib/package.json", "{}"),
            ("packages/lib/.eslintrc", ""),
            ("packages/lib/token.js", ""),
            ("packages/lib/node_modules/x/.env", ""),
            ("packages/secret/.env.local", ""),
            ("packages/keys/server.pem", ""),
            (".hidden/package.json", "{}"),
            ("../outside/package.json", "{}"),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        for (name, target) in [
            ("@app/lib", "../../packages/lib"),
            ("secret", "../packages/secret"),
            ("keys", "../packages/keys"),
            ("hidden", "../.hidden"),
            ("outside", "../../outside"),
            ("whole", ".."),
            ("gone", "../packages/gone"),
        ] {
            symlink(target, modules.join(name)).unwrap();
        }
        assert_eq!(node_links(&[modules], root), [root.join("packages/lib")]);
    }

    #[test]
    fn editable_python_packages_are_found() {
        let scratch = tempfile::tempdir().unwrap();
        let root = &fs::canonicalize(scratch.path()).unwrap().join("project");
        let site = root.join(".venv/lib/python3.11/site-packages");
        for path in
            ["src/one/__init__.py", "flat/__init__.py", "alone.py", ".env", "b/c/__init__.py"]
        {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "").unwrap();
        }
        fs::create_dir_all(&site).unwrap();
        let write = |name: &str, text: String| fs::write(site.join(name), text).unwrap();
        let at = |path: &str| root.join(path);
        write("a.pth", format!("{}\nimport x; x.y()\n/usr/lib\n/gone\n", at("src").display()));
        write("b.pth", format!("{}\n", root.display()));
        write("c.pth", format!("{}\n", scratch.path().display()));
        let finder = format!(
            "NAMESPACES = {{}}\nMAPPING: dict[str, str] = {{'c': '{}'}}\n",
            at("b/c").display()
        );
        write("__editable___c_1_finder.py", finder);
        let found = python_links(&site, root);
        let found: Vec<(&str, Vec<PathBuf>)> =
            found.iter().map(|link| (link.file.as_str(), link.reads.clone())).collect();
        assert_eq!(
            found,
            [
                ("__editable___c_1_finder.py", vec![at("b/c")]),
                ("a.pth", vec![at("src")]),
                // The project root contains more than packages.
                ("b.pth", vec![at("alone.py"), at("flat")]),
                ("c.pth", vec![]),
            ]
        );
    }
}
