//! An install is killed at each of its changes in turn. Every skill must be old or new, whole, and the
//! next install must bring everything in order.

use std::fs;

use crate::{SKILL, World};

/// The calls that change something. Opening a file to write counts as the write that follows it.
const CHANGES: [&str; 13] = [
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "symlink",
    "symlinkat",
    "write",
    "ftruncate",
    "fchmod",
];

/// More calls of one kind than the install makes.
const ENOUGH: usize = 200;

#[test]
fn a_kill_at_any_change_leaves_every_skill_old_or_new() {
    let world = World::bare();
    if world.env.run("strace", "--version").code != Some(0) {
        return testkit::skip(
            "a_kill_at_any_change_leaves_every_skill_old_or_new",
            "there is no `strace` to kill with",
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
    let call = "cp -a app before && cp -a ../home home-before";
    assert_eq!(world.env.run_args("sh", &["-c", call]).code, Some(0));

    let mut kills = 0;
    for call in CHANGES {
        // Calls are counted by kind and by thread; the first count that is never reached ends the kind.
        for number in 1..=ENOUGH {
            // Everything as it was, csk's home too, so that what is written there is killed at as well.
            let restore = "rm -rf app ../home && cp -a before app && cp -a home-before ../home";
            assert_eq!(world.env.run_args("sh", &["-c", restore]).code, Some(0));
            let (trace, inject) =
                (format!("trace={call}"), format!("inject={call}:signal=KILL:when={number}"));
            let arguments = [
                "-f",
                "-qq",
                "-o",
                "/dev/null",
                "-e",
                &trace,
                "-e",
                &inject,
                env!("CARGO_BIN_EXE_csk"),
                "install",
                "app",
            ];
            let mut command = world.env.command("strace", &arguments);
            if command.env("RAYON_NUM_THREADS", "1").output().unwrap().status.success() {
                break;
            }
            assert!(number < ENOUGH, "{call} is called without end");
            kills += 1;
            check_after_kill(&world, &format!("{call} {number}"));
        }
    }
    assert!(kills > 40, "only {kills} changes were killed at");
}

/// A skill with a command, whose runtime says which version it is.
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
    // Whole before anything is mended: the marker's version and no other.
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
            // Its command is there, whole, in one of the two versions; a fresh one may still be on its way.
            let run = world.env.run_args("sh", &["-c", &format!("app/.agents/bin/{name}")]);
            let is_whole = run.stdout == "v1\n" || run.stdout == "v2\n";
            assert!(
                is_whole || name == "fresh" || name == "gone",
                "kill {number}: {name}: {}",
                run.stderr
            );
        }
    }
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
