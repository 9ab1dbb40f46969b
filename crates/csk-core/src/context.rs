//! What of a snapshot goes into a project: instructions and material, no development files.

use skill::{FileNameError, Manifest, SKILL_FILE};

use crate::snapshot::{File, FileKind, Snapshot, check_names, stray_link};

/// Folders that are copied.
const INCLUDED: &[&str] =
    &[".skill_triggers", "agents", "assets", "data", "examples", "references", "templates", "wasm"];

/// The folder that is copied only where no command is declared: else it belongs to the runtime store.
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

/// Why a snapshot has no context to install.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// There is no SKILL.md.
    #[error("there is no SKILL.md in the snapshot")]
    NoSkillFile,
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

/// Returns the files that are installed into a project. Runtime roots and, where commands are declared, the
/// scripts belong to the runtime store.
pub fn context(
    snapshot: &Snapshot,
    manifest: Option<&Manifest>,
) -> Result<Vec<File>, ContextError> {
    if snapshot.file(SKILL_FILE).is_none_or(|file| file.kind == FileKind::Link) {
        return Err(ContextError::NoSkillFile);
    }
    let with_scripts = manifest.is_none_or(|manifest| manifest.commands.is_empty());
    let is_runtime = |file: &File| manifest.is_some_and(|manifest| manifest.is_runtime(&file.path));
    let is_wanted = |file: &&File| {
        let first = file.path.parts().next().unwrap_or_default();
        let is_folder = file.path.parts().count() > 1;
        let included = file.path.as_str() == SKILL_FILE
            || (is_folder && (INCLUDED.contains(&first) || (with_scripts && first == SCRIPTS)));
        included && !is_runtime(file) && !file.path.parts().any(is_excluded)
    };
    let files: Vec<File> = snapshot.files().iter().filter(is_wanted).cloned().collect();
    check_names(&files)?;
    if let Some(link) = stray_link(&files) {
        let target = link.text().unwrap_or_default();
        return Err(ContextError::Link { link: link.path.to_string(), target });
    }
    Ok(files)
}

fn is_excluded(part: &str) -> bool {
    let starts = ["README", "CHANGELOG", "LICENSE"].iter().any(|prefix| part.starts_with(prefix));
    let requirements = part.starts_with("requirements") && part.ends_with(".txt");
    starts || requirements || part.ends_with(".pyc") || EXCLUDED.contains(&part)
}

#[cfg(test)]
mod tests {
    use skill::RelPath;

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

    fn paths(files: &[(&str, &str)]) -> String {
        let snapshot = snapshot(files);
        let (manifest, _) = crate::runtime::manifest(&snapshot).unwrap();
        match context(&snapshot, manifest.as_ref()) {
            Ok(files) => files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(" "),
            Err(error) => format!("error: {error}"),
        }
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
            ("csk-skill.json", system, false),
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
