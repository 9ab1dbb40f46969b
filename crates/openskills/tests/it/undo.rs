//! `undo` reverts what a run applied, and `deactivate` ends an active skill.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::{Fault, Run, TestEnv, skip};

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
//- /s/many/scripts/delete.sh
rm old.txt
//- /s/many/scripts/protected.sh
echo x > .envrc
//- /s/many/scripts/empty.sh
: > big
//- /s/many/scripts/kinds.sh
rm l1; echo file > l1; rm f1; ln -s old.txt f1; rm l2; mkdir l2; echo in > l2/in; rm -r gone; ln -s old.txt gone
chmod 700 closed; mkdir -m 750 own; echo x > own/x
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
fn undo_reverts_the_applied_changes_of_a_run() {
    let env = TestEnv::with(SKILLS);
    fs::set_permissions(env.path("w/gone/b"), fs::Permissions::from_mode(0o750)).unwrap();
    let before = listed(&env);
    let nothing = openskills(&env, "undo --workspace w");
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("nothing to undo in"), "{}", nothing.stderr);
    let done = run(&env, "change.sh");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("to revert them, run `openskills undo --workspace w`"),
        "{}",
        done.stderr
    );
    let after = listed(&env);
    assert_ne!(before, after);
    let dry = openskills(&env, "undo --workspace w --dry-run");
    assert!(dry.stderr.contains("would revert") || dry.stdout.contains("would revert"));
    assert_eq!(listed(&env), after);
    let undone = openskills(&env, "undo --workspace w --json");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    let json: Value = serde_json::from_str(&undone.stdout).unwrap();
    let done = |path: &str| {
        let paths = json["paths"].as_array().unwrap();
        let one = paths.iter().find(|one| one["path"] == path).unwrap();
        one["action"].as_str().unwrap().to_owned()
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
fn undo_refuses_to_revert_files_that_were_changed_since() {
    let env = TestEnv::with(SKILLS);
    run(&env, "change.sh");
    env.write("w/sub/deep/file", b"mine");
    let after = listed(&env);
    let refused = openskills(&env, "undo --workspace w");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("sub/deep/file` has been changed since"), "{}", refused.stderr);
    assert_eq!(listed(&env), after);
    // Back as the run left it; something else in a folder of its keeps the folder.
    env.write("w/sub/deep/file", b"x\n");
    env.write("w/sub/deep/mine", b"mine");
    let undone = openskills(&env, "undo --workspace w");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(undone.stderr.contains("kept sub/deep: not empty"), "{}", undone.stderr);
    assert!(env.path("w/sub/deep/mine").exists() && !env.path("w/sub/deep/file").exists());
    // A folder that became a link leads nowhere.
    run(&env, "change.sh");
    let moved = "mv w/sub elsewhere && ln -s ../elsewhere w/sub";
    assert_eq!(env.run_args("sh", &["-c", moved]).code, Some(0));
    assert_eq!(openskills(&env, "undo --workspace w").code, Some(1));
    assert!(env.path("elsewhere/deep/file").exists());
}

