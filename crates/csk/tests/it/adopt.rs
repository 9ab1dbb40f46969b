//! Installs by the original csk, and installs whose ledger or receipt was lost, are adopted in place.

use std::fs;

use serde_json::{Value, json};
use skill::{ContentHasher, Digest, RelPath};

use crate::{SKILL, World};

/// Installs a skill with a command, then deletes files that only csk itself writes.
fn forgotten(world: &World, lost: &str) {
    let manifest = r#"{"schema_version": 1, "commands": {"pdf-run": {"type": "script", "unix_path": "scripts/run"}}}"#;
    let text =
        format!("{SKILL}//- /scripts/run\n#!/bin/sh\necho v1\n//- /csk-skill.json\n{manifest}\n");
    world.repo("pdf", &text).git("tag v1");
    world.skillfile(r#"{"name": "pdf", "tag": "v1"}"#);
    world.install();
    let run = world.env.run_args("sh", &["-c", lost]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

/// Reduces the marker to the keys that the original csk writes.
fn as_first_csk(world: &World) {
    let path = world.installed("pdf/.csk-install.json");
    let marker: Value = serde_json::from_str(&world.read(&path)).unwrap();
    let keys = [
        "agents",
        "commands",
        "commit",
        "content_sha256",
        "files",
        "installed_at",
        "locale",
        "name",
        "ref",
        "ref_kind",
        "schema_version",
        "source",
    ];
    let first: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), marker[*key].clone())).collect();
    fs::write(path, json!(first).to_string()).unwrap();
}

const LOSE_ALL: &str = "rm app/.agents/skills/.csk-managed.json app/.agents/bin/.csk-managed.json \
    app/.claude/skills/.csk-managed.json app/.codex/skills/.csk-managed.json; rm -rf ../home/.cocoaskills/[!c]*";

#[test]
fn an_install_by_the_original_csk_is_adopted() {
    let world = World::bare();
    forgotten(&world, LOSE_ALL);
    as_first_csk(&world);
    let run = world.install();
    assert!(run.stdout.contains("pdf tag v1"), "{}{}", run.stdout, run.stderr);
    assert!(!run.stdout.contains("removed"), "{}", run.stdout);
    assert!(!world.app(".agents/backups").exists(), "no local edits");
    assert_eq!(world.env.run("app/.agents/bin/pdf-run", "").stdout, "v1\n");
    assert_eq!(world.csk("status app --check").code, Some(0));
    // csk owns it now: if it is no longer declared, csk removes it with every entry.
    world.skillfile("");
    world.install();
    for left in
        [".agents/skills/pdf", ".claude/skills/pdf", ".codex/skills/pdf", ".agents/bin/pdf-run"]
    {
        assert!(fs::symlink_metadata(world.app(left)).is_err(), "{left}");
    }
}

