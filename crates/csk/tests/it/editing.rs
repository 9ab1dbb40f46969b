//! `init`, `add`, `remove`: edits keep the user's formatting of the Skillfile.

use std::fs;

use crate::{SKILL, World};

fn in_app(world: &World, arguments: &str) -> testkit::Run {
    let program = env!("CARGO_BIN_EXE_csk");
    world.env.run_args("sh", &["-c", &format!("cd app && exec {program} {arguments}")])
}

#[test]
fn init_prepares_an_empty_project() {
    let world = World::bare();
    world.repo("pdf", SKILL).git("tag v1");
    fs::remove_file(world.app(".gitignore")).unwrap();
    let run = in_app(&world, "init");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        world.read(world.app(".gitignore")),
        "# CocoaSkill\n.agents/\n.claude/skills/\n.codex/skills/\n"
    );
    let exclude = world.read(world.app(".git/info/exclude"));
    assert!(!exclude.contains(".agents/"), "{exclude}");
    assert!(in_app(&world, "init").stdout.ends_with("is already set up\n"), "existing files stay");
    let run = in_app(&world, "add pdf --tag v1");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("capabilities: not declared"), "{}", run.stdout);
    assert_eq!(in_app(&world, "install").code, Some(0));
    assert!(world.installed("pdf/SKILL.md").exists());
    assert_eq!(in_app(&world, "remove pdf").code, Some(0));
    assert_eq!(in_app(&world, "install").code, Some(0));
    assert!(!world.installed("pdf").exists());
    let run = in_app(&world, "init --private");
    let exclude = world.read(world.app(".git/info/exclude"));
    assert!(
        exclude.ends_with("# CocoaSkill\n.agents/\n.claude/skills/\n.codex/skills/\n"),
        "{exclude}{}",
        run.stderr
    );
}

