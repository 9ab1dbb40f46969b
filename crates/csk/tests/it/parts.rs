//! Skills that are subfolders of a repository: one repository with several skills.

use std::fs;

use serde_json::Value;

use crate::World;

const TWO: &str = "\
//- /README.md
Many skills.
//- /skills/pdf/SKILL.md
---
name: pdf
description: Extracts text.
---
Body.
//- /skills/pdf/references/guide.md
Guide.
//- /skills/notes/SKILL.md
---
name: notes
description: Writes notes.
---
Body.
//- /skills/notes/csk-skill.json
{\"schema_version\": 2, \"commands\": {\"note\": {\"type\": \"script\", \"unix_path\": \"scripts/note\"}}, \"runtime_roots\": [\"scripts\"]}
//- /skills/notes/scripts/note
#!/bin/sh
echo one
//- /other/SKILL.md
---
name: notes
description: Other notes.
---
Body.
//- /other/csk-skill.json
{\"schema_version\": 2, \"commands\": {\"note\": {\"type\": \"script\", \"unix_path\": \"scripts/note\"}}, \"runtime_roots\": [\"scripts\"]}
//- /other/scripts/note
#!/bin/sh
echo other
";

fn world() -> World {
    let world = World::bare();
    world.repo("many", TWO).git("tag v1");
    world
}

#[test]
fn two_folders_of_one_repository_are_two_skills() {
    let world = world();
    world.skillfile(
        r#"{"name": "pdf", "source": "many", "path": "skills/pdf", "tag": "v1"}, {"name": "notes", "source": "many", "path": "skills/notes/", "tag": "v1"}"#,
    );
    let run = world.install();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(world.installed("pdf/references/guide.md").is_file());
    assert!(!world.installed("pdf/README.md").exists() && !world.installed("pdf/skills").exists());
    let marker: Value =
        serde_json::from_str(&world.read(world.installed("pdf/.csk-install.json"))).unwrap();
    assert_eq!(marker["path"], "skills/pdf");
    assert_eq!(marker["tree"], world.git("skills/many", "rev-parse v1:skills/pdf").trim());
    assert_eq!(world.csk("exec --project app -- note").stdout, "one\n");
    assert_eq!(world.csk("lock --project app").code, Some(0));
    let lock: Value = serde_json::from_str(&world.read(world.app("Skillfile.lock"))).unwrap();
    assert_eq!(lock["skills"]["pdf"]["path"], "skills/pdf");
    for command in ["status app --check", "verify app", "install app --frozen"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(0), "{command}: {}{}", run.stdout, run.stderr);
    }
    // A change elsewhere in the repository gives another commit but the same skill.
    world.commit("many", "//- /skills/notes/references/new.md\nnew\n");
    world.git("skills/many", "tag -f v1");
    let run = world.csk("lock --project app --upgrade");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let again: Value = serde_json::from_str(&world.read(world.app("Skillfile.lock"))).unwrap();
    assert_eq!(again["skills"]["pdf"]["tree"], lock["skills"]["pdf"]["tree"]);
    assert_ne!(again["skills"]["notes"]["tree"], lock["skills"]["notes"]["tree"]);
}

#[test]
fn skills_of_the_same_name_from_two_folders_keep_their_commands() {
    let world = world();
    world.skillfile(r#"{"name": "notes", "source": "many", "path": "skills/notes", "tag": "v1"}"#);
    world.install();
    assert_eq!(world.csk("exec --project app -- note").stdout, "one\n");
    let run = world.csk("global init");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let run = world.csk("global add notes --source many --path other --tag v1");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(world.csk("global install").code, Some(0));
    assert_eq!(world.csk("exec --project app -- note").stdout, "one\n");
    // The project declares the other folder.
    world.skillfile(r#"{"name": "notes", "source": "many", "path": "other", "tag": "v1"}"#);
    assert!(world.csk("status app").stdout.contains("update-available"));
    world.install();
    assert_eq!(world.csk("exec --project app -- note").stdout, "other\n");
    assert_eq!(world.csk("verify app").code, Some(0));
}

#[test]
fn a_missing_folder_is_reported_with_a_suggestion() {
    let world = world();
    world.skillfile(r#"{"name": "pdf", "source": "many", "path": "skills/pfd", "tag": "v1"}"#);
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(
        run.stderr.contains("no folder `skills/pfd`") && run.stderr.contains("`skills/pdf`"),
        "{}",
        run.stderr
    );
    world.skillfile("");
    let run = world.csk("add pdf --source many --path skills/pdf/ --tag v1 --project app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = fs::read_to_string(world.app("Skillfile.json")).unwrap();
    assert!(text.contains("\"path\": \"skills/pdf\""), "{text}");
    world.install();
    assert!(world.installed("pdf/SKILL.md").is_file());
    let run = world.csk("add pdf --source many --path ../x --tag v1 --project app");
    assert!(run.code == Some(2) && run.stderr.contains("invalid --path `../x`"), "{}", run.stderr);
}
