//! What of a snapshot goes into a project: instructions and material, no development files.

mod mentions;

use std::collections::BTreeSet;

use skill::{
    AGENT_MANIFEST_FILE, CommandKind, FileNameError, MANIFEST_FILE, Manifest, RelPath, SKILL_FILE,
    SKILL_FILE_FALLBACK,
};

use self::mentions::mentions;

use crate::snapshot::{File, FileKind, Snapshot, check_names, stray_link};

/// Folders that are copied.
const INCLUDED: &[&str] =
    &[".skill_triggers", "agents", "assets", "data", "examples", "references", "templates", "wasm"];

/// The folder that is copied only where the skill brings no command: else it belongs to the command store.
const SCRIPTS: &str = "scripts";

/// Names that are never copied, wherever they stand.
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

/// Names that are not even copied where the text refers to them.
const NEVER: &[&str] = &[
    ".DS_Store",
    ".git",
    ".hg",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    "target",
];

/// Why a snapshot has no context to install.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// There is no SKILL.md.
    #[error("there is no SKILL.md in the snapshot{}", others(.0))]
    NoSkillFile(Vec<String>),
    /// A name is one that no skill may have.
    #[error(transparent)]
    Name(#[from] FileNameError),
    /// A link of the context leads to something that is not part of it.
    #[error("the link {link} -> {target} leads to a file that is not installed")]
    Link {
        /// The link.
        link: String,
        /// Where it points.
        target: String,
    },
}

/// Returns the folders of a snapshot that are skills.
fn skills_below(snapshot: &Snapshot) -> Vec<String> {
    let folder = |file: &File| {
        let (folder, name) = file.path.as_str().rsplit_once('/')?;
        let is_skill = name == SKILL_FILE || name == SKILL_FILE_FALLBACK;
        let is_kept = !folder.split('/').any(is_excluded);
        (is_skill && is_kept).then(|| folder.to_owned())
    };
    let found: BTreeSet<String> = snapshot.files().iter().filter_map(folder).collect();
    found.into_iter().collect()
}

/// Says which folders are skills.
fn others(folders: &[String]) -> String {
    const SHOWN: usize = 12;
    if folders.is_empty() {
        return String::new();
    }
    let more = folders.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown: Vec<&str> = folders.iter().take(SHOWN).map(String::as_str).collect();
    format!("; these folders of it are skills: {}{more}", shown.join(", "))
}

/// What a snapshot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A whole repository: only the folders that skills are known to have are installed.
    Repository,
    /// A folder of a repository, or an artifact: it is installed whole.
    Folder,
}

/// What of a snapshot is installed into a project.
#[derive(Debug)]
pub struct Context {
    /// The files, sorted by path.
    pub files: Vec<File>,
    /// What the skill's text refers to and does not find, one sentence each.
    pub warnings: Vec<String>,
}

/// Which rules say what is installed. A marker of other rules is no edit: the skill is installed anew.
pub(crate) const CONTEXT_RULES: u64 = 2;

/// Returns what is installed into a project. Runtime roots and the files of declared commands belong to the command store. What included Markdown
/// refers to comes along, whatever its name.
pub fn context(
    snapshot: &Snapshot,
    manifest: Option<&Manifest>,
    shape: Shape,
) -> Result<Context, ContextError> {
    let is_plain =
        |name: &&&str| snapshot.file(name).is_some_and(|file| file.kind != FileKind::Link);
    let Some(skill_file) = [SKILL_FILE, SKILL_FILE_FALLBACK].iter().find(is_plain) else {
        return Err(ContextError::NoSkillFile(skills_below(snapshot)));
    };
    let rules = Rules { manifest, shape, skill_file };
    let mut wanted: BTreeSet<&str> = snapshot
        .files()
        .iter()
        .filter(|file| rules.includes(file))
        .map(|file| file.path.as_str())
        .collect();
    let mut warnings = follow_mentions(snapshot, &rules, &mut wanted);
    let is_wanted = |file: &&File| wanted.contains(file.path.as_str());
    let mut files: Vec<File> = snapshot.files().iter().filter(is_wanted).cloned().collect();
    if *skill_file == SKILL_FILE_FALLBACK {
        // Every agent looks for the name of the standard.
        for file in files.iter_mut().filter(|file| file.path.as_str() == SKILL_FILE_FALLBACK) {
            file.path = RelPath::new(SKILL_FILE).expect("it is a plain name");
        }
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        warnings.push(format!("{SKILL_FILE_FALLBACK} is installed as {SKILL_FILE}"));
    }
    check_names(&files)?;
    if let Some(link) = stray_link(&files) {
        let target = link.text().unwrap_or_default();
        return Err(ContextError::Link { link: link.path.to_string(), target });
    }
    Ok(Context { files, warnings })
}

