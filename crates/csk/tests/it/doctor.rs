//! `csk doctor`: finds every problem and says how to fix it.

use std::fs;

use serde_json::Value;

use crate::{SKILL, World};

/// Returns the checks with a state, as `check: message -> fix`.
fn found(world: &World, arguments: &str, state: &str) -> Vec<String> {
    let run = world.csk(&format!("doctor {arguments} --json"));
    let output: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr));
    assert_eq!(output["ok"], Value::from(run.code == Some(0)), "{output}");
    let line = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {} -> {}", text("check"), text("message"), text("fix"))
    };
    let checks = output["checks"].as_array().unwrap().iter();
    checks.filter(|one| one["state"] == state).map(line).collect()
}

fn has(lines: &[String], parts: &[&str]) {
    let matches = |line: &&String| parts.iter().all(|part| line.contains(part));
    assert!(lines.iter().any(|line| matches(&line)), "{parts:?} in {lines:#?}");
}

#[test]
fn a_healthy_project_has_no_problems() {
    let world = World::new();
    world.install();
    let problems = found(&world, "app", "fail");
    assert!(problems.is_empty(), "{problems:#?}");
    let run = world.csk("doctor app");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("ok    git: git version"), "{}", run.stdout);
    assert!(run.stderr.contains("no problems found"), "{}", run.stderr);
    // With the agent names of the original csk, agents that read .agents/skills themselves see each skill twice.
    has(
        &found(&world, "app", "note"),
        &["twice", "codex_cli reads .agents/skills directly", "codex"],
    );
}

#[test]
fn every_problem_is_reported() {
    let world = World::new();
    world.install();
    // Files that git does not ignore, a dangling symlink, an edit, a deleted project.
    fs::write(world.app(".gitignore"), "").unwrap();
    std::os::unix::fs::symlink("nowhere", world.app(".claude/skills/gone")).unwrap();
    fs::write(world.installed("pdf/SKILL.md"), "mine\n").unwrap();
    let text = world.read(world.home().join(".cocoaskills/config.json"));
    let more = text
        .replace("\"projects\": {", "\"projects\": {\"away\": {\"path\": \"/nowhere/at/all\"}, ");
    fs::write(world.home().join(".cocoaskills/config.json"), more).unwrap();
    let problems = found(&world, "app", "fail");
    has(&problems, &["ignored", "git does not ignore .agents/", "--fix-gitignore"]);
    has(&problems, &["links", ".claude/skills/gone is a dangling link", "->"]);
    has(&problems, &["install", "pdf was edited", "csk diff --local pdf"]);
    has(
        &problems,
        &["projects", "away: /nowhere/at/all does not exist", "csk project remove away"],
    );
    let run = world.csk("doctor app");
    assert!(run.code == Some(1) && run.stdout.contains("fail"), "{}", run.stdout);
}

#[test]
fn missing_hooks_unused_caches_and_duplicate_skills_are_noted() {
    let world = World::bare();
    let manifest = "//- /csk-skill.json\n{\"schema_version\": 1, \"commands\": {\"tool\": {\"type\": \"script\", \"unix_path\": \"scripts/tool\"}}}\n//- /scripts/tool\n#!/bin/sh\n";
    world.repo("pdf", &format!("{SKILL}{manifest}")).git("tag v1");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    world.install();
    has(&found(&world, "app", "note"), &["hook", "the shell hook is not active", "csk shell-init"]);
    fs::create_dir_all(world.home().join(".cocoaskills/runtime/old/").join("a".repeat(40)))
        .unwrap();
    has(
        &found(&world, "app", "note"),
        &["cache", "unused command files from 1 skill version", "csk gc"],
    );
    // A skill that is also installed globally.
    assert_eq!(world.csk("global add pdf --tag v1").code, Some(0));
    has(&found(&world, "app", "note"), &["twice", "app and the global scope both declare pdf"]);
}

#[test]
fn ignore_rules_that_hide_skills_and_the_sandbox_are_checked() {
    let world = World::new();
    world.env.write(
        "app/Skillfile.json",
        br#"{"schema_version": 1, "agents": ["antigravity"], "skills": [{"name": "pdf", "tag": "v1"}]}"#,
    );
    world.install();
    has(&found(&world, "app", "fail"), &["antigravity does not read", ".git/info/exclude"]);
    fs::write(world.app(".gitignore"), ".claude/skills/\n").unwrap();
    fs::write(world.app(".git/info/exclude"), ".agents/\n").unwrap();
    assert_eq!(found(&world, "app", "fail"), Vec::<String>::new());
    // A rule that excludes one skill does not cover the whole folder.
    fs::write(
        world.app(".git/info/exclude"),
        ".agents/*\n!.agents/skills\n.agents/skills/*\n!.agents/skills/pdf\n",
    )
    .unwrap();
    has(&found(&world, "app", "fail"), &["ignored", "does not ignore .agents/"]);
    // The sandbox check always reports what this machine supports.
    let output = world.csk("doctor app --json").stdout;
    assert!(output.contains("\"check\": \"sandbox\""), "{output}");
}

#[test]
fn a_malformed_or_missing_config_is_reported_as_a_problem() {
    let world = World::new();
    fs::write(world.home().join(".cocoaskills/config.json"), "{").unwrap();
    has(&found(&world, "", "fail"), &["config"]);
    fs::remove_file(world.home().join(".cocoaskills/config.json")).unwrap();
    has(&found(&world, "", "ok"), &["config", "no config file; csk uses its defaults"]);
    let missing = world.home().join("other.json");
    let world = World { env: world.env.var("CSK_CONFIG", missing.to_str().unwrap()) };
    has(&found(&world, "", "fail"), &["config", "no config file at", "csk bootstrap"]);
}
