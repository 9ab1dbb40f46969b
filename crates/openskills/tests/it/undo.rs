//! What a run committed is taken back, and an active skill is ended.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::{Run, TestEnv};

use crate::openskills;

const SKILLS: &str = "\
//- /s/many/SKILL.md
---
name: many
description: d
---
Body.
//- /s/tight/SKILL.md
---
name: tight
description: d
tools:
  deny: [Write]
---
Body.
//- /s/many/scripts/change.sh
echo new > old.txt; echo made > made.txt; mkdir -p sub/deep; echo x > sub/deep/file; ln -s made.txt link
rm -r gone; chmod +x mode.sh
//- /s/many/scripts/more.sh
echo more > more.txt
//- /w/old.txt
old
//- /w/gone/a
a
//- /w/gone/b/c
c
//- /w/mode.sh
x
";

fn run(env: &TestEnv, script: &str) -> Run {
    let call = format!("run many {script} --dir s --approve-once --workspace w --deletions");
    openskills(env, &call)
}

/// Returns every path of the workspace with its permissions and what it holds.
fn listed(env: &TestEnv) -> String {
    let list = "find . -mindepth 1 -printf '%p %y %m %l\\n' | sort; find . -type f | sort | xargs -r sha256sum";
    env.run_args("sh", &["-c", &format!("cd w && ({list})")]).stdout
}

#[test]
fn what_a_run_committed_is_taken_back() {
    let env = TestEnv::with(SKILLS);
    fs::set_permissions(env.path("w/gone/b"), fs::Permissions::from_mode(0o750)).unwrap();
    let before = listed(&env);
    let nothing = openskills(&env, "undo --workspace w");
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("no run has committed anything to"), "{}", nothing.stderr);
    let done = run(&env, "change.sh");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("`openskills undo --workspace w` takes back"), "{}", done.stderr);
    let after = listed(&env);
    assert_ne!(before, after);
    let dry = openskills(&env, "undo --workspace w --dry-run");
    assert!(dry.stderr.contains("would take back") || dry.stdout.contains("would take back"));
    assert_eq!(listed(&env), after);
    let undone = openskills(&env, "undo --workspace w --json");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    let told: Value = serde_json::from_str(&undone.stdout).unwrap();
    let done = |path: &str| {
        let paths = told["paths"].as_array().unwrap();
        let one = paths.iter().find(|one| one["path"] == path).unwrap();
        one["done"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        [done("made.txt"), done("gone/a"), done("old.txt")],
        ["removed", "restored", "reverted"]
    );
    assert_eq!(listed(&env), before);
    assert!(openskills(&env, "log show --json").stdout.contains("skill.undone"));
    // Once is enough.
    assert_eq!(openskills(&env, "undo --workspace w").code, Some(2));
    let state = env.path("../home/.local/state/openskills/undo");
    assert_eq!(fs::read_dir(state).unwrap().count(), 0);
}

#[test]
fn what_somebody_changed_since_is_not_taken_back() {
    let env = TestEnv::with(SKILLS);
    run(&env, "change.sh");
    env.write("w/sub/deep/file", b"mine");
    let after = listed(&env);
    let refused = openskills(&env, "undo --workspace w");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("sub/deep/file has been changed since"), "{}", refused.stderr);
    assert_eq!(listed(&env), after);
    // Back as the run left it; something else in a folder of its keeps the folder.
    env.write("w/sub/deep/file", b"x\n");
    env.write("w/sub/deep/mine", b"mine");
    let undone = openskills(&env, "undo --workspace w");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(undone.stderr.contains("sub/deep stays"), "{}", undone.stderr);
    assert!(env.path("w/sub/deep/mine").exists() && !env.path("w/sub/deep/file").exists());
    // A folder that became a link leads nowhere.
    run(&env, "change.sh");
    let moved = "mv w/sub elsewhere && ln -s ../elsewhere w/sub";
    assert_eq!(env.run_args("sh", &["-c", moved]).code, Some(0));
    assert_eq!(openskills(&env, "undo --workspace w").code, Some(1));
    assert!(env.path("elsewhere/deep/file").exists());
}

#[test]
fn only_the_last_commit_is_taken_back() {
    let env = TestEnv::with(SKILLS);
    run(&env, "change.sh");
    run(&env, "more.sh");
    assert_eq!(openskills(&env, "undo --workspace w").code, Some(0));
    assert!(env.path("w/made.txt").exists() && !env.path("w/more.txt").exists());
    // A run that commits nothing leaves what was kept alone.
    run(&env, "more.sh");
    openskills(&env, "run many more.sh --dir s --approve-once --workspace w --dry-run");
    assert_eq!(openskills(&env, "undo --workspace w").code, Some(0));
}

#[test]
fn an_edited_skill_is_activated_again_and_an_active_one_is_ended() {
    let env = TestEnv::with(SKILLS);
    let write = |env: &TestEnv| {
        openskills(env, r#"check-tool --tool Write --input {"file_path":"a"} --session 7 --dir s"#)
    };
    let activate = "activate tight --session 7 --dir s";
    assert_eq!(openskills(&env, activate).code, Some(0));
    env.write("s/tight/SKILL.md", b"---\nname: tight\ndescription: d\n---\nOther.\n");
    let bricked = write(&env);
    assert!(
        bricked.stdout.contains("openskills deactivate s/tight")
            || bricked.stderr.contains("openskills deactivate s/tight"),
        "{}{}",
        bricked.stdout,
        bricked.stderr
    );
    // What it is now holds, and not what it was.
    assert_eq!(openskills(&env, activate).code, Some(0));
    assert!(!write(&env).stdout.contains("gone or changed"), "{}", write(&env).stdout);
    // A reader that goes away does not leave the session without any.
    env.write("s/tight/SKILL.md", b"---\nname: tight\ndescription: d\n---\nThird.\n");
    let program = env!("CARGO_BIN_EXE_openskills");
    env.run_args("bash", &["-c", &format!("{program} {activate} > /dev/full")]);
    let ended = openskills(&env, "deactivate tight --session 7");
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    let ended = openskills(&env, "deactivate tight --session 7 --yes");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(openskills(&env, "log show --json").stdout.contains("skill.deactivated"));
    let again = openskills(&env, "deactivate tight --session 7 --yes");
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("no skill is active in this session"), "{}", again.stderr);
}