/// Returns what the first rules installed, to know an install that was made by them.
pub(crate) fn first_context(snapshot: &Snapshot, manifest: Option<&Manifest>) -> Vec<File> {
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

struct Rules<'a> {
    manifest: Option<&'a Manifest>,
    shape: Shape,
    /// The name of the skill's file.
    skill_file: &'static str,
}

impl Rules<'_> {
    /// Returns true if a file is installed by where it is.
    fn includes(&self, file: &File) -> bool {
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
            // What the manifest says is in the marker; without its commands it would not be valid here.
            Shape::Folder => {
                let left_out = ["dependencies.json", MANIFEST_FILE, AGENT_MANIFEST_FILE];
                first != "locales" && !left_out.contains(&path.as_str())
            }
        };
        is_included && !self.is_stored(path) && !path.parts().any(is_excluded)
    }

    /// Returns true for a file of the command store.
    fn is_stored(&self, path: &RelPath) -> bool {
        self.manifest.is_some_and(|manifest| manifest.is_runtime(path)) || self.is_command(path)
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

/// Adds what included Markdown refers to, and what that refers to. Returns what is referred to and still left out.
fn follow_mentions<'a>(
    snapshot: &'a Snapshot,
    rules: &Rules<'_>,
    wanted: &mut BTreeSet<&'a str>,
) -> Vec<String> {
    let mut open: Vec<&str> = wanted.iter().copied().collect();
    let mut warnings = BTreeSet::new();
    while let Some(path) = open.pop() {
        let Some(text) = markdown(snapshot, path) else { continue };
        let folder = path.rfind('/').map_or("", |slash| &path[..slash]);
        let mentions = mentions(&text, folder);
        for (target, link) in &mentions.links {
            let is_there = snapshot.entry(target.trim_end_matches('/')).is_some();
            if !is_there {
                warnings.insert(format!("{path} links to `{link}`, which is not in the skill"));
            }
        }
        let links = mentions.links.iter().map(|(target, _)| target);
        for target in mentions.names.iter().chain(links) {
            for found in meant(snapshot, target) {
                let file = &found.path;
                let is_named = file.as_str() == target.as_str();
                if wanted.contains(file.as_str()) || (!is_named && file.parts().any(is_excluded)) {
                    continue;
                }
                if rules.is_stored(file) || file.parts().any(is_never) {
                    if is_named && !rules.is_command(file) {
                        warnings
                            .insert(format!("{path} refers to `{file}`, which is not installed"));
                    }
                    continue;
                }
                wanted.insert(file.as_str());
                open.push(file.as_str());
            }
        }
    }
    let count = warnings.len();
    let mut warnings: Vec<String> = warnings.into_iter().take(MAX_WARNINGS).collect();
    if count > MAX_WARNINGS {
        warnings.push(format!("and {} more like these", count - MAX_WARNINGS));
    }
    warnings
}

/// The most files that are named as missing.
const MAX_WARNINGS: usize = 20;

/// Returns the file that a path names, or those in the folder that it names with a slash at its end.
fn meant<'a>(snapshot: &'a Snapshot, target: &str) -> Vec<&'a File> {
    if let Some(file) = snapshot.file(target) {
        return vec![file];
    }
    let is_below = |file: &&File| target.ends_with('/') && file.path.as_str().starts_with(target);
    snapshot.files().iter().filter(is_below).collect()
}

/// Returns the text of a file of Markdown.
fn markdown(snapshot: &Snapshot, path: &str) -> Option<String> {
    let is_markdown = path.ends_with(".md") || path.ends_with(".markdown");
    snapshot.file(path).filter(|file| is_markdown && file.kind != FileKind::Link)?.text()
}

