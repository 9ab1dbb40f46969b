//! What of a snapshot goes into a project: instructions and material, no development files.

use serde_json::Value;
use skill::SKILL_FILE;

use crate::snapshot::{File, FileKind, Snapshot, stray_link};

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
    /// A link of the context leads to something that is not part of it.
    #[error("the link {link} -> {target} leads to a file that is not installed")]
    Link {
        /// The link.
        link: String,
        /// Where it points.
        target: String,
    },
}

/// Returns the files that are installed into a project.
pub fn context(snapshot: &Snapshot) -> Result<Vec<File>, ContextError> {
    if snapshot.file(SKILL_FILE).is_none_or(|file| file.kind == FileKind::Link) {
        return Err(ContextError::NoSkillFile);
    }
    let with_scripts = !declares_commands(snapshot);
    let is_wanted = |file: &&File| {
        let first = file.path.parts().next().unwrap_or_default();
        let is_folder = file.path.parts().count() > 1;
        let included = file.path.as_str() == SKILL_FILE
            || (is_folder && (INCLUDED.contains(&first) || (with_scripts && first == SCRIPTS)));
        included && !file.path.parts().any(is_excluded)
    };
    let files: Vec<File> = snapshot.files().iter().filter(is_wanted).cloned().collect();
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

/// Returns true if the skill declares a command, in its manifest or in the older file that stands in for it.
fn declares_commands(snapshot: &Snapshot) -> bool {
    let read = |path: &str| snapshot.file(path).and_then(File::text);
    let has = |text: String, key: &str| {
        let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        match &value[key] {
            Value::Object(commands) => !commands.is_empty(),
            Value::Array(roots) => !roots.is_empty(),
            _ => false,
        }
    };
    match read("csk-skill.json") {
        Some(manifest) => has(manifest.clone(), "commands") || has(manifest, "runtime_roots"),
        None => read("agents/runtime.json").is_some_and(|text| has(text, "commands")),
    }
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
        match context(&snapshot(files)) {
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
        let base = [("SKILL.md", ""), ("scripts/run.py", "")];
        for (path, text, copied) in [
            ("csk-skill.json", r#"{"commands": {"x": {}}}"#, false),
            ("csk-skill.json", r#"{"commands": {}}"#, true),
            ("csk-skill.json", r#"{"runtime_roots": ["scripts"]}"#, false),
            ("agents/runtime.json", r#"{"commands": {"x": "scripts/x"}}"#, false),
        ] {
            let files = [base.as_slice(), &[(path, text)]].concat();
            assert_eq!(paths(&files).contains("scripts/run.py"), copied, "{path} {text}");
        }
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
