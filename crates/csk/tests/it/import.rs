//! `csk import`: from the locks of another manager, and from folders of agents.

use std::fs;

use serde_json::Value;

use crate::{SKILL, World};

const MANY: &str = "\
//- /skills/pdf/SKILL.md
---
name: pdf
description: Extracts text.
---
//- /skills/notes/SKILL.md
---
name: notes
description: Writes notes.
---
";

fn world() -> World {
    let world = World::bare();
    world.config(r#", "allow_local_sources": true"#);
    let many = testkit::GitRepo::new(&world.env, "upstream/many", MANY);
    many.git("tag v1");
    world
}

fn lock(world: &World, version: u32) -> String {
    let url = format!("file://{}", world.env.path("upstream/many").display());
    format!(
        r#"{{"version": {version}, "skills": {{
            "pdf": {{"source": "acme/many", "sourceUrl": "{url}", "sourceType": "git", "ref": "v1", "skillPath": "skills/pdf/SKILL.md", "computedHash": "x"}},
            "notes": {{"source": "acme/many", "sourceUrl": "{url}", "sourceType": "git", "skillPath": "skills/notes/SKILL.md"}},
            "near": {{"source": "./near", "sourceType": "local"}}}}}}"#
    )
}

#[test]
fn the_lock_of_another_manager_becomes_declarations() {
    let world = world();
    let text = lock(&world, 1);
    fs::write(world.app("skills-lock.json"), &text).unwrap();
    fs::remove_file(world.app("Skillfile.json")).ok();
    let run = world.csk("import app/skills-lock.json --dry-run");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(
        !world.env.path("Skillfile.json").exists()
            && !world.env.path("skills/upstream-many").exists()
    );
    world.skillfile("");
    let run = world.csk("import --project app");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("near: left: it comes from `local`"), "{}", run.stderr);
    let file: Value = serde_json::from_str(&world.read(world.app("Skillfile.json"))).unwrap();
    let skills = file["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 2, "{file}");
    let of = |name: &str| skills.iter().find(|skill| skill["name"] == name).unwrap();
    assert_eq!((&of("pdf")["tag"], &of("pdf")["path"]), (&"v1".into(), &"skills/pdf".into()));
    assert_eq!(of("notes")["branch"], "main", "{file}");
    assert_eq!(world.read(world.app("skills-lock.json")), text, "it is not ours to change");
    for command in ["install app", "lock --project app", "verify app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
    }
    assert!(world.installed("notes/SKILL.md").is_file());
    // A second time there is nothing new.
    let run = world.csk("import --project app");
    assert!(run.stderr.contains("pdf: left: it is declared already"), "{}", run.stderr);
}

#[test]
fn the_users_lock_goes_to_the_global_scope() {
    let world = world();
    let home = world.home();
    fs::create_dir_all(home.join(".agents")).unwrap();
    fs::write(home.join(".agents/.skill-lock.json"), lock(&world, 3)).unwrap();
    let run = world.csk("import --global");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let text = world.read(home.join(".cocoaskills/global/Skillfile.json"));
    assert!(text.contains("\"pdf\"") && text.contains("\"notes\""), "{text}");
    assert_eq!(world.csk("global install").code, Some(0));
}

#[test]
fn a_plain_folder_is_adopted_when_asked_and_kept() {
    let world = world();
    world.skillfile("");
    testkit::write_tree(
        &world.app(".claude/skills/mine"),
        &SKILL.replace("name: pdf", "name: mine"),
    );
    let run = world.csk("import --project app");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("--adopt makes a repository of it"), "{}", run.stderr);
    assert!(world.app(".claude/skills/mine/SKILL.md").is_file());
    let run = world.csk("import --project app --adopt");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let kept = world.app(".agents/backups/mine-imported-0/references/guide.md");
    assert_eq!(world.read(kept), "Guide.\n");
    world.install();
    let link = fs::read_link(world.app(".claude/skills/mine")).unwrap();
    assert_eq!(link.to_string_lossy(), "../../.agents/skills/mine");
    assert_eq!(world.csk("verify app").code, Some(0));
    // What csk put there is nobody else's.
    let run = world.csk("import --project app --adopt");
    assert!(run.code == Some(0) && run.stderr.contains("nothing to import"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_read_or_had_is_told_and_nothing_is_written() {
    let world = world();
    world.skillfile("");
    let before = world.read(world.app("Skillfile.json"));
    for (text, code, told) in [
        ("{", 2, "skills-lock.json:1:"),
        (r#"{"version": 9, "skills": {}}"#, 2, "its version is 9"),
        (
            r#"{"version": 1, "skills": {"a": {"source": "x/y", "sourceType": "git", "sourceUrl": "file:///nonexistent", "ref": "v1"}}}"#,
            1,
            "a: left:",
        ),
        (
            r#"{"version": 1, "skills": {"a": {"source": "x/y", "sourceUrl": "file:///x", "sourceType": "git", "skillPath": "../../etc/SKILL.md"}}}"#,
            1,
            "is no path",
        ),
        (
            r#"{"version": 1, "skills": {"../a": {"source": "x/y", "sourceType": "github"}}}"#,
            1,
            "left:",
        ),
    ] {
        fs::write(world.app("skills-lock.json"), text).unwrap();
        let run = world.csk("import --project app");
        assert_eq!(run.code, Some(code), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{text}: {}", run.stderr);
        assert_eq!(world.read(world.app("Skillfile.json")), before);
    }
    // A ledger that cannot be read is not taken for an empty one.
    fs::remove_file(world.app("skills-lock.json")).unwrap();
    testkit::write_tree(&world.app(".claude/skills/mine"), SKILL);
    fs::write(world.app(".claude/skills/.csk-managed.json"), "{").unwrap();
    let run = world.csk("import --project app --adopt");
    assert!(run.code == Some(2) && run.stderr.contains(".csk-managed.json"), "{}", run.stderr);
    assert!(world.app(".claude/skills/mine/SKILL.md").is_file());
    let run = world.csk("import nothing.json --project app");
    assert!(
        run.code == Some(2) && run.stderr.contains("cannot read nothing.json"),
        "{}",
        run.stderr
    );
}
