use super::*;

/// A skill with `scripts/tool`, `scripts/lib/x.py`, `scripts/tool.cmd`, `bin/tool` and a link `scripts/link`.
fn tree(path: &str) -> Option<TreeEntry> {
    match path {
        "scripts" | "scripts/lib" | "bin" | "tools" | "Scripts" => Some(TreeEntry::Folder),
        "scripts/tool" | "scripts/lib/x.py" | "scripts/tool.cmd" | "bin/tool" => {
            Some(TreeEntry::File)
        }
        "scripts/link" => Some(TreeEntry::Link),
        _ => None,
    }
}

fn problems(text: &str) -> Vec<String> {
    let (manifest, problems) = Manifest::parse(MANIFEST_FILE, text, &tree);
    let has_error = problems.iter().any(|problem| problem.severity == crate::Severity::Error);
    assert_eq!(manifest.is_none(), has_error, "{text}");
    problems
        .iter()
        .map(|problem| {
            let start = problem.span.unwrap().start;
            format!("{}:{} {}", start.line, start.column, problem.message)
        })
        .collect()
}

/// Checks the messages, without positions, for a version 2 manifest with these roots and commands.
fn check(roots: &str, commands: &str, expected: &[&str]) {
    let text =
        format!(r#"{{"schema_version": 2, "runtime_roots": {roots}, "commands": {{{commands}}}}}"#);
    let found = problems(&text);
    let messages: Vec<&str> =
        found.iter().map(|problem| problem.split_once(' ').unwrap().1).collect();
    assert_eq!(messages, expected, "{text}");
}

#[test]
fn test_csk_skill_schema_v2_parses_runtime_roots() {
    let text = r#"{"schema_version": 2, "runtime_roots": ["scripts/"], "commands": {
        "mr": {"type": "script", "unix_path": "scripts/tool", "win_path": "scripts/tool.cmd"},
        "git": {"type": "system", "command": "git", "hint": "install git"}}}"#;
    let (manifest, problems) = Manifest::parse(MANIFEST_FILE, text, &tree);
    assert_eq!(problems, []);
    let manifest = manifest.unwrap();
    assert_eq!(manifest.runtime_roots, [RelPath::new("scripts").unwrap()]);
    assert_eq!(manifest.commands.len(), 2);
    assert!(manifest.commands[0].is_script() && !manifest.commands[1].is_script());
    assert!(manifest.is_runtime(&RelPath::new("scripts/lib/x.py").unwrap()));
    assert!(!manifest.is_runtime(&RelPath::new("scripts2/x").unwrap()));
    assert_eq!(manifest.capabilities, None);
}

