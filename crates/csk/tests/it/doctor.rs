//! `csk doctor`: each thing that stands in the way is found, and named with what to do.

use std::fs;

use serde_json::Value;

use crate::{SKILL, World};

/// Returns the checks of a state, as `check: message` with the fix after it.
fn found(world: &World, arguments: &str, state: &str) -> Vec<String> {
    let run = world.csk(&format!("doctor {arguments} --json"));
    let told: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr));
    assert_eq!(told["good"], Value::from(run.code == Some(0)), "{told}");
    let line = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {} -> {}", text("check"), text("message"), text("fix"))
    };
    let checks = told["checks"].as_array().unwrap().iter();
    checks.filter(|one| one["state"] == state).map(line).collect()
}

fn has(lines: &[String], parts: &[&str]) {
    let is_it = |line: &&String| parts.iter().all(|part| line.contains(part));
    assert!(lines.iter().any(|line| is_it(&line)), "{parts:?} in {lines:#?}");
}

#[test]
fn a_good_project_has_nothing_to_mend() {
    let world = World::new();
    world.install();
    let problems = found(&world, "app", "problem");
    assert!(problems.is_empty(), "{problems:#?}");
    let run = world.csk("doctor app");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("ok    git: git version"), "{}", run.stdout);
    assert!(run.stderr.contains("nothing has to be mended"), "{}", run.stderr);
    // The original's ids see each skill twice where the agent reads .agents/skills itself.
    has(
        &found(&world, "app", "note"),
        &["twice", "codex_cli reads .agents/skills by itself", "codex"],
    );
}

#[test]
fn everything_that_stands_in_the_way_is_named() {
    let world = World::new();
    world.install();
    // Files that git does not ignore, a link that leads nowhere, an edit, a project that is gone.
    fs::write(world.app(".gitignore"), "").unwrap();
    std::os::unix::fs::symlink("nowhere", world.app(".claude/skills/gone")).unwrap();
    fs::write(world.installed("pdf/SKILL.md"), "mine\n").unwrap();
    let text = world.read(world.home().join(".cocoaskills/config.json"));
    let more = text
        .replace("\"projects\": {", "\"projects\": {\"away\": {\"path\": \"/nowhere/at/all\"}, ");
    fs::write(world.home().join(".cocoaskills/config.json"), more).unwrap();
    let problems = found(&world, "app", "problem");
    has(&problems, &["ignored", "does not ignore .agents/", "--fix-gitignore"]);
    has(&problems, &["links", ".claude/skills/gone leads nowhere", "->"]);
    has(&problems, &["install", "pdf was edited", "csk diff --local pdf"]);
    has(&problems, &["projects", "away is at /nowhere/at/all", "csk project remove away"]);
    let run = world.csk("doctor app");
    assert!(run.code == Some(1) && run.stdout.contains("MEND"), "{}", run.stdout);
}

#[test]
fn commands_without_a_hook_caches_and_a_missing_runtime_are_noted() {
    let world = World::bare();
    let manifest = "//- /csk-skill.json\n{\"schema_version\": 1, \"commands\": {\"tool\": {\"type\": \"script\", \"unix_path\": \"scripts/tool\"}}}\n//- /scripts/tool\n#!/bin/sh\n";
    world.repo("pdf", &format!("{SKILL}{manifest}")).git("tag v1");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    world.install();
    has(&found(&world, "app", "note"), &["hook", "does not put them on PATH", "csk shell-init"]);
    fs::create_dir_all(world.home().join(".cocoaskills/runtime/old/").join("a".repeat(40)))
        .unwrap();
    has(&found(&world, "app", "note"), &["cache", "1 runtime that nobody uses", "csk gc"]);
    // A skill that is global as well.
    assert_eq!(world.csk("global add pdf --tag v1").code, Some(0));
    has(&found(&world, "app", "note"), &["twice", "app and the global scope both have pdf"]);
}

#[test]
fn rules_that_hide_skills_from_an_agent_and_the_sandbox_are_looked_at() {
    let world = World::new();
    world.env.write(
        "app/Skillfile.json",
        br#"{"schema_version": 1, "agents": ["antigravity"], "skills": [{"name": "pdf", "tag": "v1"}]}"#,
    );
    world.install();
    has(&found(&world, "app", "problem"), &["antigravity does not read", ".git/info/exclude"]);
    fs::write(world.app(".gitignore"), ".claude/skills/\n").unwrap();
    fs::write(world.app(".git/info/exclude"), ".agents/\n").unwrap();
    assert_eq!(found(&world, "app", "problem"), Vec::<String>::new());
    // A rule that leaves out one skill is no rule for all of it.
    fs::write(
        world.app(".git/info/exclude"),
        ".agents/*\n!.agents/skills\n.agents/skills/*\n!.agents/skills/pdf\n",
    )
    .unwrap();
    has(&found(&world, "app", "problem"), &["ignored", "does not ignore .agents/"]);
    // Whatever this machine can hold is told.
    let told = world.csk("doctor app --json").stdout;
    assert!(told.contains("\"check\": \"sandbox\""), "{told}");
}

#[test]
fn a_config_that_cannot_be_used_is_a_finding_and_not_an_end() {
    let world = World::new();
    fs::write(world.home().join(".cocoaskills/config.json"), "{").unwrap();
    has(&found(&world, "", "problem"), &["config"]);
    fs::remove_file(world.home().join(".cocoaskills/config.json")).unwrap();
    has(&found(&world, "", "problem"), &["config", "there is no config", "csk bootstrap"]);
}
