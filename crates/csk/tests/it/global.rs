//! The global scope: skills and commands installed for the user account.

use std::fs;

use crate::World;

const TOOL: &str = "\
//- /SKILL.md
---
name: NAME
description: d
---
//- /scripts/tool
#!/bin/sh
echo NAME
//- /csk-skill.json
{\"schema_version\": 1, \"commands\": {\"tool\": {\"type\": \"script\", \"unix_path\": \"scripts/tool\"}, \"NAME-only\": {\"type\": \"script\", \"unix_path\": \"scripts/tool\"}}}
";

fn world() -> World {
    let world = World::bare();
    for name in ["mine", "theirs"] {
        world.repo(name, &TOOL.replace("NAME", name)).git("tag v1");
    }
    world
}

#[test]
fn global_skills_are_installed_for_every_agent() {
    let world = world();
    let run = world.csk("global status");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("csk global init"), "{}", run.stderr);
    assert_eq!(world.csk("global init").code, Some(0));
    assert_eq!(world.csk("global add mine --tag v1").code, Some(0));
    assert_eq!(world.csk("global list").stdout, "mine tag v1\n");
    assert_eq!(world.csk("global status --check").code, Some(1));
    let run = world.csk("global install");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let root = world.home().join(".cocoaskills/global");
    assert!(root.join(".agents/skills/mine/SKILL.md").exists());
    for agent in [".claude", ".codex"] {
        let link = world.home().join(agent).join("skills/mine");
        assert_eq!(fs::read_link(&link).unwrap(), root.join(".agents/skills/mine"), "{agent}");
        assert!(link.join("SKILL.md").exists());
    }
    assert!(root.join("env.sh").exists() && root.join("env.ps1").exists());
    assert_eq!(
        world.env.run(&root.join(".agents/bin/tool").display().to_string(), "").stdout,
        "mine\n"
    );
    assert_eq!(world.csk("global status --check").code, Some(0));
    assert!(world.csk("global install").stdout.contains("up-to-date"));
    // Other skills of the user stay.
    let own = world.home().join(".claude/skills/own");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("SKILL.md"), "own").unwrap();
    // gc keeps what the global scope uses, though no project does.
    assert_eq!(world.csk("gc").stdout, "nothing to remove\n");
    assert!(root.join(".agents/bin/tool").exists());
    assert_eq!(world.csk("global remove mine").code, Some(0));
    assert_eq!(world.csk("global install").code, Some(0));
    assert!(fs::symlink_metadata(world.home().join(".claude/skills/mine")).is_err());
    assert!(own.join("SKILL.md").exists());
    assert!(!world.home().join(".cocoaskills/runtime/mine").exists());
}

#[test]
fn project_commands_take_precedence_over_global_ones() {
    let world = world();
    for command in ["global init", "global add mine --tag v1", "global install"] {
        assert_eq!(world.csk(command).code, Some(0), "{command}");
    }
    world.skillfile(r#"{"name": "theirs", "tag": "v1"}"#);
    world.install();
    let csk = env!("CARGO_BIN_EXE_csk");
    let run = |call: &str| world.env.run_args("sh", &["-c", call]).stdout;
    assert_eq!(
        run(&format!("cd app && {csk} exec -- tool && {csk} exec -- mine-only")),
        "theirs\nmine\n"
    );
    let steps = "tool; cd app; _csk_hook; tool; mine-only; cd ..; _csk_hook; tool\n";
    for (shell, option) in [("bash", "--norc"), ("zsh", "-f")] {
        if world.env.run_args("sh", &["-c", &format!("command -v {shell}")]).code != Some(0) {
            testkit::skip("the global scope in a shell", &format!("{shell} is not installed"));
            continue;
        }
        world.env.write(
            "steps",
            format!("set -u\neval \"$({csk} shell-init {shell})\"\n{steps}").as_bytes(),
        );
        let run = world.env.run(shell, &format!("{option} steps"));
        assert_eq!(run.stdout, "mine\ntheirs\nmine\nmine\n", "{shell}: {}", run.stderr);
    }
    let steps =
        format!("{csk} shell-init fish | source\ntool; cd app; tool; mine-only; cd ..; tool\n");
    world.env.write("steps", steps.as_bytes());
    if world.env.run_args("sh", &["-c", "command -v fish"]).code == Some(0) {
        let run = world.env.run("fish", "--no-config steps");
        assert_eq!(run.stdout, "mine\ntheirs\nmine\nmine\n", "{}", run.stderr);
    } else {
        testkit::skip("the global scope in a shell", "fish is not installed");
    }
    // The env file of the global scope also works on its own.
    let env = world.home().join(".cocoaskills/global/env.sh");
    assert_eq!(
        run(&format!(". '{}'; tool; echo ${{CSK_PROJECT_ROOT-none}}", env.display())),
        "mine\nnone\n"
    );
}

#[test]
fn the_global_scope_follows_branches() {
    let world = world();
    for command in ["global init", "global add mine --branch main", "global install"] {
        assert_eq!(world.csk(command).code, Some(0), "{command}");
    }
    world.commit("mine", "//- /references/new.md\nnew\n");
    assert!(world.csk("global status").stdout.contains("update-available"));
    let run = world.csk("global upgrade");
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(
        world.home().join(".cocoaskills/global/.agents/skills/mine/references/new.md").exists()
    );
    assert_eq!(world.csk("global update").stdout, "mine: no remote\ntheirs: no remote\n");
}
