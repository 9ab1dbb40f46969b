//! Names that differ only in case, the names of working copies, and files with user errors.

use std::fs;

use serde_json::{Value, json};

use crate::{SKILL, World};

fn with_command(name: &str, command: &str) -> String {
    let skill = SKILL.replace("name: pdf", &format!("name: {name}"));
    let manifest = format!(
        r#"{{"schema_version": 1, "commands": {{"{command}": {{"type": "script", "unix_path": "run"}}}}}}"#
    );
    format!("{skill}//- /run\n#!/bin/sh\necho {name}\n//- /csk-skill.json\n{manifest}\n")
}

/// Adds a project to the config.
fn configure(world: &World, key: &str, entry: &Value) {
    let config = world.home().join(".cocoaskills/config.json");
    let mut value: Value = serde_json::from_str(&world.read(&config)).unwrap();
    value["projects"][key] = entry.clone();
    fs::write(&config, value.to_string()).unwrap();
}

#[test]
fn a_project_is_found_by_every_name_that_csk_prints() {
    let world = World::new();
    let app = world.app("");
    configure(
        &world,
        "app",
        &json!({"path": app, "project_alias": "demo", "checkout_alias": "conc"}),
    );
    for name in ["app", "conc", "demo"] {
        let run = world.csk(&format!("status {name}"));
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        assert!(run.stdout.starts_with("Project conc "), "{name}: {}", run.stdout);
    }
    assert_eq!(world.csk("install conc").code, Some(0));
    // The name of a project does not distinguish two working copies.
    testkit::GitRepo::new(
        &world.env,
        "other",
        "//- /Skillfile.json\n{\"schema_version\": 1, \"skills\": []}\n",
    );
    let other = world.env.path("other");
    configure(
        &world,
        "b",
        &json!({"path": other, "project_alias": "demo", "checkout_alias": "second"}),
    );
    let run = world.csk("status demo");
    assert_eq!(run.code, Some(2), "{}", run.stdout);
    assert!(run.stderr.contains("has 2 checkouts"), "{}", run.stderr);
    assert!(run.stderr.contains("use one of: conc, second"), "{}", run.stderr);
    // A skipped project has the same name.
    fs::remove_file(world.env.path("other/Skillfile.json")).unwrap();
    let run = world.csk("install --all");
    assert!(run.stderr.contains("second: Skillfile.json not found"), "{}", run.stderr);
}

#[test]
fn status_json_contains_every_project() {
    let world = World::new();
    world.env.write("bad/Skillfile.json", b"{");
    fs::create_dir_all(world.env.path("none")).unwrap();
    for name in ["bad", "none"] {
        configure(&world, name, &json!({"path": world.env.path(name)}));
    }
    let run = world.csk("status --all --json");
    let data: Value = serde_json::from_str(&run.stdout).unwrap();
    let names: Vec<&str> = data["projects"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["alias"].as_str())
        .collect();
    assert_eq!(names, ["bad", "none", "app"], "{data}");
    // With all projects, a malformed one is reported as JSON as well.
    let world = World::new();
    world.env.write("app/Skillfile.json", b"{");
    let run = world.csk("install --all --json");
    let data: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(data["projects"][0]["alias"], "app", "{data}");
    assert!(data["projects"][0]["error"]["message"].is_string(), "{data}");
}

