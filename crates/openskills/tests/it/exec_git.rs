//! `openskills exec` in a git repository: daily work is applied, and nothing that makes git run programs later.

use std::fs;

use testkit::{GitRepo, Run, TestEnv};

const PROGRAM: &str = env!("CARGO_BIN_EXE_openskills");

const FILES: &str = "\
//- /README.md
readme
//- /src/app.py
print('hello')
";

fn exec(env: &TestEnv, line: &str) -> Run {
    let mut command = env.command(PROGRAM, &["exec", "--", line]);
    env.output(command.current_dir(env.path("p")))
}

fn machine() -> TestEnv {
    let env = TestEnv::new();
    let config = "[user]\n\tname = Ada\n\temail = ada@example.test\n[core]\n\tsshCommand = evil\n[credential]\n\thelper = store\n";
    fs::write(env.path("../home/.gitconfig"), config).unwrap();
    GitRepo::new(&env, "p", FILES);
    env
}

/// Runs git in the project, outside of the sandbox.
fn git(env: &TestEnv, arguments: &str) -> String {
    let run = env.run("git", &format!("-C p {arguments}"));
    assert_eq!(run.code, Some(0), "git {arguments}: {}", run.stderr);
    run.stdout
}

#[test]
fn daily_work_with_git_is_applied() {
    let env = machine();
    for line in [
        "git status --short && echo change >> README.md && git diff --stat && git add -A && git commit -qm one",
        "git switch -qc feature && echo new > new.txt && git add . && git commit -qm two",
        "echo dirty >> README.md && git stash -q && git status --short && git stash pop -q && git checkout -q -- README.md",
        "git tag v1 && git branch other && git branch -D other",
        "git switch -q main && echo main > main.txt && git add . && git commit -qm three && git merge -q -m merged feature",
        "git rm -q main.txt && git mv new.txt renamed.txt && git commit -qm four",
        "git revert --no-edit HEAD >/dev/null && git reset -q --hard HEAD~1 && git gc -q && git fsck --no-dangling",
        "git log --format=%s | head -1",
        "git rebase -q feature main~0 && git switch -q main",
        "git cherry-pick -x feature >/dev/null 2>&1; git cherry-pick --abort 2>/dev/null; git clean -fdq",
    ] {
        let run = exec(&env, line);
        assert_eq!(run.code, Some(0), "{line}: {}{}", run.stdout, run.stderr);
        assert!(!run.stderr.contains("not applied"), "{line}: {}", run.stderr);
        assert_eq!(git(&env, "status --short"), "", "{line}");
        git(&env, "fsck --no-dangling");
    }
    assert_eq!(git(&env, "log -1 --format=%an%n%ae%n%s"), "Ada\nada@example.test\ntwo\n");
    assert!(git(&env, "tag").contains("v1"));
    assert!(env.path("p/renamed.txt").exists() && !env.path("p/main.txt").exists());
    let settings =
        exec(&env, "git config --list; git config credential.helper || echo none").stdout;
    assert!(!settings.contains("evil") && settings.ends_with("none\n"), "{settings}");
}

/// Writes an index that names a hook.
const INDEX: &str = r"python3 - <<'END'
import hashlib, struct
name = b'.git/hooks/pre-commit'
entry = bytes(40) + bytes(20) + struct.pack('>H', len(name)) + name
entry += bytes(8 - len(entry) % 8)
body = b'DIRC' + struct.pack('>II', 2, 1) + entry
open('.git/index', 'wb').write(body + hashlib.sha1(body).digest())
END
";

#[test]
fn what_makes_git_run_programs_is_not_applied() {
    let env = machine();
    let before = fs::read(env.path("p/.git/config")).unwrap();
    for (line, named) in [
        ("git config core.fsmonitor ./evil", ".git/config"),
        ("git config alias.st '!evil'; git remote add origin ext::evil", ".git/config"),
        (
            "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
            ".git/hooks/pre-commit",
        ),
        ("mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes", ".git/info/attributes"),
        ("echo /other > .git/objects/info/alternates", ".git/objects/info/alternates"),
        ("mkdir -p .git/modules/x && echo x > .git/modules/x/config", ".git/modules"),
        ("git worktree add -q ../w 2>/dev/null || mkdir -p .git/worktrees/w", ".git/worktrees"),
        (
            "mkdir -p .git/rebase-merge && echo 'exec ./evil' > .git/rebase-merge/git-rebase-todo",
            ".git/rebase-merge/git-rebase-todo",
        ),
        ("ln -sf ../evil .git/refs/heads/link", ".git/refs/heads/link"),
        ("rm -rf .git", ".git"),
        ("mv .git git && mkdir .git && cp -r git/* .git", "git/HEAD"),
        ("echo 'gitdir: /tmp/x' > x && rm -rf .git && mv x .git", ".git"),
        ("touch .git/index.lock", ".git/index.lock"),
        ("echo evil > .git/config.worktree; echo ref > .git/commondir", ".git/commondir"),
        (
            "mkdir -p .git/rr-cache/x && echo x > .git/rr-cache/x/postimage; echo x > .git/MERGE_RR",
            ".git/MERGE_RR",
        ),
        (
            "mkdir -p .git/sequencer && printf '[options]\n\tstrategy = x/evil\n' > .git/sequencer/opts",
            ".git/sequencer/opts",
        ),
        (
            "mkdir -p .git/rebase-apply && echo \"'--build-fake-ancestor=/tmp/x'\" > .git/rebase-apply/apply-opt",
            ".git/rebase-apply/apply-opt",
        ),
        ("echo x > .git/objects/info/Alternates", ".git/objects/info/Alternates"),
        (INDEX, ".git/index"),
        ("git init -q nested", "nested/.git"),
        ("echo '* filter=x' > .gitattributes", ".gitattributes"),
    ] {
        let run = exec(&env, line);
        assert!(run.stderr.contains("not applied to the project: "), "{line}: {}", run.stderr);
        assert!(run.stderr.contains(named), "{line}: {}", run.stderr);
        assert_eq!(fs::read(env.path("p/.git/config")).unwrap(), before, "{line}");
        git(&env, "fsck --no-dangling");
        assert_eq!(git(&env, "log --oneline").lines().count(), 1, "{line}");
    }
    for name in [
        "hooks/pre-commit",
        "info/attributes",
        "objects/info/alternates",
        "modules",
        "worktrees",
        "rebase-merge/git-rebase-todo",
        "refs/heads/link",
        "index.lock",
        "config.worktree",
        "commondir",
        "rr-cache/x/postimage",
        "sequencer/opts",
        "rebase-apply/apply-opt",
        "../nested/.git",
        "../.gitattributes",
    ] {
        assert!(fs::symlink_metadata(env.path("p/.git").join(name)).is_err(), "{name}");
    }
}

#[test]
fn the_projects_own_hooks_run_in_the_sandbox() {
    let env = machine();
    let hook = env.path("p/.git/hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\necho hook ran >&2\nls ~/.gitconfig\n").unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&hook).status().unwrap();
    let run = exec(&env, "git commit --allow-empty -qm x");
    assert!(run.stderr.contains("hook ran"), "{}", run.stderr);
    assert!(run.stderr.contains("cannot access"), "the user's files are not there: {}", run.stderr);
}
