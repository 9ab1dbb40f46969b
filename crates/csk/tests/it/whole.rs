//! A skill's text, agent entries and commands change together or not at all, whatever fails.

use std::fs;

use testkit::Fault;

use crate::{SKILL, World};

/// A skill with a command that prints its version.
fn with_command(name: &str) -> String {
    let skill = SKILL.replace("name: pdf", &format!("name: {name}"));
    let manifest = format!(
        r#"{{"schema_version": 2, "runtime_roots": ["scripts"], "commands": {{"{name}-run": {{"type": "script", "unix_path": "scripts/run"}}}}}}"#
    );
    format!("{skill}//- /scripts/run\n#!/bin/sh\necho v1\n//- /csk-skill.json\n{manifest}\n")
}

/// A project that has v1 of these skills installed and declares v2.
fn upgraded(names: &[&str]) -> World {
    let world = World::bare();
    let declared = |tag: &str| {
        let all = names.iter().map(|name| format!(r#"{{"name": "{name}", "tag": "{tag}"}}"#));
        all.collect::<Vec<_>>().join(",")
    };
    for name in names {
        let repo = world.repo(name, &with_command(name));
        repo.git("tag v1");
        repo.commit("//- /references/guide.md\nNew guide.\n//- /scripts/run\n#!/bin/sh\necho v2\n");
        repo.git("tag v2");
    }
    world.skillfile(&declared("v1"));
    world.install();
    world.skillfile(&declared("v2"));
    world
}

/// Returns the version of each part of a skill: its marker, its text, each agent's entry, its command in the project
/// and on PATH.
fn versions(world: &World, name: &str) -> Vec<String> {
    let marker = fs::read_to_string(world.installed(&format!("{name}/.csk-install.json")));
    let marker = marker.unwrap_or_default();
    let tag = ["v1", "v2"].into_iter().find(|tag| marker.contains(&format!("\"ref\": \"{tag}\"")));
    let guide = |folder: &str| {
        let text = fs::read_to_string(world.app(&format!("{folder}/{name}/references/guide.md")));
        match text.as_deref() {
            Ok("Guide.\n") => "v1".to_owned(),
            Ok("New guide.\n") => "v2".to_owned(),
            other => format!("{folder}: {other:?}"),
        }
    };
    let own = format!("cat ../home/.cocoaskills/commands/*/{name}-run | tail -1 | cut -d' ' -f2");
    let run = |call: &str| world.env.run_args("sh", &["-c", call]).stdout.trim().to_owned();
    vec![
        tag.unwrap_or("-").to_owned(),
        guide(".agents/skills"),
        guide(".claude/skills"),
        guide(".codex/skills"),
        run(&format!("app/.agents/bin/{name}-run")),
        run(&own),
    ]
}

fn is_one(world: &World, name: &str, version: &str, at: &str) {
    let found = versions(world, name);
    assert!(found.iter().all(|one| one == version), "{at}: {name} should be {version}: {found:?}");
}

#[test]
fn an_update_blocked_for_one_agent_changes_nothing() {
    let world = upgraded(&["one", "two"]);
    fs::remove_dir_all(world.app(".claude")).unwrap();
    fs::write(world.app(".claude"), "a file").unwrap();
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    for name in ["one", "two"] {
        let found = versions(&world, name);
        assert!(found.iter().filter(|one| *one == "v1").count() == 5, "{name}: {found:?}");
        assert!(!found.contains(&"v2".to_owned()), "{name}: {found:?}");
    }
    // Without the obstacle, the update succeeds.
    fs::remove_file(world.app(".claude")).unwrap();
    world.install();
    is_one(&world, "one", "v2", "after");
}

/// Every call that changes something fails once: the skill is the old or the new version, including commands and agent
/// entries.
#[test]
fn a_failure_at_any_change_leaves_every_skill_consistent() {
    let world = upgraded(&["one"]);
    if !world.env.has_faults() {
        return testkit::skip(
            "a_failure_at_any_change_leaves_every_skill_consistent",
            "there is no `strace` to make calls fail with",
        );
    }
    for mode in ["symlink", "copy"] {
        world.config(&format!(r#", "adapter_mode": "{mode}""#));
        world.skillfile(r#"{"name": "one", "tag": "v1"}"#);
        world.install();
        world.skillfile(r#"{"name": "one", "tag": "v2"}"#);
        let install = [env!("CARGO_BIN_EXE_csk"), "install", "app"];
        let failures = world.env.at_each_change(Fault::Deny, &install, |at, run| {
            let at = format!("{mode}: {at}: {}", run.stderr);
            let found = versions(&world, "one");
            is_one(&world, "one", if found[0] == "v2" { "v2" } else { "v1" }, &at);
            // The next install completes the failed one.
            world.install();
            is_one(&world, "one", "v2", &at);
        });
        assert!(failures > 20, "only {failures} calls failed");
    }
}

/// An edit made while an edited skill is being replaced is backed up as well.
#[test]
fn an_edit_during_an_install_over_edits_is_backed_up() {
    let world = upgraded(&["one"]);
    if !world.env.has_faults() {
        return testkit::skip(
            "an_edit_during_an_install_over_edits_is_backed_up",
            "there is no `strace`",
        );
    }
    fs::write(world.installed("one/SKILL.md"), "first edit").unwrap();
    let csk = env!("CARGO_BIN_EXE_csk");
    let inject = "inject=renameat2:delay_enter=1500000";
    let arguments = [
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=renameat2",
        "-e",
        inject,
        csk,
        "install",
        "app",
    ];
    let mut running = world.env.command("strace", &arguments).spawn().unwrap();
    let backups = world.app(".agents/backups");
    while !fs::read_dir(&backups).is_ok_and(|mut all| all.next().is_some()) {
        assert!(running.try_wait().unwrap().is_none(), "the install ended without a backup");
        std::thread::yield_now();
    }
    // The backup is complete when the exchange is about to happen; the edit comes after that.
    std::thread::sleep(std::time::Duration::from_millis(500));
    fs::write(world.installed("one/SKILL.md"), "second edit").unwrap();
    assert!(running.wait().unwrap().success());
    is_one(&world, "one", "v2", "after");
    let kept = world.env.run_args("sh", &["-c", "cat app/.agents/backups/*/SKILL.md"]).stdout;
    assert!(kept.contains("first edit") && kept.contains("second edit"), "{kept}");
}

/// Command files that a symlink on disk points to are in use, whatever the marker says.
#[test]
fn gc_keeps_command_files_that_symlinks_point_to() {
    let world = upgraded(&["one"]);
    let store = world.home().join(".cocoaskills/runtime/one");
    let old = fs::read_dir(&store).unwrap().next().unwrap().unwrap().path();
    world.install();
    assert!(!old.exists(), "the new install uses the new files");
    let world = upgraded(&["one"]);
    let store = world.home().join(".cocoaskills/runtime/one");
    let old = fs::read_dir(&store).unwrap().next().unwrap().unwrap().path();
    std::os::unix::fs::symlink(old.join("scripts/run"), world.app(".agents/bin/mine")).unwrap();
    world.install();
    assert!(old.exists(), "a link of the project leads to it");
    fs::remove_file(world.app(".agents/bin/mine")).unwrap();
    assert_eq!(world.csk("gc").code, Some(0));
    assert!(!old.exists());
}

/// A command that moves from one skill to another belongs to exactly one of them at any time.
#[test]
fn a_command_that_moves_always_belongs_to_one_skill() {
    let skill = |name: &str, version: &str, commands: &[&str]| {
        let text = SKILL.replace("name: pdf", &format!("name: {name}"));
        let all = commands.iter().map(|command| {
            format!(r#""{command}": {{"type": "script", "unix_path": "scripts/{command}"}}"#)
        });
        let all = all.collect::<Vec<_>>().join(", ");
        let manifest = format!(r#"{{"schema_version": 1, "commands": {{{all}}}}}"#);
        let files = commands
            .iter()
            .map(|command| format!("//- /scripts/{command}\n#!/bin/sh\necho {name} {version}\n"));
        format!("{text}{}//- /csk-skill.json\n{manifest}\n", files.collect::<String>())
    };
    for (obstacle, expected, a, b) in
        [("", "b v2\n", "v2", "v2"), ("na", "a v1\n", "v1", "v1"), ("nb", "", "v2", "v1")]
    {
        let world = World::bare();
        for (name, first, second) in
            [("a", &["mv1"][..], &["na"][..]), ("b", &["ob"], &["ob", "mv1", "nb"])]
        {
            let repo = world.repo(name, &skill(name, "v1", first));
            repo.git("tag v1");
            repo.commit(&skill(name, "v2", second));
            repo.git("tag v2");
        }
        let declared = |tag: &str| {
            format!(r#"{{"name": "a", "tag": "{tag}"}}, {{"name": "b", "tag": "{tag}"}}"#)
        };
        world.skillfile(&declared("v1"));
        world.install();
        if !obstacle.is_empty() {
            world.program(&format!("app/.agents/bin/{obstacle}"), "mine");
        }
        world.skillfile(&declared("v2"));
        let run = world.csk("install app");
        assert_eq!(run.code, Some(i32::from(!obstacle.is_empty())), "{}{}", run.stdout, run.stderr);
        let ran = world.env.run_args("sh", &["-c", "app/.agents/bin/mv1 2> /dev/null"]).stdout;
        assert_eq!(ran, expected, "{obstacle}: {}", run.stderr);
        for (name, tag) in [("a", a), ("b", b)] {
            let marker = world.read(world.installed(&format!("{name}/.csk-install.json")));
            assert!(
                marker.contains(&format!("\"ref\": \"{tag}\"")),
                "{obstacle}: {name}: {marker}"
            );
        }
        if !obstacle.is_empty() {
            fs::remove_file(world.app(&format!(".agents/bin/{obstacle}"))).unwrap();
            world.install();
            assert_eq!(world.env.run("app/.agents/bin/mv1", "").stdout, "b v2\n");
        }
        assert_eq!(world.csk("verify app").code, Some(0), "{obstacle}");
    }
}

/// Skills that exchange commands, or pass them on in a chain, change together: after a failure, every command still
/// belongs to its old skill.
#[test]
fn skills_that_exchange_commands_change_together() {
    let skill = |name: &str, version: &str, command: &str| {
        let text = SKILL.replace("name: pdf", &format!("name: {name}"));
        let manifest = format!(
            r#"{{"schema_version": 1, "commands": {{"{command}": {{"type": "script", "unix_path": "scripts/{command}"}}}}}}"#
        );
        format!(
            "{text}//- /scripts/{command}\n#!/bin/sh\necho {name} {version}\n//- /csk-skill.json\n{manifest}\n"
        )
    };
    let shapes: [&[(&str, &str, &str)]; 2] = [
        &[("one", "one-run", "two-run"), ("two", "two-run", "one-run")],
        &[("a", "a-run", "b-run"), ("b", "b-run", "c-run"), ("c", "c-run", "new-run")],
    ];
    for shape in shapes {
        let world = World::bare();
        if !world.env.has_faults() {
            return testkit::skip(
                "skills_that_exchange_commands_change_together",
                "there is no `strace` to make calls fail with",
            );
        }
        let declared = |tag: &str| {
            let all =
                shape.iter().map(|(name, ..)| format!(r#"{{"name": "{name}", "tag": "{tag}"}}"#));
            all.collect::<Vec<_>>().join(",")
        };
        for (name, first, second) in shape {
            let repo = world.repo(name, &skill(name, "v1", first));
            repo.git("tag v1");
            repo.commit(&skill(name, "v2", second));
            repo.git("tag v2");
        }
        world.skillfile(&declared("v1"));
        world.install();
        world.skillfile(&declared("v2"));
        let check = |at: &str| {
            let tag = |name: &str| {
                let marker = world.read(world.installed(&format!("{name}/.csk-install.json")));
                if marker.contains("\"ref\": \"v2\"") { "v2" } else { "v1" }
            };
            for (name, first, second) in shape {
                let version = tag(name);
                let command = if version == "v1" { first } else { second };
                for folder in ["app/.agents/bin", "../home/.cocoaskills/commands/*"] {
                    let ran = world.env.run_args("sh", &["-c", &format!("{folder}/{command}")]);
                    assert_eq!(ran.stdout, format!("{name} {version}\n"), "{at}: {command}");
                }
            }
            shape.iter().all(|(name, ..)| tag(name) == "v2")
        };
        let install = [env!("CARGO_BIN_EXE_csk"), "install", "app"];
        let failures = world.env.at_each_change(Fault::Deny, &install, |at, run| {
            check(&format!("{at}: {}", run.stderr));
            world.install();
            assert!(check(at), "{at}");
        });
        assert!(failures > 20, "only {failures} calls failed");
    }
}

/// An error of one skill also fails the chain of skills that would take over its commands, with the actual reason.
#[test]
fn a_command_store_that_cannot_be_written_is_reported() {
    let world = upgraded(&["one"]);
    let store = world.home().join(".cocoaskills/runtime/one");
    fs::remove_dir_all(&store).unwrap();
    fs::write(&store, "a file").unwrap();
    // The other skill declares the command that the first one gives up.
    let text = with_command("two").replace("\"two-run\"", "\"one-run\"");
    world.repo("two", &text).git("tag v1");
    world.commit("one", "//- /csk-skill.json\n{\"schema_version\": 2, \"runtime_roots\": [\"scripts\"], \"commands\": {\"other\": {\"type\": \"script\", \"unix_path\": \"scripts/run\"}}}\n");
    world.git("skills/one", "tag v3");
    world.skillfile(r#"{"name": "one", "tag": "v3"}, {"name": "two", "tag": "v1"}"#);
    let run = world.csk("install app");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(!run.stderr.contains("collision"), "{}", run.stderr);
    assert!(run.stderr.contains("runtime/one"), "{}", run.stderr);
    assert!(run.stderr.contains("still belongs to `one`"), "{}", run.stderr);
}
