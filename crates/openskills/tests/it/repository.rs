//! The repository that a skill is written in is no part of the skill: nothing of it is listed, read, approved or seen by a run.

use std::fs;
use std::os::unix::fs::symlink;

use testkit::{Run, TestEnv};

use crate::openskills;

const SKILL: &str = "\
//- /s/pdf/SKILL.md
---
name: pdf
description: d
---
Body.
//- /s/pdf/scripts/look.sh
cd \"$(dirname \"$0\")/..\"; ls -a; cat .git/config .GIT/config 2>&1; echo done
//- /s/pdf/.git/HEAD
ref: refs/heads/main
//- /s/pdf/.git/objects/info/packs
//- /s/pdf/.git/refs/heads/main
x
//- /s/pdf/.git/config
url = https://user:canary@example.com/pdf.git
//- /s/pdf/.git/hooks/pre-commit.sample
exit 0
//- /s/pdf/vendor/.git/config
deeper
";

fn approved() -> TestEnv {
    let env = TestEnv::with(SKILL);
    let run = openskills(&env, "approve pdf --dir s --yes");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    env
}

fn run(env: &TestEnv) -> Run {
    openskills(env, "run pdf scripts/look.sh --dir s")
}

#[test]
fn the_repository_of_a_skill_is_hidden_from_the_model() {
    let env = TestEnv::with(SKILL);
    for arguments in
        ["activate pdf --dir s", "files pdf --dir s", "show s/pdf", "show s/pdf --json"]
    {
        let run = openskills(&env, arguments);
        assert_eq!(run.code, Some(0), "{arguments}: {}", run.stderr);
        assert!(!run.stdout.contains(".git/hooks"), "{arguments}: {}", run.stdout);
        assert!(!run.stdout.contains("canary"), "{arguments}: {}", run.stdout);
    }
    assert!(openskills(&env, "files pdf --dir s").stdout.contains("vendor/.git/config"));
    symlink(".git/config", env.path("s/pdf/link")).unwrap();
    symlink(".git", env.path("s/pdf/folder")).unwrap();
    for path in [".git/config", "./.git/config", "link", "folder/config"] {
        let run = openskills(&env, &format!("read pdf {path} --dir s --nested"));
        assert_ne!(run.code, Some(0), "{path}");
        assert!(!format!("{}{}", run.stdout, run.stderr).contains("canary"), "{path}");
    }
    let refused = openskills(&env, "read pdf .git/config --dir s");
    assert!(refused.stderr.contains("is not part of the skill"), "{}", refused.stderr);
}

#[test]
fn repository_changes_need_no_approval_and_are_hidden_from_runs() {
    let env = approved();
    let first = run(&env);
    assert_eq!(first.code, Some(0), "{}{}", first.stdout, first.stderr);
    assert!(first.stdout.contains("SKILL.md") && first.stdout.contains("done"), "{}", first.stdout);
    let lines: Vec<&str> = first.stdout.lines().collect();
    assert!(!lines.contains(&".git") && !first.stdout.contains("canary"), "{}", first.stdout);
    env.write("s/pdf/.git/FETCH_HEAD", b"new");
    env.write("s/pdf/.git/config", b"canary");
    let again = run(&env);
    assert!(again.code == Some(0) && !again.stdout.contains("canary"), "{}", again.stderr);
    fs::remove_dir_all(env.path("s/pdf/.git")).unwrap();
    symlink(env.path("s"), env.path("s/pdf/.git")).unwrap();
    let linked = run(&env);
    assert_eq!(linked.code, Some(0), "{}", linked.stderr);
    assert!(!linked.stdout.lines().any(|line| line == ".git"), "{}", linked.stdout);
}

/// Nothing can be hidden: everything that a run could see is covered by the approval, or the skill has none.
#[test]
fn files_that_only_resemble_the_repository_need_approval() {
    for (path, text) in [("vendor/.git/config", "other"), (".GIT/config", "new"), (".gitx", "new")]
    {
        let env = approved();
        env.write(&format!("s/pdf/{path}"), text.as_bytes());
        let run = run(&env);
        assert_eq!(run.code, Some(125), "{path}: {}{}", run.stdout, run.stderr);
    }
    for (name, target) in [("link", ".git/config"), ("folder", ".git"), ("scripts/up", "../.git")] {
        let env = approved();
        symlink(target, env.path("s/pdf").join(name)).unwrap();
        let run = run(&env);
        assert_eq!(run.code, Some(125), "{name}: {}{}", run.stdout, run.stderr);
        let approve = openskills(&env, "approve pdf --dir s --yes");
        assert_ne!(approve.code, Some(0), "{name}: {}", approve.stdout);
    }
    // The instructions themselves do not come from there either.
    let env = approved();
    env.write("s/pdf/.git/SKILL.md", b"---\nname: pdf\ndescription: canary\n---\ncanary\n");
    fs::remove_file(env.path("s/pdf/SKILL.md")).unwrap();
    symlink(".git/SKILL.md", env.path("s/pdf/SKILL.md")).unwrap();
    for arguments in ["activate pdf --dir s", "prompt --dir s", "validate s/pdf"] {
        let run = openskills(&env, arguments);
        assert!(!run.stdout.contains("canary"), "{arguments}: {}", run.stdout);
    }
}