#[test]
fn files_that_differ_from_their_marker_are_backed_up_and_reported() {
    let world = World::bare();
    forgotten(&world, LOSE_ALL);
    as_first_csk(&world);
    fs::write(world.installed("pdf/references/mine.md"), "mine").unwrap();
    let run = world.install();
    assert!(
        run.stderr.contains("your edits to pdf were backed up to"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    let kept = world.env.run_args("sh", &["-c", "cat app/.agents/backups/*/references/mine.md"]);
    assert_eq!(kept.stdout, "mine");
    assert_eq!(world.csk("status app --check").code, Some(0));
}

#[test]
fn a_lost_ledger_or_receipt_prevents_nothing() {
    for lost in [
        "rm app/.agents/skills/.csk-managed.json",
        "rm app/.claude/skills/.csk-managed.json",
        "rm app/.agents/bin/.csk-managed.json",
        "rm -rf ../home/.cocoaskills/receipts",
    ] {
        let world = World::bare();
        forgotten(&world, lost);
        let run = world.install();
        assert!(!run.stdout.contains("removed"), "{lost}: {}", run.stdout);
        assert!(!world.app(".agents/backups").exists(), "{lost}");
        world.commit("pdf", "//- /references/guide.md\nNew guide.\n");
        world.git("skills/pdf", "tag v2");
        world.skillfile(r#"{"name": "pdf", "tag": "v2"}"#);
        world.install();
        assert_eq!(world.read(world.app(".claude/skills/pdf/references/guide.md")), "New guide.\n");
        assert!(!world.app(".agents/backups").exists(), "{lost}");
        assert_eq!(world.csk("status app --check").code, Some(0), "{lost}");
    }
}

/// Copies for agents are adopted like symlinks, whatever ledger was lost, and csk removes every file of a skill that it
/// reports as removed.
#[test]
fn a_lost_ledger_prevents_neither_copies_nor_removals() {
    let everything = "find app ../home/.cocoaskills -name .csk-managed.json -delete";
    for mode in ["symlink", "copy"] {
        for lost in [
            "rm -f app/.claude/skills/.csk-managed.json",
            "rm -f app/.agents/skills/.csk-managed.json",
            "rm -f app/.agents/bin/.csk-managed.json",
            everything,
        ] {
            let at = format!("{mode}: {lost}");
            let world = World::bare();
            world.config(&format!(r#", "adapter_mode": "{mode}""#));
            forgotten(&world, lost);
            let manifest = r#"{"schema_version": 1, "commands": {"new-run": {"type": "script", "unix_path": "scripts/run"}}}"#;
            world.commit(
                "pdf",
                &format!("//- /references/guide.md\nNew guide.\n//- /csk-skill.json\n{manifest}\n"),
            );
            world.git("skills/pdf", "tag v2");
            world.skillfile(r#"{"name": "pdf", "tag": "v2"}"#);
            let status = world.csk("status app");
            assert!(status.stdout.contains("update-available"), "{at}: {}", status.stdout);
            world.install();
            let guide = world.read(world.app(".claude/skills/pdf/references/guide.md"));
            assert_eq!(guide, "New guide.\n", "{at}");
            assert!(!world.app(".agents/backups").exists(), "{at}");
            assert!(fs::symlink_metadata(world.app(".agents/bin/pdf-run")).is_err(), "{at}");
            assert_eq!(world.csk("status app --check").code, Some(0), "{at}");
            let run = world.env.run_args("sh", &["-c", lost]);
            assert_eq!(run.code, Some(0), "{at}");
            world.skillfile("");
            let run = world.install();
            let left = "find app -name 'pdf*' -o -name new-run";
            let left = world.env.run_args("sh", &["-c", left]).stdout;
            // Without any ledger there is no record of csk, and a symlink may be the user's.
            if mode == "symlink" && lost.contains(".claude") {
                assert_eq!(left, "app/.claude/skills/pdf\n", "{at}");
                let message = "keeping link `.claude/skills/pdf`";
                assert!(run.stderr.contains(message), "{at}: {}{}", run.stdout, run.stderr);
            } else if lost != everything {
                assert_eq!(left, "", "{at}: {}", run.stdout);
            }
        }
    }
}

/// A skill installed by the first version of the rules: fewer files, a marker without `context_rules`, and the receipt
/// of that marker.
fn installed_by_first_rules() -> World {
    let world = World::bare();
    let text = "//- /skills/forms/SKILL.md\n---\nname: forms\ndescription: d\n---\nRead [more](forms.md).\n\
                //- /skills/forms/forms.md\nFill.\n//- /skills/forms/reference/a.md\nA.\n";
    world.repo("many", text).git("tag v1");
    world.skillfile(r#"{"name": "forms", "source": "many", "path": "skills/forms", "tag": "v1"}"#);
    world.install();
    for file in ["forms.md", "reference/a.md"] {
        assert!(world.installed("forms").join(file).exists(), "{file}");
    }
    fs::remove_file(world.installed("forms/forms.md")).unwrap();
    fs::remove_dir_all(world.installed("forms/reference")).unwrap();
    let mut hasher = ContentHasher::default();
    hasher.file(&RelPath::new("SKILL.md").unwrap());
    hasher.bytes(&fs::read(world.installed("forms/SKILL.md")).unwrap());
    let path = world.installed("forms/.csk-install.json");
    let today = world.read(&path);
    let mut marker: Value = serde_json::from_str(&today).unwrap();
    marker["content_sha256"] = json!(hasher.finish().to_string());
    marker["files"] = json!(["SKILL.md"]);
    let fields = marker.as_object_mut().unwrap();
    for key in ["context_sha256", "context_rules"] {
        fields.remove(key);
    }
    let first = marker.to_string();
    fs::write(&path, &first).unwrap();
    let folder = world.home().join(".cocoaskills/receipts");
    let receipts = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
    let text = world.read(&receipts);
    assert!(text.contains(&digest(&today)), "{text}");
    fs::write(&receipts, text.replace(&digest(&today), &digest(&first))).unwrap();
    world
}

/// Files installed by other rules do not count as edits, and the skill is completed.
#[test]
fn an_install_by_older_rules_is_outdated_and_not_edited() {
    let world = installed_by_first_rules();
    let status = world.csk("status app");
    assert!(status.stdout.contains("update-available"), "{}{}", status.stdout, status.stderr);
    assert!(!status.stdout.contains("drift"), "{}", status.stdout);
    let local = world.csk("diff --local --project app --check");
    assert_eq!(local.code, Some(0), "{}{}", local.stdout, local.stderr);
    assert!(local.stderr.contains("no local edits"), "{}{}", local.stdout, local.stderr);
    // The diff shows what the update adds.
    let diff = world.csk("diff --project app");
    assert!(diff.stdout.contains("forms.md"), "{}{}", diff.stdout, diff.stderr);
    world.install();
    assert_eq!(world.read(world.installed("forms/forms.md")), "Fill.\n");
    assert!(!world.app(".agents/backups").exists());
    for command in ["status app --check", "verify app"] {
        let run = world.csk(command);
        assert_eq!(run.code, Some(0), "{command}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn edits_of_an_install_by_older_rules_are_shown_and_backed_up() {
    let world = installed_by_first_rules();
    fs::write(world.installed("forms/SKILL.md"), "---\nname: forms\ndescription: mine\n---\n")
        .unwrap();
    assert!(world.csk("status app").stdout.contains("content-drift"));
    let local = world.csk("diff --local --project app --json");
    let local: Value = serde_json::from_str(&local.stdout).unwrap();
    let files = local["skills"][0]["files"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["path"]), (1, &json!("SKILL.md")), "{local}");
    let run = world.install();
    assert!(run.stderr.contains("your edits to forms were backed up to"), "{}", run.stderr);
    assert_eq!(world.read(world.installed("forms/forms.md")), "Fill.\n");
}
