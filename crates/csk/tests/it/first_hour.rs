//! What a new user sees in the first hour: consistent names, clear messages, and hints that help.

use std::fs;

use serde_json::Value;
use testkit::Run;

use crate::{SKILL, World};

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

/// `list`, `project resolve` and `install` use the same name for a working copy, derived from its Skillfile, the config
/// and its branch.
#[test]
fn a_working_copy_has_one_name() {
    let world = World::new();
    let names = |branch: &str| {
        world.git("app", &format!("checkout --quiet -B {branch}"));
        let resolved = json(&world.csk("project resolve app --json"));
        let listed = json(&world.csk("list --json"))["projects"][0].clone();
        let installed = json(&world.csk("install app --json"))["projects"][0].clone();
        assert_eq!(resolved["projectAlias"], listed["projectAlias"], "{branch}");
        for found in [&listed["checkoutAlias"], &installed["alias"]] {
            assert_eq!(&resolved["checkoutAlias"], found, "{branch}");
        }
        let text = |key: &str| resolved[key].as_str().unwrap().to_owned();
        let hash = text("pathHash");
        (text("projectAlias"), text("checkoutAlias").replace(&hash, "HASH"))
    };
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(names("main"), pair("app", "app"));
    assert_eq!(names("feature/ABC-12"), pair("app", "app-abc-12-HASH"));
    let skills = r#""skills": [{"name": "pdf", "tag": "v1"}]"#;
    let text = format!(r#"{{"schema_version": 1, "project": {{"alias": "demo"}}, {skills}}}"#);
    world.env.write("app/Skillfile.json", text.as_bytes());
    assert_eq!(names("ABC-12"), pair("demo", "demo-abc-12-HASH"));
    assert_eq!(names("other"), pair("demo", "demo-worktree-HASH"));
    // On a shared branch, the alias in the config is used.
    assert_eq!(names("trunk"), pair("demo", "app"));
}

#[test]
fn install_json_contains_every_project() {
    let world = World::new();
    world.env.write("bad/Skillfile.json", b"{");
    fs::create_dir_all(world.env.path("none")).unwrap();
    let config = world.home().join(".cocoaskills/config.json");
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    for name in ["bad", "none"] {
        value["projects"][name] = serde_json::json!({"path": world.env.path(name)});
    }
    fs::write(&config, value.to_string()).unwrap();
    let run = world.csk("install --all --json");
    assert_eq!(run.code, Some(1));
    let projects = json(&run)["projects"].clone();
    let of = |alias: &str| {
        let all = projects.as_array().unwrap().iter();
        all.clone().find(|project| project["alias"] == alias).unwrap().clone()
    };
    assert_eq!(of("app")["skills"][0]["outcome"], "installed");
    assert!(of("bad")["error"]["message"].as_str().unwrap().contains("Skillfile.json:1"));
    assert_eq!(of("none")["warnings"][0], "Skillfile.json not found, skipped");
}

#[test]
fn a_repository_of_many_skills_lists_their_folders() {
    let world = World::bare();
    world
        .repo(
            "many",
            "//- /skills/a/SKILL.md\n//- /skills/b/skill.md\n//- /node_modules/c/SKILL.md\n",
        )
        .git("tag v1");
    world.skillfile("");
    let run = world.csk("add many --tag v1 --project app");
    assert_eq!(run.code, Some(2), "{}", run.stdout);
    assert!(
        run.stderr.contains("skills found in: skills/a, skills/b\n")
            && run.stderr.contains("run `csk add` with `--path skills/a`"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_unknown_branch_lists_the_available_ones() {
    let world = World::new();
    world.skillfile(r#"{"name": "pdf", "branch": "unheard-of"}"#);
    world.git("skills/pdf", "branch stable");
    let run = world.csk("install app");
    assert!(
        run.stderr.contains("available: main, stable; if it is new, run `csk update` to fetch it"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_command_collision_hides_no_other_skill() {
    let world = World::new();
    let manifest = r#"{"schema_version": 1, "commands": {"go": {"type": "script", "unix_path": "scripts/go"}}}"#;
    for name in ["one", "two"] {
        let literal = SKILL.replace("name: pdf", &format!("name: {name}"));
        let literal =
            format!("{literal}//- /scripts/go\n#!/bin/sh\n//- /csk-skill.json\n{manifest}\n");
        world.repo(name, &literal).git("tag v1");
    }
    world.install();
    world.skillfile(
        r#"{"name": "pdf", "tag": "v1"}, {"name": "one", "tag": "v1"}, {"name": "two", "tag": "v1"}"#,
    );
    assert_eq!(world.csk("install app").code, Some(1));
    let run = world.csk("status app");
    assert!(run.stdout.contains("pdf") && run.stdout.contains("up-to-date"), "{}", run.stdout);
    assert!(
        run.stderr.contains("one: Command collision: `two` also provides the command `go`")
            && run.stderr.contains("two: Command collision: `one` also provides"),
        "{}",
        run.stderr
    );
}

/// If no entry in `.gitignore` can help, the error names the rule, and nothing is written.
#[test]
fn an_ignore_rule_that_cannot_be_overridden_is_reported() {
    let world = World::new();
    world.env.write("app/.claude/.gitignore", b"# ours\n!skills/\n");
    let before = world.read(world.app(".gitignore"));
    for flags in ["", "--fix-gitignore"] {
        let run = world.csk(&format!("install app {flags}"));
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(
            run.stderr.contains("because of rule `!skills/` in .claude/.gitignore:2"),
            "{}",
            run.stderr
        );
        assert_eq!(world.read(world.app(".gitignore")), before);
    }
}

#[test]
fn a_lowercase_skill_md_is_installed_under_the_standard_name() {
    let world = World::bare();
    world.repo("pdf", &SKILL.replace("/SKILL.md", "/skill.md")).git("tag v1");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    let run = world.install();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("skill.md is installed as SKILL.md"), "{}", run.stderr);
    let names = fs::read_dir(world.installed("pdf")).unwrap();
    let names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.contains(&"SKILL.md".to_owned()) && !names.contains(&"skill.md".to_owned()));
    assert_eq!(world.csk("status app --check").code, Some(0));
    let checked = world.csk("skill check skills/pdf");
    assert!(checked.stderr.contains("the file is named `skill.md`"), "{}", checked.stderr);
}

#[test]
fn records_of_a_deleted_project_are_collected() {
    let world = World::new();
    world.install();
    let notes = || {
        let count = |folder: &str| {
            let folder = world.home().join(".cocoaskills").join(folder);
            fs::read_dir(folder).map_or(0, Iterator::count)
        };
        (count("receipts"), count("cache/.seen"))
    };
    assert_eq!(notes(), (1, 1));
    assert_eq!(world.csk("gc").code, Some(0));
    assert_eq!(notes(), (1, 1));
    fs::remove_dir_all(world.env.path("app")).unwrap();
    let looked = world.csk("gc --dry-run");
    assert!(looked.stdout.contains("no longer exists"), "{}", looked.stdout);
    assert_eq!(notes(), (1, 1));
    assert_eq!(world.csk("gc").code, Some(0));
    assert_eq!(notes(), (0, 0));
}

#[test]
fn a_repository_cloned_from_a_path_is_fetched() {
    let world = World::new();
    world.git(".", "clone --quiet skills/pdf origin");
    fs::remove_dir_all(world.env.path("skills/pdf")).unwrap();
    let origin = world.env.path("origin").display().to_string();
    world.git(".", &format!("clone --quiet {origin} skills/pdf"));
    world.git("origin", "tag v2");
    assert_eq!(world.csk("update").code, Some(0), "{}", world.csk("update").stderr);
    assert_eq!(world.git("skills/pdf", "tag --list v2").trim(), "v2");
    // A path in a Skillfile is still untrusted.
    let git = format!(r#"{{"name": "other", "git": "{origin}", "tag": "v1"}}"#);
    world.skillfile(&git);
    let run = world.csk("install app");
    assert!(run.stderr.contains("allow_local_sources"), "{}", run.stderr);
}

#[test]
fn waiting_for_the_lock_is_reported() {
    let world = World::new();
    let lock = world.home().join(".cocoaskills/.lock");
    let program = env!("CARGO_BIN_EXE_csk");
    let script = format!(
        "exec 9>>{lock}; flock 9; (sleep 2; flock -u 9) & {program} project add two app 9>&-",
        lock = lock.display()
    );
    let run = world.env.run_args("bash", &["-c", &script]);
    assert!(run.stderr.contains("waiting for another csk"), "{}{}", run.stdout, run.stderr);
}
