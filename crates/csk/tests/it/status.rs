use std::fs;

use expect_test::expect;
use serde_json::Value;

use crate::World;

fn label(world: &World) -> String {
    let run = world.csk("status app --json");
    let value: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr));
    value["projects"][0]["skills"][0]["status"].as_str().unwrap().to_owned()
}

#[test]
fn labels_are_stable() {
    let world = World::new();
    assert_eq!(label(&world), "missing");
    assert_eq!(world.csk("status app --check").code, Some(1));
    world.install();
    assert_eq!(label(&world), "up-to-date");
    assert_eq!(world.csk("status app --check").code, Some(0));
    fs::write(world.installed("pdf/references/guide.md"), "x").unwrap();
    assert_eq!(label(&world), "content-drift");
    world.install();
    world.commit("pdf", "//- /references/new.md\n");
    world.git("skills/pdf", "tag v2");
    world.skillfile(r#"{"name": "pdf", "tag": "v2"}"#);
    assert_eq!(label(&world), "update-available");
    world.skillfile(r#"{"name": "pdf", "tag": "v3"}"#);
    assert_eq!(label(&world), "error");
    assert_eq!(world.csk("status app").code, Some(0), "status itself did not fail");
}

#[test]
fn the_output_is_stable_for_scripts() {
    let world = World::new();
    world.install();
    world.repo("logbook", "//- /SKILL.md\n---\nname: logbook\ndescription: d\n---\nB.\n");
    let commit = world.git("skills/pdf", "rev-parse --short=7 HEAD");
    let revision = world.git("skills/logbook", "rev-parse --short=7 HEAD");
    world.skillfile(&format!(
        r#"{{"name": "pdf", "tag": "v1"}}, {{"name": "logbook", "revision": "{}"}}"#,
        revision.trim()
    ));
    let run = world.csk("status app");
    let shown = run.stdout.replace(commit.trim(), "abc123d").replace(revision.trim(), "6deb71a");
    expect![[r#"
        Project app ([ROOT]/work/app)
          pdf                  tag v1          abc123d  up-to-date
          logbook              revision 6deb71a          missing
    "#]]
    .assert_eq(&shown);
}

#[test]
fn missing_agent_entries_are_detected() {
    let world = World::new();
    world.install();
    fs::remove_file(world.app(".claude/skills/pdf")).unwrap();
    assert_eq!(label(&world), "content-drift");
    let run = world.csk("status app");
    assert!(
        run.stdout.contains("content-drift (.claude/skills/pdf is missing or incorrect)"),
        "{}",
        run.stdout
    );
    world.install();
    assert_eq!(label(&world), "up-to-date");
    assert!(world.app(".claude/skills/pdf/SKILL.md").exists());
}

/// An edit that keeps the length and restores the mtime is still detected.
#[test]
fn an_edit_that_keeps_size_and_mtime_is_detected() {
    let world = World::new();
    world.install();
    let file = world.installed("pdf/references/guide.md");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "Guidf.\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
    assert_eq!(label(&world), "content-drift");
    world.install();
    // Right after the install, perhaps in the same clock tick.
    fs::write(&file, "Guidf.\n").unwrap();
    assert_eq!(label(&world), "content-drift");
    world.install();
    assert_eq!(label(&world), "up-to-date");
}

#[test]
fn cached_fingerprints_are_checked_against_the_files() {
    let world = World::new();
    world.install();
    let folder = world.home().join(".cocoaskills/cache/.seen");
    let seen = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = world.read(&seen);
    assert!(text.contains(".agents/skills/pdf"), "{text}");
    for damaged in
        ["", "{", "null", r#"{"schema_version": 2}"#, &text.replace("sha256:", "sha256:0")]
    {
        fs::write(&seen, damaged).unwrap();
        assert_eq!(label(&world), "up-to-date", "{damaged}");
        fs::write(world.installed("pdf/extra"), "x").unwrap();
        assert_eq!(label(&world), "content-drift", "{damaged}");
        fs::remove_file(world.installed("pdf/extra")).unwrap();
    }
    // `status` writes nothing; an install writes what it has found out, only once.
    fs::remove_dir_all(world.home().join(".cocoaskills/cache")).unwrap();
    assert_eq!(label(&world), "up-to-date");
    assert!(!folder.exists());
    std::thread::sleep(std::time::Duration::from_millis(50));
    world.install();
    let written = || fs::metadata(&seen).unwrap().modified().unwrap();
    let first = written();
    world.install();
    assert_eq!(written(), first);
}

#[test]
fn a_different_name_is_reported_by_install_and_status() {
    let world = World::new();
    world.repo("other", "//- /SKILL.md\n---\nname: elsewhere\ndescription: d\n---\n").git("tag v1");
    world.skillfile(r#"{"name": "other", "tag": "v1"}"#);
    let words = "app: warning: other: SKILL.md: `name` is `elsewhere`, but the folder is `other`";
    assert!(world.install().stderr.contains(words));
    assert!(world.csk("status app").stderr.contains(words));
    fs::remove_dir_all(world.home().join(".cocoaskills/cache")).unwrap();
    assert!(world.csk("status app").stderr.contains(words));
}

#[test]
fn json_output_matches_its_schema() {
    let world = World::new();
    for name in ["csk-status", "csk-list"] {
        let schemas = csk_core::schemas();
        let schema = &schemas.iter().find(|(found, _)| *found == name).unwrap().1;
        let validator = jsonschema::validator_for(schema).unwrap();
        for step in ["", "install app"] {
            if !step.is_empty() {
                world.csk(step);
            }
            world.csk("project add x app");
            let command = if name == "csk-status" { "status app --json" } else { "list --json" };
            let mut output: Value = serde_json::from_str(&world.csk(command).stdout).unwrap();
            assert!(validator.is_valid(&output), "{name}: {output}");
            output["projects"][0]["surprise"] = true.into();
            assert!(!validator.is_valid(&output), "{name} takes anything");
        }
    }
}