#[test]
fn undo_reverts_only_the_last_applied_run() {
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
fn a_run_that_applies_nothing_keeps_the_previous_undo() {
    for script in ["delete.sh", "protected.sh"] {
        let env = TestEnv::with(SKILLS);
        let before = listed(&env);
        assert_eq!(run(&env, "change.sh").code, Some(0));
        let call = format!("run many {script} --dir s --approve-once --workspace w");
        let failed = openskills(&env, &call);
        assert_eq!(failed.code, Some(125), "{script}: {}", failed.stderr);
        let undone = openskills(&env, "undo --workspace w");
        assert_eq!(undone.code, Some(0), "{script}: {}", undone.stderr);
        assert_eq!(listed(&env), before, "{script}");
    }
}

#[test]
fn a_dry_run_of_undo_makes_the_same_checks_as_a_real_one() {
    let env = TestEnv::with(SKILLS);
    run(&env, "change.sh");
    env.write("w/old.txt", b"mine");
    let [dry, real] =
        ["undo --workspace w --dry-run", "undo --workspace w"].map(|call| openskills(&env, call));
    assert_eq!((dry.code, &dry.stderr), (real.code, &real.stderr));
    assert!(dry.code == Some(1) && !dry.stdout.contains("would revert"), "{}", dry.stdout);
    // What would stay is known beforehand; what is not kept any more is found.
    env.write("w/old.txt", b"new\n");
    env.write("w/sub/mine", b"mine");
    let dry = openskills(&env, "undo --workspace w --dry-run");
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    assert!(dry.stderr.contains("kept sub: not empty"), "{}", dry.stderr);
    let state = env.path("../home/.local/state/openskills/undo");
    let spoil = format!("echo other | tee {}/*/old-* > spoiled", state.display());
    assert_eq!(env.run_args("sh", &["-c", &spoil]).code, Some(0));
    for call in ["undo --workspace w --dry-run", "undo --workspace w"] {
        let lost = openskills(&env, call);
        assert_eq!(lost.code, Some(1), "{}", lost.stderr);
        assert!(lost.stderr.contains("the saved original of"), "{}", lost.stderr);
    }
}

#[test]
fn run_and_undo_report_changes_that_are_too_large_to_undo() {
    let env = TestEnv::with(SKILLS);
    assert_eq!(run(&env, "more.sh").code, Some(0));
    let grow = || fs::File::create(env.path("w/big")).unwrap().set_len(65 << 20).unwrap();
    grow();
    let done = run(&env, "empty.sh");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let why = "it replaced more than 64 MiB of files";
    assert!(done.stderr.contains(&format!("this run cannot be undone: {why}")), "{}", done.stderr);
    let refused = openskills(&env, "undo --workspace w");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains(why) && !refused.stderr.contains("hint"), "{}", refused.stderr);
    assert!(env.path("w/more.txt").exists(), "the run before it is not undone");
    grow();
    let call = "run many empty.sh --dir s --approve-once --workspace w --json";
    let json: Value = serde_json::from_str(&openskills(&env, call).stdout).unwrap();
    assert_eq!(
        (&json["canUndo"], &json["cannotUndo"]),
        (&Value::from(false), &Value::from(why)),
        "{json}"
    );
    // The next one that is kept can be.
    assert_eq!(run(&env, "change.sh").code, Some(0));
    assert_eq!(openskills(&env, "undo --workspace w").code, Some(0));
}

