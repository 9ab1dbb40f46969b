//! Kills an install at each of its changes in turn. Every skill must be completely old or completely new, and the next
//! install must complete everything.

use std::fs;

use testkit::Fault;

use crate::{SKILL, World};

const CSK: &str = env!("CARGO_BIN_EXE_csk");
const NO_STRACE: &str = "there is no `strace` to kill with";

#[test]
fn an_install_killed_at_any_change_leaves_every_skill_old_or_new() {
    let world = World::bare();
    if !world.env.has_faults() {
        return testkit::skip(
            "an_install_killed_at_any_change_leaves_every_skill_old_or_new",
            NO_STRACE,
        );
    }
    for name in ["changed", "gone", "kept", "fresh"] {
        let repo = world.repo(name, &with_command(name));
        repo.git("tag v1");
        repo.commit("//- /references/guide.md\nNew guide.\n//- /references/more.md\nMore.\n//- /scripts/side\nv2\n");
        repo.git("tag v2");
    }
    let skill = |name: &str, tag: &str| format!(r#"{{"name": "{name}", "tag": "{tag}"}}"#);
    world.skillfile(&[skill("changed", "v1"), skill("gone", "v1"), skill("kept", "v1")].join(","));
    world.install();
    world.program("app/.agents/bin/mine", "mine");
    world.env.write("app/.agents/skills/mine/SKILL.md", b"mine");
    world.env.write("app/.claude/skills/mine/SKILL.md", b"mine");
    world.skillfile(&[skill("changed", "v2"), skill("kept", "v1"), skill("fresh", "v2")].join(","));
    let kills = world.env.at_each_change(Fault::Kill, &[CSK, "install", "app"], |at, _| {
        check_after_kill(&world, at);
    });
    assert!(kills > 40, "only {kills} changes were killed at");
}

/// A skill with a command that prints the version of its command files.
fn with_command(name: &str) -> String {
    let skill = SKILL.replace("name: pdf", &format!("name: {name}"));
    let manifest = format!(
        r#"{{"schema_version": 2, "runtime_roots": ["scripts"], "commands": {{"{name}": {{"type": "script", "unix_path": "scripts/run"}}}}}}"#
    );
    let script = "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/side\"\n";
    format!(
        "{skill}//- /scripts/run\n{script}//- /scripts/side\nv1\n//- /csk-skill.json\n{manifest}\n"
    )
}

fn check_after_kill(world: &World, number: &str) {
    // Text, commands and agent entries are separate paths: only the skill that was being changed may be in between.
    let mut between = Vec::new();
    // Before any repair, all files have the version in the marker.
    for (name, versions) in [
        ("changed", &["v1", "v2"][..]),
        ("kept", &["v1"]),
        ("gone", &["v1", "-"]),
        ("fresh", &["-", "v2"]),
    ] {
        let folder = world.installed(name);
        let version = match fs::read_to_string(folder.join(".csk-install.json")) {
            Ok(marker) if marker.contains("\"ref\": \"v1\"") => "v1",
            Ok(marker) if marker.contains("\"ref\": \"v2\"") => "v2",
            Ok(marker) => panic!("kill {number}: {name} has half a marker: {marker}"),
            Err(_) => "-",
        };
        assert!(versions.contains(&version), "kill {number}: {name} is at {version}");
        assert_eq!(folder.exists(), version != "-", "kill {number}: {name} has no marker");
        if version != "-" {
            let guide = world.read(folder.join("references/guide.md"));
            assert_eq!(
                guide,
                if version == "v1" { "Guide.\n" } else { "New guide.\n" },
                "kill {number}: {name}"
            );
            assert_eq!(
                folder.join("references/more.md").exists(),
                version == "v2",
                "kill {number}: {name}"
            );
        }
        let run = world.env.run_args("sh", &["-c", &format!("app/.agents/bin/{name}")]);
        let command = if run.stdout.is_empty() { "-" } else { run.stdout.trim() };
        let entries = [".claude/skills", ".codex/skills"]
            .map(|folder| fs::symlink_metadata(world.app(folder).join(name)).is_ok());
        if command != version || entries != [version != "-"; 2] {
            between.push(name);
        }
        // Even in between, its command is complete.
        let is_whole = matches!(command, "v1" | "v2");
        assert!(
            is_whole || name == "fresh" || name == "gone",
            "kill {number}: {name}: {}",
            run.stderr
        );
    }
    assert!(between.len() <= 1, "kill {number}: {between:?}");
    let run = world.csk("install app");
    assert_eq!(run.code, Some(0), "kill {number}: {}{}", run.stdout, run.stderr);
    let run = world.csk("status app --check");
    assert_eq!(run.code, Some(0), "kill {number}: {}{}", run.stdout, run.stderr);
    for left in [
        ".agents/.csk-stage",
        ".agents/.csk-journal.json",
        "../../home/.cocoaskills/runtime/gone",
        ".agents/skills/gone",
        ".claude/skills/gone",
    ] {
        assert!(fs::symlink_metadata(world.app(left)).is_err(), "kill {number}: {left} is left");
    }
    for (name, version) in [("changed", "v2\n"), ("kept", "v1\n"), ("fresh", "v2\n")] {
        let run = world.env.run(&format!("app/.agents/bin/{name}"), "");
        assert_eq!(run.stdout, version, "kill {number}: {name}: {}", run.stderr);
    }
    assert!(!world.app(".agents/bin/gone").exists(), "kill {number}");
    let run = world.csk("verify app");
    assert_eq!(run.code, Some(0), "kill {number}: {}", run.stderr);
    assert!(!world.app(".agents/backups").exists(), "kill {number}: nothing was edited");
    for mine in [".agents/skills/mine/SKILL.md", ".claude/skills/mine/SKILL.md", ".agents/bin/mine"]
    {
        assert_eq!(world.read(world.app(mine)), "mine", "kill {number}");
    }
}

/// An upgrade also fetches and rewrites the lockfile. The skill is the old or the new version, and the next upgrade
/// installs the new one.
#[test]
fn an_upgrade_killed_at_any_change_leaves_every_skill_old_or_new() {
    let world = World::bare();
    if !world.env.has_faults() {
        return testkit::skip(
            "an_upgrade_killed_at_any_change_leaves_every_skill_old_or_new",
            NO_STRACE,
        );
    }
    world.config(r#", "allow_local_sources": true"#);
    let upstream = testkit::GitRepo::new(&world.env, "upstream/moving", &with_command("moving"));
    let url = format!("file://{}", world.env.path("upstream/moving").display());
    world.skillfile(&format!(r#"{{"name": "moving", "git": "{url}", "branch": "main"}}"#));
    world.install();
    let run = world.csk("lock --project app");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    upstream.commit("//- /references/guide.md\nNew guide.\n//- /scripts/side\nv2\n");
    let kills = world.env.at_each_change(Fault::Kill, &[CSK, "upgrade", "app"], |at, _| {
        let guide = world.read(world.installed("moving/references/guide.md"));
        assert!(matches!(&*guide, "Guide.\n" | "New guide.\n"), "{at}: {guide}");
        let by_agent = world.read(world.app(".claude/skills/moving/references/guide.md"));
        assert_eq!(by_agent, guide, "{at}: the agent reads another version");
        let command = world.env.run("app/.agents/bin/moving", "");
        assert!(matches!(&*command.stdout, "v1\n" | "v2\n"), "{at}: {}", command.stderr);
        let lock: serde_json::Value =
            serde_json::from_str(&world.read(world.app("Skillfile.lock"))).unwrap();
        assert_eq!(lock["skills"].as_object().map(serde_json::Map::len), Some(1), "{at}: {lock}");
        // If git itself was killed, it leaves its lock files and says which one to remove.
        let left = "find skills/moving/.git -name '*.lock' -delete";
        let run = world.csk("upgrade app");
        if run.code != Some(0) {
            assert!(run.stderr.contains(".lock': File exists"), "{at}: {}", run.stderr);
            assert_eq!(world.env.run_args("sh", &["-c", left]).code, Some(0));
        }
        for command in ["upgrade app", "install app --frozen", "status app --check", "verify app"] {
            let run = world.csk(command);
            assert_eq!(run.code, Some(0), "{at}: {command}: {}{}", run.stdout, run.stderr);
        }
        let guide = world.read(world.installed("moving/references/guide.md"));
        assert_eq!(guide, "New guide.\n", "{at}");
        assert_eq!(world.env.run("app/.agents/bin/moving", "").stdout, "v2\n", "{at}");
    });
    assert!(kills > 40, "only {kills} changes were killed at");
}

/// An adopted folder is the user's only copy: after every kill it is complete somewhere, and a second import completes
/// the first.
#[test]
fn a_killed_import_loses_nothing_and_can_be_repeated() {
    let world = World::bare();
    if !world.env.has_faults() {
        return testkit::skip("a_killed_import_loses_nothing_and_can_be_repeated", NO_STRACE);
    }
    world.skillfile("");
    testkit::write_tree(
        &world.app(".claude/skills/mine"),
        &SKILL.replace("name: pdf", "name: mine"),
    );
    let kills = world.env.at_each_change(
        Fault::Kill,
        &[CSK, "import", "--project", "app", "--adopt"],
        |at, _| {
            let whole = [".claude/skills/mine", ".agents/backups/mine-imported-0"].map(|folder| {
                let read = |name: &str| fs::read_to_string(world.app(folder).join(name));
                read("references/guide.md").is_ok_and(|text| text == "Guide.\n")
                    && read("SKILL.md").is_ok_and(|text| text.ends_with("Body.\n"))
                    && world.app(folder).join("tests/x.py").is_file()
            });
            assert!(whole.contains(&true), "{at}: the folder of the user is gone");
            let text = world.read(world.app("Skillfile.json"));
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
            let run = world.csk("import --project app --adopt");
            assert_eq!(run.code, Some(0), "{at}: {}{}", run.stdout, run.stderr);
            world.install();
            let link = fs::read_link(world.app(".claude/skills/mine")).unwrap();
            assert_eq!(link.to_string_lossy(), "../../.agents/skills/mine", "{at}");
            assert_eq!(world.csk("verify app").code, Some(0), "{at}");
            let left = world
                .env
                .run_args("sh", &["-c", "find . -name '*.tmp' -o -name '.csk-clone-*'"])
                .stdout;
            assert_eq!(left, "", "{at}");
        },
    );
    assert!(kills > 20, "only {kills} changes were killed at");
}