#[test]
fn names_that_differ_only_in_case_are_refused() {
    let world = World::new();
    fs::create_dir_all(world.env.path("second")).unwrap();
    let run = world.csk("project add APP second");
    assert!(run.stderr.contains("differs from `app` only in case"), "{}", run.stderr);
    for (name, command) in [
        ("one", "go-now"),
        ("two", "Go-Now"),
        ("three", "go-now"),
        ("four", "x-run"),
        ("five", "x-run"),
    ] {
        world.repo(name, &with_command(name, command)).git("tag v1");
    }
    let declare = |names: &[&str]| {
        let all = names.iter().map(|name| format!(r#"{{"name": "{name}", "tag": "v1"}}"#));
        world.skillfile(&all.collect::<Vec<_>>().join(","));
    };
    declare(&["one", "two"]);
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(
        run.stderr.contains("`go-now` is provided by one and two (as `Go-Now`)"),
        "{}",
        run.stderr
    );
    // Every collision is reported, with every affected skill.
    declare(&["one", "three", "two", "four", "five"]);
    let run = world.csk("install app");
    for part in [
        "`go-now` is provided by one and three",
        "and two (as `Go-Now`)",
        "`x-run` is provided by four and five",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let run = world.csk("status app --json");
    let data: Value = serde_json::from_str(&run.stdout).unwrap();
    for skill in data["projects"][0]["skills"].as_array().unwrap() {
        assert!(skill.to_string().contains("Command collision"), "{skill}");
    }
}

/// A colleague with other agents can install a project prepared by `csk init`, and is warned about problems.
#[test]
fn an_initialized_project_installs_for_colleagues() {
    let world = World::new();
    testkit::GitRepo::new(&world.env, "fresh", "");
    let run = world.csk("init fresh");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let file = world.read(world.env.path("fresh/Skillfile.json"));
    assert!(file.contains("claude_code") && file.contains("codex_cli"), "{file}");
    assert!(world.csk("init fresh").stdout.contains("is already set up"));
    let run = world.csk("add pdf --tag v1 --project fresh");
    assert!(run.stderr.contains("`pdf` is not in Skillfile.lock yet"), "{}", run.stderr);
    assert_eq!(world.csk("install fresh").code, Some(0));
    world.git("fresh", "add --all");
    world.git("fresh", "commit --quiet -m skills");
    let clone = world.env.run("git", "clone --quiet fresh clone");
    assert_eq!(clone.code, Some(0), "{}", clone.stderr);
    let config = world.home().join(".cocoaskills/config.json");
    let mut value: Value = serde_json::from_str(&world.read(&config)).unwrap();
    value["default_agents"] = json!(["cursor", "gemini-cli"]);
    fs::write(&config, value.to_string()).unwrap();
    let run = world.csk("install clone --frozen");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    // An existing Skillfile has no lockfile yet, and an ignored lockfile never reaches a clone.
    testkit::GitRepo::new(
        &world.env,
        "old",
        "//- /Skillfile.json\n{\"schema_version\": 1, \"skills\": []}\n//- /.gitignore\n*.lock\n",
    );
    let run = world.csk("init old");
    assert!(run.stderr.contains("run `csk lock` to create it"), "{}", run.stderr);
    assert!(run.stderr.contains("git ignores Skillfile.lock"), "{}", run.stderr);
}

#[test]
fn shell_init_detects_powershell_by_its_path() {
    let world = World::new();
    let call = format!("SHELL=/usr/bin/pwsh {} shell-init", env!("CARGO_BIN_EXE_csk"));
    let run = world.env.run_args("sh", &["-c", &call]);
    assert!(run.stdout.contains("$env:CSK_SHELL_HOOK"), "{}", run.stdout);
}

#[test]
fn malformed_files_are_reported_without_parser_jargon() {
    let world = World::new();
    for (text, expected) in [
        ("{\"version\": 1, \"skills\"", ":1:23: unexpected end of file"),
        (
            "{\"version\": 1, \"skills\": []}",
            "found a list, expected an object with a key for each skill",
        ),
        ("{\"version\": 1,}", "invalid JSON"),
        ("", "the file is empty"),
    ] {
        fs::write(world.app("skills-lock.json"), text).unwrap();
        let run = world.csk("import --project app");
        assert_eq!(run.code, Some(2), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{text}: {}", run.stderr);
        assert!(!run.stderr.contains("EOF") && !run.stderr.contains("sequence"), "{}", run.stderr);
    }
    // A byte-order mark is ignored.
    fs::write(world.app("skills-lock.json"), "\u{feff}{\"version\": 1, \"skills\": {}}").unwrap();
    let run = world.csk("import --project app");
    assert!(!run.stderr.contains("JSON"), "{}", run.stderr);
    fs::remove_file(world.app("skills-lock.json")).unwrap();
    world.install();
    fs::write(world.app(".agents/.csk-journal.json"), "{\n").unwrap();
    let run = world.csk("install app");
    assert!(run.stderr.contains("unexpected end of file; not a csk journal"), "{}", run.stderr);
    fs::remove_file(world.app(".agents/.csk-journal.json")).unwrap();
    fs::write(world.app(".claude/skills/.csk-managed.json"), "{").unwrap();
    let run = world.csk("install app");
    assert!(run.stderr.contains("fix the file, or delete it"), "{}", run.stderr);
    fs::remove_file(world.app(".claude/skills/.csk-managed.json")).unwrap();
    assert_eq!(world.csk("install app").code, Some(0));
    world.env.write("app/Skillfile.json", b"{\"schema_version\": \"1\", \"skills\": []}");
    let run = world.csk("install app");
    assert!(run.stderr.contains("write a whole number, without quotes"), "{}", run.stderr);
}

/// Rules inside a completely ignored folder have no effect.
#[test]
fn ignore_rules_below_an_ignored_folder_do_not_matter() {
    let world = World::new();
    world.env.write("app/.gitignore", b"");
    world.env.write("app/.agents/.gitignore", b"!*\n");
    let run = world.csk("install app --fix-gitignore");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        world.git("app", "check-ignore .agents/skills/pdf/SKILL.md").trim(),
        ".agents/skills/pdf/SKILL.md"
    );
    // A rule above the folder does have an effect.
    let world = World::new();
    world.env.write("app/.gitignore", b"");
    world.env.write("app/.claude/.gitignore", b"!skills/\n");
    let run = world.csk("install app --fix-gitignore");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(run.stderr.contains("`!skills/` in .claude/.gitignore:1"), "{}", run.stderr);
}

#[test]
fn errors_name_the_manifest_file_in_use() {
    let world = World::new();
    let skill = with_command("pdf", "pdf-run").replace("csk-skill.json", "agent-skill.json");
    fs::remove_dir_all(world.env.path("skills/pdf")).unwrap();
    world.repo("pdf", &skill).git("tag v1");
    world.install();
    assert_eq!(world.env.run("app/.agents/bin/pdf-run", "").stdout, "pdf\n");
    for (text, expected) in [
        ("{\"schema_version\": 4}", "Unsupported agent-skill.json schema_version 4"),
        ("{\"schema_version\": 2, \"nope\": 1}", "agent-skill.json` is invalid"),
    ] {
        world.commit("pdf", &format!("//- /agent-skill.json\n{text}\n"));
        world.git("skills/pdf", "tag -f v1");
        let run = world.csk("install app");
        assert!(run.stderr.contains(expected), "{text}: {}", run.stderr);
        assert!(!run.stderr.contains("csk-skill.json"), "{text}: {}", run.stderr);
    }
}

#[test]
fn import_reports_what_it_moved() {
    let world = World::new();
    testkit::write_tree(
        &world.app(".claude/skills/mine"),
        &SKILL.replace("name: pdf", "name: mine"),
    );
    let run = world.csk("import --project app --adopt");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let output = format!("{}{}", run.stdout, run.stderr);
    assert!(
        output.contains(".claude/skills/mine")
            && output.contains(".agents/backups/mine-imported-0"),
        "{output}"
    );
}
