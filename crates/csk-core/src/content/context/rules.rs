//! Decides which files of a snapshot are installed because of their location, and which are never installed.

use skill::{AGENT_MANIFEST_FILE, CommandKind, MANIFEST_FILE, Manifest, RelPath, SKILL_FILE};

use super::Shape;
use crate::content::snapshot::{File, Snapshot};

/// Folders that are installed.
const INCLUDED: &[&str] =
    &[".skill_triggers", "agents", "assets", "data", "examples", "references", "templates", "wasm"];

/// Installed only if the skill declares no script command; otherwise it belongs to the command store.
const SCRIPTS: &str = "scripts";

/// Names that are never installed, at any depth.
const EXCLUDED: &[&str] = &[
    ".DS_Store",
    ".git",
    ".github",
    ".gitignore",
    ".gitlab-ci.yml",
    ".venv",
    "Makefile",
    "__pycache__",
    "__tests__",
    "node_modules",
    "pyproject.toml",
    "setup.py",
    "test",
    "tests",
];

/// Folders of version control, installed packages and generated files: not installed even if the text refers to them.
const GENERATED: &[&str] = &[
    // Version control
    ".bzr",
    ".git",
    ".hg",
    ".jj",
    ".svn",
    "CVS",
    // Packages and environments
    ".bundle",
    ".eggs",
    ".gradle",
    ".nox",
    ".npm",
    ".pixi",
    ".pnpm-store",
    ".terraform",
    ".tox",
    ".venv",
    ".yarn",
    "Pods",
    "__pypackages__",
    "bower_components",
    "node_modules",
    "venv",
    // Caches, in addition to every name of the form `.*cache`
    ".hypothesis",
    ".ipynb_checkpoints",
    ".pytype",
    ".turbo",
    "__pycache__",
    // Builds and reports
    ".angular",
    ".astro",
    ".aws-sam",
    ".build",
    ".dart_tool",
    ".docusaurus",
    ".expo",
    ".next",
    ".nuxt",
    ".nyc_output",
    ".output",
    ".serverless",
    ".stack-work",
    ".svelte-kit",
    ".vercel",
    ".vite",
    ".wrangler",
    "CMakeFiles",
    "DerivedData",
    "_build",
    "build",
    "cdk.out",
    "coverage",
    "dist",
    "dist-newstyle",
    "elm-stuff",
    "htmlcov",
    "out",
    "target",
    "zig-out",
];

/// Files at the root of a skill that csk reads and does not install: without its command files, a manifest would be
/// invalid there.
const DECLARATIONS: &[&str] = &["dependencies.json", MANIFEST_FILE, AGENT_MANIFEST_FILE];

/// The folder of translations, which csk renders into the installed files.
const LOCALES: &str = "locales";

/// Why a file is not installed even if the text refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is the program of a declared command, which is called by name.
    Command,
    /// It is in a runtime root.
    Runtime,
    /// It is in a version control, cache or build folder.
    Generated,
    /// Only csk reads it.
    Declaration,
}

/// The selection rules for one snapshot.
pub(super) struct Rules<'a> {
    pub(super) manifest: Option<&'a Manifest>,
    pub(super) shape: Shape,
    /// The name of the skill's main file.
    pub(super) skill_file: &'static str,
}

impl Rules<'_> {
    /// Returns true if a file is installed because of its location.
    pub(super) fn includes(&self, file: &File) -> bool {
        let path = &file.path;
        let first = path.parts().next().unwrap_or_default();
        let is_folder = path.parts().count() > 1;
        let is_included = match self.shape {
            Shape::Repository => {
                let has_scripts = self.manifest.is_some_and(|manifest| {
                    manifest.commands.iter().any(skill::Command::is_script)
                });
                path.as_str() == self.skill_file
                    || (is_folder
                        && (INCLUDED.contains(&first) || (!has_scripts && first == SCRIPTS)))
            }
            Shape::Folder => !is_declaration(path),
        };
        let is_stored = self.is_command(path) || self.is_runtime(path);
        is_included && !is_stored && !path.parts().any(is_excluded)
    }

    /// Returns why a file is not installed even if the text refers to it.
    pub(super) fn refusal(&self, path: &RelPath) -> Option<Refusal> {
        if self.is_command(path) {
            Some(Refusal::Command)
        } else if self.is_runtime(path) {
            Some(Refusal::Runtime)
        } else if is_generated(path) {
            Some(Refusal::Generated)
        } else {
            is_declaration(path).then_some(Refusal::Declaration)
        }
    }

    fn is_runtime(&self, path: &RelPath) -> bool {
        self.manifest.is_some_and(|manifest| manifest.is_runtime(path))
    }

    /// Returns true for the file of a declared command.
    fn is_command(&self, path: &RelPath) -> bool {
        let commands = self.manifest.into_iter().flat_map(|manifest| &manifest.commands);
        commands.into_iter().any(|command| match &command.kind {
            CommandKind::Script { unix, windows } => {
                unix.as_ref() == Some(path) || windows.as_ref() == Some(path)
            }
            CommandKind::System { .. } => false,
        })
    }
}

/// Returns what version 1 of the rules installed, to recognize installs made with it.
pub(crate) fn v1_context(snapshot: &Snapshot, manifest: Option<&Manifest>) -> Vec<File> {
    let has_commands = manifest.is_some_and(|manifest| !manifest.commands.is_empty());
    let is_wanted = |file: &&File| {
        let first = file.path.parts().next().unwrap_or_default();
        let is_folder = file.path.parts().count() > 1;
        let is_included = file.path.as_str() == SKILL_FILE
            || (is_folder && (INCLUDED.contains(&first) || (!has_commands && first == SCRIPTS)));
        let is_runtime = manifest.is_some_and(|manifest| manifest.is_runtime(&file.path));
        is_included && !is_runtime && !file.path.parts().any(is_excluded)
    };
    snapshot.files().iter().filter(is_wanted).cloned().collect()
}

/// Returns true for the name of a development file or folder.
pub(super) fn is_excluded(part: &str) -> bool {
    let starts = ["README", "CHANGELOG", "LICENSE"].iter().any(|prefix| part.starts_with(prefix));
    let requirements = part.starts_with("requirements") && part.ends_with(".txt");
    starts || requirements || part.ends_with(".pyc") || EXCLUDED.contains(&part)
}

fn is_declaration(path: &RelPath) -> bool {
    DECLARATIONS.contains(&path.as_str()) || path.parts().next() == Some(LOCALES)
}

/// Returns true for a generated file, or one in a folder of generated files. A plain file may be named `build`.
fn is_generated(path: &RelPath) -> bool {
    let mut parts = path.parts().rev();
    let is_file = |name: &str| name == ".DS_Store" || name.ends_with(".pyc") || is_cache(name);
    let is_folder = |name: &str| {
        GENERATED.contains(&name)
            || is_cache(name)
            || name.ends_with(".egg-info")
            || name.starts_with("cmake-build-")
    };
    parts.next().is_some_and(is_file) || parts.any(is_folder)
}

/// Returns true for `.cache`, `.mypy_cache`, `.parcel-cache`, `.eslintcache` and similar.
fn is_cache(name: &str) -> bool {
    name.starts_with('.') && name.ends_with("cache")
}