#[test]
fn a_clone_of_an_initialized_project_installs_with_frozen() {
    let world = World::bare();
    world.repo("pdf", SKILL).git("tag v1");
    fs::remove_file(world.app(".gitignore")).unwrap();
    assert_eq!(in_app(&world, "init").code, Some(0));
    let clone = |world: &World, to: &str| {
        world.git("app", "add --all");
        world.git("app", "commit --quiet --allow-empty -m change");
        world.git(".", &format!("clone --quiet app {to}"));
        let run = world.csk(&format!("install {to} --frozen"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    };
    clone(&world, "empty");
    assert_eq!(in_app(&world, "add pdf --tag v1").code, Some(0));
    assert_eq!(in_app(&world, "install").code, Some(0));
    clone(&world, "one");
    assert!(world.env.path("one/.agents/skills/pdf/SKILL.md").exists());
}

#[test]
fn init_and_add_fail_outside_git() {
    let world = World::new();
    fs::create_dir_all(world.env.path("plain")).unwrap();
    world.env.write("plain/Skillfile.json", br#"{"schema_version": 1, "skills": []}"#);
    for arguments in ["init plain", "add pdf --tag v1 --project plain"] {
        let run = world.csk(arguments);
        assert_eq!(run.code, Some(2), "{arguments}");
        assert!(run.stderr.contains("is not inside a git repository"), "{}", run.stderr);
    }
    fs::remove_file(world.app("Skillfile.json")).unwrap();
    let run = in_app(&world, "add pdf --tag v1");
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("Skillfile.json not found") && run.stderr.contains("csk init"),
        "{}",
        run.stderr
    );
}

#[test]
fn add_shows_commands_required_programs_and_capabilities() {
    let world = World::bare();
    world.skillfile("");
    let manifest = r#"{"schema_version": 3, "runtime_roots": ["scripts"], "commands": {
        "mr": {"type": "script", "unix_path": "scripts/mr"},
        "glab": {"type": "system", "command": "no-such-glab", "hint": "install glab with mise"}},
        "capabilities": {"network": ["gitlab.com"], "exec": "none", "env_read": []}}"#;
    let text = format!("{SKILL}//- /scripts/mr\n#!/bin/sh\n//- /csk-skill.json\n{manifest}\n");
    let upstream = testkit::GitRepo::new(&world.env, "upstream", &text);
    upstream.git("tag v1");
    world.config(r#", "allow_local_sources": true"#);
    let url = format!("file://{}", upstream.path().display());
    let before = world.read(world.app("Skillfile.json"));
    let run = in_app(&world, &format!("add pdf --git {url} --tag v1 --dry-run"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for line in [
        "pdf tag v1 ",
        "would be added (dry-run)",
        "  provides commands: mr\n",
        "  requires programs: no-such-glab\n",
        "  `no-such-glab` is not on PATH: install glab with mise\n",
        "  network: gitlab.com\n",
        "  exec: none\n",
        "  env_read: none\n",
        "  filesystem: not declared\n",
    ] {
        assert!(run.stdout.contains(line), "{line}: {}", run.stdout);
    }
    assert_eq!(world.read(world.app("Skillfile.json")), before);
    assert_eq!(in_app(&world, &format!("add pdf --git {url} --tag v1")).code, Some(0));
    assert!(world.read(world.app("Skillfile.json")).contains(&format!("\"git\": \"{url}\"")));
}

#[test]
fn edits_keep_the_users_formatting_and_order() {
    let world = World::new();
    world.repo("other", &SKILL.replace("name: pdf", "name: other")).git("tag v2");
    let text = "{\n    \"skills\": [\n        {\"name\":\"pdf\",   \"tag\": \"v1\"}\n    ],\n\n    \"agents\": [\"claude_code\"],\n    \"schema_version\": 1\n}";
    world.env.write("app/Skillfile.json", text.as_bytes());
    assert_eq!(in_app(&world, "add other --tag v2").code, Some(0));
    let added = world.read(world.app("Skillfile.json"));
    assert!(
        added.starts_with("{\n    \"skills\": [\n        {\"name\":\"pdf\",   \"tag\": \"v1\"},\n"),
        "{added}"
    );
    assert!(
        added.ends_with(
            "    ],\n\n    \"agents\": [\"claude_code\"],\n    \"schema_version\": 1\n}"
        ),
        "{added}"
    );
    assert_eq!(in_app(&world, "remove other").code, Some(0));
    assert_eq!(world.read(world.app("Skillfile.json")), text);
    // A changed declaration replaces the old one.
    assert_eq!(in_app(&world, "add pdf --branch main").code, Some(0));
    let moved = world.read(world.app("Skillfile.json"));
    assert!(moved.contains("\"branch\": \"main\"") && !moved.contains("\"tag\""), "{moved}");
    assert_eq!(in_app(&world, "install").code, Some(0));
}

#[test]
fn invalid_declarations_change_nothing() {
    let world = World::new();
    let before = world.read(world.app("Skillfile.json"));
    for (arguments, expected) in [
        ("add pdf --tag v9", "tag `v9` not found"),
        ("add pdf --tag v1 --branch main", "cannot be used with"),
        ("add pfd", "did you mean `pdf`?"),
        ("add", "required"),
        ("add ../pdf --tag v1", "no folder `"),
        ("add nothing --tag v1", "Skill repository not found"),
        ("add x --git ext::sh --tag v1", "is not allowed"),
        ("add pdf --tag=-x", "has an invalid tag: `-x`"),
        ("remove pfd", "did you mean `pdf`?"),
    ] {
        let run = in_app(&world, arguments);
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.stdout);
        assert!(run.stderr.contains(expected), "{arguments}: {}", run.stderr);
        assert_eq!(world.read(world.app("Skillfile.json")), before, "{arguments}");
    }
    world.env.write("app/Skillfile.json", b"{");
    assert_eq!(in_app(&world, "add pdf --tag v1").code, Some(2));
    assert_eq!(world.read(world.app("Skillfile.json")), "{");
}

#[test]
fn the_cache_can_be_shown_and_cleaned() {
    let world = World::new().with_large();
    assert_eq!(world.csk("cache size").stdout, "0 snapshots, 0 bytes\n");
    world.install();
    assert_eq!(world.csk("cache dir").stdout, "[ROOT]/home/.cocoaskills/cache\n");
    let size = world.csk("cache size").stdout;
    assert!(size.starts_with("1 snapshot, ") && !size.contains(" 0 bytes"), "{size}");
    assert_eq!(world.csk("cache clean --older-than 1").stdout, "removed 0 snapshots, 0 bytes\n");
    let entry =
        fs::read_dir(world.home().join(".cocoaskills/cache/big")).unwrap().next().unwrap().unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 86_400);
    fs::File::open(entry.path()).unwrap().set_modified(old).unwrap();
    assert!(world.csk("cache clean --older-than 2").stdout.starts_with("removed 1 snapshot, "));
    assert!(!world.home().join(".cocoaskills/cache/big").exists());
    fs::remove_dir_all(world.app(".agents")).unwrap();
    world.install();
    assert!(world.csk("cache clean").stdout.starts_with("removed 1 snapshot, "));
    assert_eq!(world.csk("status app --check").code, Some(0));
}

/// Many concurrent runs: nothing is lost.
#[test]
fn concurrent_additions_are_all_kept() {
    let world = World::bare();
    world.skillfile("");
    let names: Vec<String> = (0..8).map(|number| format!("s{number}")).collect();
    for name in &names {
        world.repo(name, &SKILL.replace("name: pdf", &format!("name: {name}"))).git("tag v1");
    }
    let start = |name: &String| {
        let arguments = ["add", name.as_str(), "--tag", "v1", "--project", "app"];
        let mut command = world.env.command(env!("CARGO_BIN_EXE_csk"), &arguments);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = names.iter().map(start).collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let text = world.read(world.app("Skillfile.json"));
    for name in &names {
        assert!(text.contains(&format!("\"{name}\"")), "{name} in {text}");
    }
}

#[test]
fn the_global_folder_is_not_a_project() {
    let world = World::new();
    assert_eq!(world.csk("global init").code, Some(0));
    let global = world.home().join(".cocoaskills/global").display().to_string();
    let run = world.env.run_args(env!("CARGO_BIN_EXE_csk"), &["install", &global]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("csk global"), "{}", run.stderr);
}