fn is_excluded(part: &str) -> bool {
    let starts = ["README", "CHANGELOG", "LICENSE"].iter().any(|prefix| part.starts_with(prefix));
    let requirements = part.starts_with("requirements") && part.ends_with(".txt");
    starts || requirements || part.ends_with(".pyc") || EXCLUDED.contains(&part)
}

/// Returns true for folders of version control, caches and builds: no text brings those along.
fn is_never(part: &str) -> bool {
    part.ends_with(".pyc") || NEVER.contains(&part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Content;

    fn snapshot(files: &[(&str, &str)]) -> Snapshot {
        let file = |(path, text): &(&str, &str)| {
            let (kind, text) = match text.strip_prefix("-> ") {
                Some(target) => (FileKind::Link, target),
                None => (FileKind::Plain, *text),
            };
            File {
                path: RelPath::new(*path).unwrap(),
                kind,
                content: Content::Memory(text.as_bytes().into()),
            }
        };
        Snapshot::new("tree".into(), files.iter().map(file).collect()).unwrap()
    }

    fn taken(files: &[(&str, &str)], shape: Shape) -> (String, Vec<String>) {
        let snapshot = snapshot(files);
        let (manifest, _) = crate::runtime::manifest(&snapshot).unwrap();
        match context(&snapshot, manifest.as_ref(), shape) {
            Ok(Context { files, warnings }) => {
                let paths = files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
                (paths.join(" "), warnings)
            }
            Err(error) => (format!("error: {error}"), Vec::new()),
        }
    }

    fn paths(files: &[(&str, &str)]) -> String {
        taken(files, Shape::Repository).0
    }

    #[test]
    fn only_instructions_and_material_are_copied() {
        let files = [
            ("SKILL.md", ""),
            ("README.md", ""),
            ("dependencies.json", ""),
            ("locales/metadata.json", ""),
            ("agents/openai.yaml", ""),
            ("references/a.md", ""),
            ("references/README.md", ""),
            ("examples/tests/x.md", ""),
            ("examples/test.md", ""),
            ("assets/__pycache__/x", ""),
            ("assets/x.pyc", ""),
            ("data/requirements-dev.txt", ""),
            ("data/LICENSE-MIT", ""),
            (".skill_triggers/ru.md", ""),
            ("wasm/skill.wasm", ""),
            ("scripts/run.py", ""),
            ("src/main.rs", ""),
            ("references", ""),
        ];
        let files = &files[..files.len() - 1];
        assert_eq!(
            paths(files),
            ".skill_triggers/ru.md SKILL.md agents/openai.yaml examples/test.md references/a.md scripts/run.py wasm/skill.wasm"
        );
    }

    #[test]
    fn scripts_stay_out_where_commands_are_declared() {
        let base = [("SKILL.md", ""), ("scripts/run.py", ""), ("references/x", "")];
        let system =
            r#"{"schema_version": 1, "commands": {"x": {"type": "system", "command": "x"}}}"#;
        for (path, text, copied) in [
            ("csk-skill.json", system, true),
            ("csk-skill.json", r#"{"schema_version": 1, "commands": {}}"#, true),
            ("csk-skill.json", r#"{"schema_version": 2, "runtime_roots": ["scripts"]}"#, false),
            ("csk-skill.json", r#"{"schema_version": 2, "runtime_roots": ["references"]}"#, true),
            ("agents/runtime.json", r#"{"commands": {"x": "scripts/run.py"}}"#, false),
        ] {
            let files = [base.as_slice(), &[(path, text)]].concat();
            assert_eq!(paths(&files).contains("scripts/run.py"), copied, "{path} {text}");
            let in_context = !text.contains("[\"references\"]");
            assert_eq!(paths(&files).contains("references/x"), in_context, "{path} {text}");
        }
    }

    #[test]
    fn a_folder_of_a_repository_is_taken_whole() {
        let manifest = r#"{"schema_version": 2, "runtime_roots": ["lib"], "commands": {"x": {"type": "script", "unix_path": "lib/x"}}}"#;
        let files = [
            ("SKILL.md", ""),
            ("forms.md", ""),
            ("reference/a.md", ""),
            ("scripts/fill.py", ""),
            ("scripts/requirements.txt", ""),
            ("README.md", ""),
            ("tests/x.py", ""),
            ("locales/metadata.json", ""),
            ("dependencies.json", ""),
            ("lib/x", ""),
            ("lib/side.py", ""),
            ("csk-skill.json", manifest),
        ];
        let (paths, _) = taken(&files, Shape::Folder);
        assert_eq!(paths, "SKILL.md forms.md reference/a.md scripts/fill.py");
        let single = r#"{"schema_version": 1, "commands": {"x": {"type": "script", "unix_path": "scripts/x"}}}"#;
        let files =
            [("SKILL.md", ""), ("scripts/x", ""), ("scripts/y", ""), ("csk-skill.json", single)];
        assert_eq!(taken(&files, Shape::Folder).0, "SKILL.md scripts/y");
    }

    #[test]
    fn what_the_text_refers_to_comes_along_and_what_is_missing_is_told() {
        let text = "See [forms](forms.md) and `scripts/requirements.txt`, then reference/ and [gone](gone.md).\n\
                    `.git/config`, `dist/app.js` and `lib/side.py` as well; `lib/x` is a command.";
        let manifest = r#"{"schema_version": 2, "runtime_roots": ["lib"], "commands": {"x": {"type": "script", "unix_path": "lib/x"}}}"#;
        let files = [
            ("SKILL.md", text),
            ("forms.md", "More in [deep](deep/b.md), as [above](SKILL.md)."),
            ("deep/b.md", "`../assets/c.txt`"),
            ("deep/other.md", ""),
            ("reference/a.md", ""),
            ("reference/tests/a.md", ""),
            ("scripts/requirements.txt", ""),
            ("dist/app.js", ""),
            ("lib/side.py", ""),
            ("lib/x", ""),
            ("csk-skill.json", manifest),
        ];
        let (paths, warnings) = taken(&files, Shape::Repository);
        assert_eq!(paths, "SKILL.md deep/b.md forms.md reference/a.md scripts/requirements.txt");
        assert_eq!(
            warnings,
            [
                "SKILL.md links to `gone.md`, which is not in the skill",
                "SKILL.md refers to `dist/app.js`, which is not installed",
                "SKILL.md refers to `lib/side.py`, which is not installed",
            ]
        );
    }

    /// What a package may not hold, an install does not bring either.
    #[test]
    fn one_rule_holds_for_names_in_packages_and_in_installs() {
        for names in [
            &["references/.GIT/config"][..],
            &["references/.git./config"],
            &["references/git~1/config"],
            &["references/.g\u{200d}it/config"],
            &["references/HEAD", "references/objects/x", "references/refs/y"],
            &["assets/repo/head", "assets/repo/Objects/x", "assets/repo/Refs/y"],
            &["references/commondir"],
            &["references/a.md", "references/A.md"],
            &["references/aux.md"],
            &["references/x/.csk-install.json"],
        ] {
            let files: Vec<(&str, &str)> =
                names.iter().map(|name| (*name, "")).chain([("SKILL.md", "")]).collect();
            assert!(paths(&files).contains("is not allowed in a skill"), "{}", paths(&files));
        }
        // Files that are not installed do not matter here.
        let files = [("SKILL.md", ""), ("src/HEAD", ""), ("src/objects/x", ""), ("src/refs/y", "")];
        assert_eq!(paths(&files), "SKILL.md");
    }

    #[test]
    fn a_skill_needs_its_file_and_links_stay_in_the_context() {
        assert_eq!(paths(&[("README.md", "")]), "error: there is no SKILL.md in the snapshot");
        let files = [("SKILL.md", ""), ("references/a.md", ""), ("references/b.md", "-> a.md")];
        assert_eq!(paths(&files), "SKILL.md references/a.md references/b.md");
        let files = [("SKILL.md", ""), ("src/a.md", ""), ("references/b.md", "-> ../src/a.md")];
        assert_eq!(
            paths(&files),
            "error: the link references/b.md -> ../src/a.md leads to a file that is not installed"
        );
    }
}