#[test]
fn undo_is_refused_after_direct_writes() {
    let env = TestEnv::with(SKILLS);
    assert_eq!(run(&env, "change.sh").code, Some(0));
    let call = "run many more.sh --dir s --approve-once --workspace w --direct-writes --deletions";
    let direct = openskills(&env, call);
    assert_eq!(direct.code, Some(0), "{}", direct.stderr);
    assert!(direct.stderr.contains("this run cannot be undone: it wrote"), "{}", direct.stderr);
    let after = listed(&env);
    for call in ["undo --workspace w", "undo --workspace w --dry-run"] {
        let refused = openskills(&env, call);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        let why = "it wrote to the workspace directly";
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    assert_eq!(listed(&env), after);
    // A run that is refused before it starts changes nothing of that.
    assert_eq!(run(&env, "empty.sh").code, Some(0), "it applies changes again");
    let call = "run many more.sh --dir s --approve-once --workspace w --direct-writes";
    assert_eq!(openskills(&env, call).code, Some(125));
    assert_eq!(openskills(&env, "undo --workspace w").code, Some(0));
    assert_eq!(listed(&env), after);
}

/// Nothing tells a deletion from a write where a script writes directly, so the one is not granted without the other.
#[test]
fn direct_writes_without_deletions_are_refused() {
    let env = TestEnv::with(SKILLS);
    let call = "run many delete.sh --dir s --approve-once --workspace w --direct-writes";
    let refused = openskills(&env, call);
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("direct writes cannot be allowed without deletions"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--direct-writes --deletions"), "{}", refused.stderr);
    assert!(env.path("w/old.txt").exists());
    let approve = openskills(&env, "approve many --dir s --direct-writes --yes");
    assert_eq!(approve.code, Some(4), "{}", approve.stderr);
    let both = openskills(&env, &format!("{call} --deletions --json"));
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    let json: Value = serde_json::from_str(&both.stdout).unwrap();
    let granted = json["record"]["permissions_granted"].to_string();
    assert!(
        granted.contains("workspace, directly") && granted.contains("write: deletions"),
        "{granted}"
    );
    assert!(!env.path("w/old.txt").exists());
}

#[test]
fn file_kinds_and_folder_modes_are_applied_and_reverted() {
    let env = TestEnv::with(SKILLS);
    let made = "cd w && ln -s old.txt l1 && ln -s gone l2 && echo f > f1 && mkdir -m 755 closed && echo x > closed/x";
    assert_eq!(env.run_args("sh", &["-c", made]).code, Some(0));
    let before = listed(&env);
    let refused = openskills(&env, "run many kinds.sh --dir s --approve-once --workspace w");
    assert_eq!(refused.code, Some(125));
    assert!(refused.stderr.contains("which was not approved"), "{}", refused.stderr);
    let done = run(&env, "kinds.sh");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("mode closed (755 -> 700)"), "{}", done.stderr);
    let after = listed(&env);
    for line in ["./closed d 700 ", "./own d 750 ", "./l1 f ", "./f1 l 777 old.txt", "./gone l "] {
        assert!(after.contains(line), "{line}: {after}");
    }
    let undone = openskills(&env, "undo --workspace w");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(listed(&env), before);
}

#[test]
fn apply_and_undo_keep_file_owners() {
    let env = TestEnv::with(SKILLS);
    let owners =
        || env.run_args("sh", &["-c", "cd w && find . -printf '%p %U %G\n' | sort"]).stdout;
    if env.run_args("sh", &["-c", "chown -R 1234:2345 w/old.txt w/gone w/mode.sh"]).code != Some(0)
    {
        return skip("apply_and_undo_keep_file_owners", "only root gives files away");
    }
    let before = owners();
    assert_eq!(run(&env, "change.sh").code, Some(0));
    assert!(owners().contains("./old.txt 1234 2345"), "{}", owners());
    assert_eq!(openskills(&env, "undo --workspace w").code, Some(0));
    assert_eq!(owners(), before);
}

/// A call that fails anywhere leaves all of it as the run did; a killed one is completed by the next.
#[test]
fn undo_is_all_or_nothing_at_every_failure() {
    const OPENSKILLS: &str = env!("CARGO_BIN_EXE_openskills");
    for fault in [Fault::Deny, Fault::Kill] {
        let env = TestEnv::with(SKILLS);
        if !env.has_faults() {
            return skip("undo_is_all_or_nothing_at_every_failure", "`strace` is not there");
        }
        let made =
            "cd w && ln -s old.txt l1 && ln -s gone l2 && echo f > f1 && mkdir -m 755 closed";
        assert_eq!(env.run_args("sh", &["-c", made]).code, Some(0));
        let before = listed(&env);
        assert_eq!(run(&env, "kinds.sh").code, Some(0));
        let after = listed(&env);
        let call = [OPENSKILLS, "undo", "--workspace", "w"];
        let mut codes = std::collections::BTreeSet::new();
        let faults = env.at_each_change(fault, &call, |at, done| {
            // The staging folder may stay if it cannot be removed; then a note says so.
            let left = done.stderr.contains(".tmp: not empty");
            let listed = || {
                let all = listed(&env);
                let is_kept = |line: &&str| !(left && line.contains(".openskills-undo-"));
                all.lines().filter(is_kept).map(|line| format!("{line}\n")).collect::<String>()
            };
            let now = listed();
            if fault == Fault::Deny {
                codes.insert(done.code);
                let is_whole = match done.code {
                    Some(0) => now == before,
                    Some(1) => now == after,
                    // The log, or what it prints, could not be written.
                    _ => now == before || now == after,
                };
                assert!(is_whole, "{at}: {:?} {}: {now}", done.code, done.stderr);
            }
            // If everything was undone and only the backup was left, there is nothing more to do.
            let again = openskills(&env, "undo --workspace w");
            let is_over = now == before && again.code == Some(2);
            assert!(again.code == Some(0) || is_over, "{at}: {}", again.stderr);
            assert_eq!(listed(), before, "{at}");
        });
        assert!(faults > 20, "{faults}");
        assert!(fault == Fault::Kill || codes.contains(&Some(1)), "{codes:?}");
    }
}

#[test]
fn an_edited_skill_must_be_activated_again_or_deactivated() {
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
    assert!(!write(&env).stdout.contains("was removed or changed"), "{}", write(&env).stdout);
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
