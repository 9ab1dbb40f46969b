//! Which files of small skills are installed, and which warnings the others cause.

use super::*;
use crate::content::snapshot::Content;

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

fn selected(files: &[(&str, &str)], shape: Shape) -> (String, Vec<String>) {
    let snapshot = snapshot(files);
    let (manifest, _) = crate::content::commands::manifest(&snapshot).unwrap();
    match context(&snapshot, manifest.as_ref(), shape) {
        Ok(Context { files, warnings }) => {
            let paths = files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
            (paths.join(" "), warnings)
        }
        Err(error) => (format!("error: {error}"), Vec::new()),
    }
}

fn paths(files: &[(&str, &str)]) -> String {
    selected(files, Shape::Repository).0
}

#[test]
fn only_instructions_and_assets_are_installed() {
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
fn scripts_are_not_installed_if_commands_are_declared() {
    let base = [("SKILL.md", ""), ("scripts/run.py", ""), ("references/x", "")];
    let system = r#"{"schema_version": 1, "commands": {"x": {"type": "system", "command": "x"}}}"#;
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
fn a_folder_of_a_repository_is_installed_as_a_whole() {
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
    let (paths, _) = selected(&files, Shape::Folder);
    assert_eq!(paths, "SKILL.md forms.md reference/a.md scripts/fill.py");
    let single =
        r#"{"schema_version": 1, "commands": {"x": {"type": "script", "unix_path": "scripts/x"}}}"#;
    let files =
        [("SKILL.md", ""), ("scripts/x", ""), ("scripts/y", ""), ("csk-skill.json", single)];
    assert_eq!(selected(&files, Shape::Folder).0, "SKILL.md scripts/y");
}

#[test]
fn referenced_files_are_installed_and_missing_ones_cause_warnings() {
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
    let (paths, warnings) = selected(&files, Shape::Repository);
    assert_eq!(paths, "SKILL.md deep/b.md forms.md reference/a.md scripts/requirements.txt");
    assert_eq!(
        warnings,
        [
            "link to a missing file: `gone.md` (SKILL.md)",
            "referenced but not installed: `dist/app.js` (SKILL.md), `lib/side.py` (SKILL.md)",
        ]
    );
}

/// Names that are not allowed in a package are not allowed in an install either.
#[test]
fn packages_and_installs_share_the_rules_for_names() {
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
    // Files that are not installed do not matter.
    let files = [("SKILL.md", ""), ("src/HEAD", ""), ("src/objects/x", ""), ("src/refs/y", "")];
    assert_eq!(paths(&files), "SKILL.md");
}

#[test]
fn a_skill_needs_skill_md_and_keeps_its_symlinks() {
    assert_eq!(paths(&[("README.md", "")]), "error: no SKILL.md found");
    let files = [("SKILL.md", ""), ("references/a.md", ""), ("references/b.md", "-> a.md")];
    assert_eq!(paths(&files), "SKILL.md references/a.md references/b.md");
}

#[test]
fn a_link_to_a_folder_installs_its_files_with_or_without_a_slash() {
    let files = [
        (
            "SKILL.md",
            "See [the reference](reference) and [docs](docs/api); the folder `src` is no link.",
        ),
        ("reference/a.md", ""),
        ("reference/deep/b.txt", ""),
        ("docs/api/h.md", ""),
        ("docs/other.md", ""),
        ("src/main.rs", ""),
    ];
    let (paths, warnings) = selected(&files, Shape::Repository);
    assert_eq!(paths, "SKILL.md docs/api/h.md reference/a.md reference/deep/b.txt");
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn a_link_to_an_uninstalled_file_causes_a_warning() {
    let manifest = r#"{"schema_version": 2, "runtime_roots": ["scripts"], "commands": {"x": {"type": "script", "unix_path": "scripts/x"}}}"#;
    for (text, warning) in [
        ("[a](../shared.md)", "link that points outside the skill: `../shared.md` (SKILL.md)"),
        (
            "[a](../other/SKILL.md)",
            "link that points outside the skill: `../other/SKILL.md` (SKILL.md)",
        ),
        ("[a](/abs.md)", "link to a missing file: `/abs.md` (SKILL.md)"),
        ("[a](docs\\api\\no.md)", "link to a missing file: `docs\\api\\no.md` (SKILL.md)"),
        ("<a href=\"gone.md\">a</a>", "link to a missing file: `gone.md` (SKILL.md)"),
        ("[tests](tests/)", "referenced but not installed: `tests/` (SKILL.md)"),
        ("[b](build/)", "referenced but not installed: `build/` (SKILL.md)"),
        ("[s](scripts/)", "referenced but not installed: `scripts/` (SKILL.md)"),
        ("[s](scripts)", "referenced but not installed: `scripts` (SKILL.md)"),
        ("[m](csk-skill.json)", "referenced but not installed: `csk-skill.json` (SKILL.md)"),
        // Links to installed files, and text that is not a path.
        ("[a](/docs/api/h.md)", ""),
        ("[a](docs\\api\\h.md)", ""),
        ("<a href=\"docs/api/h.md\">a</a>", ""),
        (
            "[a](https://x.test/a.md) [b](#top) [c](url) [d]({file}.md) [e](/docs/start) [f](.) [g](mailto:a@b.c)",
            "",
        ),
        ("`[a](gone.md)`, gone.md, ../shared.md, tests/ and scripts/x", ""),
    ] {
        for shape in [Shape::Repository, Shape::Folder] {
            let files = [
                ("SKILL.md", text),
                ("docs/api/h.md", ""),
                ("tests/t.md", ""),
                ("build/b.md", ""),
                ("scripts/x", ""),
                ("csk-skill.json", manifest),
            ];
            // A folder of a repository is installed as a whole, including its `build` folder.
            let warning =
                if shape == Shape::Folder && text.contains("build") { "" } else { warning };
            let (paths, warnings) = selected(&files, shape);
            assert_eq!(warnings.join("; "), warning, "{shape:?} {text}");
            let has_it = shape == Shape::Folder || text.contains("h.md");
            assert_eq!(paths.contains("docs/api/h.md"), has_it, "{shape:?} {text}: {paths}");
        }
    }
}

#[test]
fn a_long_text_is_scanned_completely() {
    let text = format!("{}\n[a](a.md) and b.md, not [c](c.md)", "word ".repeat(100_000));
    let (paths, warnings) =
        selected(&[("SKILL.md", &text), ("a.md", ""), ("b.md", "")], Shape::Repository);
    assert_eq!(paths, "SKILL.md a.md b.md");
    assert_eq!(warnings, ["link to a missing file: `c.md` (SKILL.md)"]);
}

#[test]
fn a_path_relative_to_the_skill_is_found_from_any_file() {
    let files = [
        ("SKILL.md", "[a](references/a.md)"),
        ("references/a.md", "[b](docs/b.md)"),
        ("docs/b.md", ""),
    ];
    let (paths, warnings) = selected(&files, Shape::Repository);
    assert_eq!((paths.as_str(), warnings.len()), ("SKILL.md docs/b.md references/a.md", 0));
}

#[test]
fn referenced_caches_and_builds_are_not_installed() {
    for path in [
        ".cache/a.md",
        ".next/a.md",
        ".parcel-cache/a.md",
        ".turbo/a.md",
        ".svelte-kit/a.md",
        ".nuxt/a.md",
        "coverage/a.md",
        "docs/_build/a.md",
        "out/a.md",
        "venv/a.md",
        "x.egg-info/a.md",
    ] {
        let text = format!("[a]({path}) and `{path}`");
        let (paths, warnings) = selected(&[("SKILL.md", &text), (path, "")], Shape::Repository);
        assert_eq!(paths, "SKILL.md", "{path}");
        let warning = format!("referenced but not installed: `{path}` (SKILL.md)");
        assert_eq!(warnings, [warning], "{path}");
    }
    // A plain file with such a name is installed.
    let files =
        [("SKILL.md", "`tools/build` and tools/out."), ("tools/build", ""), ("tools/out", "")];
    assert_eq!(paths(&files), "SKILL.md tools/build tools/out");
}

#[test]
fn the_manifest_is_not_installed_even_if_referenced() {
    let text = "Declared in `csk-skill.json`, agent-skill.json, dependencies.json and `locales/metadata.json`.";
    let manifest = r#"{"schema_version": 1, "commands": {}}"#;
    let files = [
        ("SKILL.md", text),
        ("csk-skill.json", manifest),
        ("agent-skill.json", manifest),
        ("dependencies.json", "{}"),
        ("locales/metadata.json", "{}"),
        ("examples/csk-skill.json", ""),
    ];
    for shape in [Shape::Repository, Shape::Folder] {
        let (paths, warnings) = selected(&files, shape);
        assert_eq!(paths, "SKILL.md examples/csk-skill.json", "{shape:?}");
        assert_eq!(warnings, [""; 0], "{shape:?}");
    }
}

#[test]
fn the_target_of_a_symlink_is_installed() {
    let files = [
        ("SKILL.md", "[latest](docs/latest.md), [v2](docs/v2/x.md)"),
        ("docs/latest.md", "-> now.md"),
        ("docs/now.md", "-> api/h.md"),
        ("docs/api/h.md", "See ../more.md."),
        ("docs/more.md", ""),
        ("docs/v2", "-> v1"),
        ("docs/v1/x.md", ""),
        ("docs/v1/y.md", ""),
    ];
    let (paths, warnings) = selected(&files, Shape::Repository);
    assert_eq!(
        paths,
        "SKILL.md docs/api/h.md docs/latest.md docs/more.md docs/now.md docs/v1/x.md docs/v1/y.md docs/v2"
    );
    assert_eq!(warnings, [""; 0]);
    let files = [("SKILL.md", ""), ("CLAUDE.md", "-> README.md"), ("README.md", "")];
    let whole = (String::from("CLAUDE.md README.md SKILL.md"), Vec::new());
    assert_eq!(selected(&files, Shape::Folder), whole);
    let files = [("SKILL.md", ""), ("src/a.md", ""), ("references/b.md", "-> ../src/a.md")];
    assert_eq!(self::paths(&files), "SKILL.md references/b.md src/a.md");
}

#[test]
fn a_symlink_is_skipped_if_its_target_is_not_installed() {
    let manifest = r#"{"schema_version": 2, "runtime_roots": ["lib"], "commands": {}}"#;
    let files = [
        ("SKILL.md", "See docs/app.js."),
        ("docs/app.js", "-> ../dist/app.js"),
        ("dist/app.js", ""),
        ("references/b.py", "-> ../lib/a.py"),
        ("references/c.py", "-> b.py"),
        ("lib/a.py", ""),
        ("csk-skill.json", manifest),
    ];
    let (paths, warnings) = selected(&files, Shape::Repository);
    assert_eq!(paths, "SKILL.md");
    assert_eq!(
        warnings,
        [
            "referenced but not installed: `docs/app.js` (SKILL.md)",
            "symlinks skipped because their targets are not installed: references/b.py -> ../lib/a.py, references/c.py -> b.py",
        ]
    );
}