#[test]
fn test_runtime_root_must_be_relative_directory() {
    check(r#"["/scripts"]"#, "", &["runtime_roots[0] must be a relative path"]);
    check(r#"["/"]"#, "", &["runtime_roots[0] must be a relative path"]);
    check(r#"["C:/scripts"]"#, "", &["runtime_roots[0] must be a relative path"]);
    check(r#"["../scripts"]"#, "", &["runtime_roots[0] must not contain '..'"]);
    check(r#"["scripts/../x"]"#, "", &["runtime_roots[0] must not contain '..'"]);
    check(r#"["a//b"]"#, "", &["runtime_roots[0] must not contain an empty or '.' component"]);
    check(r#"["."]"#, "", &["runtime_roots[0] must not contain an empty or '.' component"]);
    check(r#"[""]"#, "", &["runtime_roots[0] must be a non-empty string"]);
    check(
        r#"["a\\b"]"#,
        "",
        &["runtime_roots[0] must be a POSIX-style path: no backslash, no control character"],
    );
    check(r#"["scripts/missing"]"#, "", &["runtime root does not exist: scripts/missing"]);
    check(r#"["scripts/tool"]"#, "", &["runtime root must be a directory: scripts/tool"]);
    check(r#"["scripts/link"]"#, "", &["runtime root must be a directory: scripts/link"]);
    check("[5]", "", &["`runtime_roots[0]` is a number; expected a string"]);
    check(r#""scripts""#, "", &["`runtime_roots` is a string; expected a list of strings"]);
    check(
        "null",
        "",
        &["`runtime_roots` is null; expected a value; remove the key if there is none"],
    );
}

#[test]
fn test_runtime_roots_must_be_disjoint() {
    let text = "runtime roots must be disjoint: scripts contains scripts/lib";
    check(r#"["scripts", "scripts/lib"]"#, "", &[text]);
    check(r#"["scripts/lib", "scripts"]"#, "", &[text]);
    check(r#"["scripts", "scripts/"]"#, "", &["runtime roots must be unique: scripts"]);
    check(r#"["scripts", "Scripts"]"#, "", &[]);
    check(r#"["scripts", "tools"]"#, "", &[]);
}

#[test]
fn test_script_command_must_be_inside_runtime_root() {
    let outside = "command path \"bin/tool\" is not inside any runtime_roots";
    check(r#"["scripts"]"#, r#""tool": {"type": "script", "unix_path": "bin/tool"}"#, &[outside]);
    check(r#"["scripts"]"#, r#""tool": {"type": "script", "win_path": "bin/tool"}"#, &[outside]);
    check("[]", r#""tool": {"type": "script", "unix_path": "bin/tool"}"#, &[]);
    check(
        r#"["scripts"]"#,
        r#""a": {"type": "script", "unix_path": "scripts/none"},
           "b": {"type": "script", "unix_path": "scripts/lib"},
           "c": {"type": "script", "unix_path": "scripts/link"},
           "d": {"type": "script", "unix_path": "/scripts/tool"},
           "e": {"type": "script", "unix_path": "../tool"},
           "f": {"type": "script", "unix_path": ""},
           "g": {"type": "script"},
           "h": {"type": "script", "unix_path": 5}"#,
        &[
            "command path does not exist: scripts/none",
            "command path must be a file: scripts/lib",
            "command path must be a file, not a link: scripts/link",
            "commands.d.unix_path must be a relative path",
            "commands.e.unix_path must not contain '..'",
            "commands.f.unix_path must be a non-empty string",
            "commands.g must have `unix_path` or `win_path`",
            "`commands.h.unix_path` is a number; expected a string",
        ],
    );
}

#[test]
fn test_system_command_rejects_install_check_and_post_install_fields() {
    for field in ["install", "check", "post_install", "script", "command_args"] {
        let command =
            format!(r#""x": {{"type": "system", "command": "git", "{field}": "rm -rf /"}}"#);
        check("[]", &command, &[&format!("`commands.x.{field}` is not allowed")]);
    }
    check(
        "[]",
        r#""a": {"type": "system"}, "b": {"type": "system", "command": ""},
           "c": {"type": "system", "command": "/bin/sh"}, "d": {"type": "system", "command": "git", "hint": 1},
           "e": {"type": "system", "command": "git", "unix_path": "x"}, "f": {"type": "shell"}, "g": 1"#,
        &[
            "`commands.a.command` is missing; expected a string",
            "commands.b.command must be the name of a program, not a path",
            "commands.c.command must be the name of a program, not a path",
            "`commands.d.hint` is a number; expected a string",
            "unknown key `commands.e.unix_path`",
            "`type` is `shell`; expected `script` or `system`",
            "`commands.g` is a number; expected an object",
        ],
    );
}

#[test]
fn unknown_top_level_schema_v2_fields_fail_validation() {
    assert_eq!(
        problems("{\"schema_version\": 2,\n \"runtime_root\": []}"),
        ["2:2 unknown key `runtime_root`"]
    );
    assert_eq!(
        problems(r#"{"schema_version": 2, "capabilities": {}}"#),
        ["1:23 unknown key `capabilities`"]
    );
}

#[test]
fn unknown_script_command_fields_fail_validation() {
    check(
        r#"["scripts"]"#,
        r#""tool": {"type": "script", "unix_path": "scripts/tool", "check": "x"}"#,
        &["unknown key `commands.tool.check`"],
    );
}

#[test]
fn unsupported_future_schema_reports_upgrade_hint() {
    let (manifest, problems) = Manifest::parse(MANIFEST_FILE, r#"{"schema_version": 4}"#, &tree);
    assert_eq!(manifest, None);
    assert_eq!(
        problems[0].message,
        "Unsupported csk-skill.json schema_version 4; this skill requires a newer csk."
    );
    assert!(problems[0].hint.as_ref().unwrap().starts_with("Upgrade csk"));
}

#[test]
fn names_of_shells_and_basic_tools_are_reserved_for_scripts_alone() {
    for name in RESERVED_COMMANDS {
        check(
            "[]",
            &format!(r#""{name}": {{"type": "script", "unix_path": "scripts/tool"}}"#),
            &[&format!("a skill may not provide a command named `{name}`")],
        );
        check("[]", &format!(r#""{name}": {{"type": "system", "command": "{name}"}}"#), &[]);
    }
    check(
        "[]",
        r#""Git": {"type": "script", "unix_path": "scripts/tool"}, "../x": {"type": "system", "command": "x"}"#,
        &[
            "a skill may not provide a command named `Git`",
            "the command name `../x` is not allowed: it starts with '.'; expected an ASCII letter or digit",
        ],
    );
}

#[test]
fn version_1_ignores_unknown_keys_and_checks_its_paths() {
    assert_eq!(
        problems(
            r#"{"schema_version": 1, "runtime_roots": ["x"], "commands": {"t": {"type": "script", "unix_path": "bin/tool", "check": 1}}}"#
        ),
        [
            "1:23 unknown key `runtime_roots`; it is ignored",
            "1:109 unknown key `commands.t.check`; it is ignored",
        ]
    );
    assert_eq!(
        problems(
            r#"{"schema_version": 1, "commands": {"t": {"type": "script", "unix_path": "bin/none"}}}"#
        ),
        ["1:73 command path does not exist: bin/none"]
    );
}

#[test]
fn version_3_declares_capabilities() {
    let text = r#"{"schema_version": 3, "capabilities": {"network": ["api.x.test", "*.y.test"], "filesystem": "repo",
        "exec": "none", "secrets": ["gitlab"], "env_read": ["GITLAB_TOKEN"], "prompt_scope": "reviews"}}"#;
    let (manifest, problems) = Manifest::parse(MANIFEST_FILE, text, &tree);
    assert_eq!(problems, []);
    let capabilities = manifest.unwrap().capabilities.unwrap();
    assert_eq!(capabilities.exec, Some(DeclaredList::None));
    assert_eq!(capabilities.filesystem, Some(DeclaredFilesystem::Repo));
    let shown = capabilities.to_json();
    assert_eq!(shown["network"][1], "*.y.test");
    assert_eq!(shown["exec"], "none");
    let (again, _) = Manifest::parse(
        MANIFEST_FILE,
        &format!(r#"{{"schema_version": 3, "capabilities": {shown}}}"#),
        &tree,
    );
    assert_eq!(again.unwrap().capabilities.unwrap(), capabilities);
}

#[test]
fn capabilities_are_strict() {
    for (inner, expected) in [
        (r#""network": "all""#, "`capabilities.network` contains `all`; expected `none` or a list"),
        (
            r#""network": ["*"]"#,
            "`capabilities.network` contains `*`; expected a host or `*.suffix`",
        ),
        (
            r#""network": ["*.com"]"#,
            "`capabilities.network` contains `*.com`; expected a host or `*.suffix`",
        ),
        (
            r#""network": ["a b"]"#,
            "`capabilities.network` contains `a b`; expected a host or `*.suffix`",
        ),
        (
            r#""filesystem": "all""#,
            "`capabilities.filesystem` contains `all`; expected `repo`, `home-config` or a list of paths",
        ),
        (
            r#""filesystem": ["../x"]"#,
            "`capabilities.filesystem` contains `../x`; expected a path without `..`",
        ),
        (
            r#""exec": ["/bin/sh"]"#,
            "`capabilities.exec` contains `/bin/sh`; expected a program name",
        ),
        (
            r#""env_read": "HOME""#,
            "`capabilities.env_read` contains `HOME`; expected a list of names",
        ),
        (
            r#""env_read": ["A-B"]"#,
            "`capabilities.env_read` contains `A-B`; expected a variable name",
        ),
        (
            r#""prompt_scope": "a\nb""#,
            "`capabilities.prompt_scope` contains `a\nb`; expected one line of text",
        ),
        (r#""netwrk": "none""#, "unknown key `capabilities.netwrk`"),
        (
            r#""exec": null"#,
            "`capabilities.exec` is null; expected a value; remove the key if there is none",
        ),
    ] {
        let text = format!(r#"{{"schema_version": 3, "capabilities": {{{inner}}}}}"#);
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with(expected), "{found:?}");
    }
}

#[test]
fn all_problems_are_reported_with_their_positions() {
    assert_eq!(
        problems(
            "{\n \"schema_version\": 2,\n \"runtime_roots\": [\"/a\", \"scripts\"],\n \"commands\": {\n  \
             \"x\": {\"type\": \"script\", \"unix_path\": \"bin/tool\"},\n  \"y\": {}\n }\n}"
        ),
        [
            "3:20 runtime_roots[0] must be a relative path",
            "5:40 command path \"bin/tool\" is not inside any runtime_roots",
            "6:8 `commands.y.type` is missing; expected a string",
        ]
    );
}

#[test]
fn usable_commands_of_the_legacy_file_are_read() {
    let text = r#"{"model": "x", "commands": {"tool": "scripts/tool", "win": "scripts/tool.cmd", "git": "scripts/tool",
        "bad": 5, "gone": "scripts/none", "up": "../x", "a b": "scripts/tool"}}"#;
    let (manifest, problems) = Manifest::parse_legacy(LEGACY_MANIFEST_FILE, text, &tree);
    let names: Vec<&str> = manifest.commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["tool", "win"]);
    assert!(matches!(
        &manifest.commands[1].kind,
        CommandKind::Script { unix: None, windows: Some(_) }
    ));
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.severity == crate::Severity::Warning));
    let (manifest, problems) = Manifest::parse_legacy(LEGACY_MANIFEST_FILE, "nope", &tree);
    assert!(manifest.commands.is_empty() && problems.len() == 1);
}

#[test]
fn two_manifests_must_be_valid_and_identical() {
    let good = r#"{"schema_version": 1, "commands": {"x": {"type": "system", "command": "x"}}}"#;
    let same = r#"{"commands": {"x": {"command": "x", "type": "system"}},
                   "schema_version": 1}"#;
    let other = r#"{"schema_version": 1, "commands": {}}"#;
    let bad = r#"{"schema_version": 9}"#;
    let read = |agent: Option<&str>, own: Option<&str>| {
        let files = |name: &'static str| {
            let text = if name == AGENT_MANIFEST_FILE { agent } else { own };
            Ok::<_, std::convert::Infallible>(text.map(str::to_owned))
        };
        let Ok(found) = Manifest::read(files, str::to_owned, &|_| None);
        found.map(|(manifest, problems)| {
            let codes: Vec<String> = problems
                .iter()
                .map(|problem| format!("{} {}", problem.file, problem.code))
                .collect();
            (manifest.map(|manifest| manifest.commands.len()), codes.join(", "))
        })
    };
    let result = |count: Option<usize>, codes: &str| Some((count, codes.to_owned()));
    assert_eq!(read(None, None), None);
    assert_eq!(read(Some(good), None), result(Some(1), ""));
    assert_eq!(read(None, Some(good)), result(Some(1), ""));
    assert_eq!(read(Some(good), Some(same)), result(Some(1), ""));
    let conflict = "agent-skill.json manifest-conflict";
    assert_eq!(read(Some(good), Some(other)), result(None, conflict));
    assert_eq!(read(Some(bad), Some(good)), result(None, "agent-skill.json schema-version"));
    assert_eq!(read(Some(good), Some(bad)), result(None, "csk-skill.json schema-version"));
}
