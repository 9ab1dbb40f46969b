//! Runs command lines that a tool list allows in a real bash: they must start nothing but the listed programs.

#[path = "../../../../fuzz/real_bash.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz target's file")]
mod real_bash;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use openskills_runtime::policy::{CallContext, Decision, Launchers, ToolCall, ToolLists, decide};
use real_bash::RealBash;
use serde_json::json;
use skill::AllowedTools;
use skill::capabilities::ToolLimits;
use skill::programs::{Arity, ProgramKind, Usage};

use crate::World;

/// Building blocks of random lines: what a list with `git` allows, and everything that could make a shell do more.
const PIECES: &[&str] = &[
    "git",
    "git",
    "git",
    "evil",
    "rm",
    "sh",
    "timeout",
    "nice",
    "nohup",
    "env",
    "xargs",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\t",
    ";",
    "&&",
    "||",
    "|",
    "|&",
    "&",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "$X",
    "${X}",
    "${X:-evil}",
    "{",
    "}",
    ",",
    "<",
    ">",
    ">>",
    "<(",
    "2>&1",
    "2>/dev/null",
    "out",
    "=",
    "LANG=C",
    "X=1",
    "#",
    "!",
    "*",
    "?",
    "[",
    "]",
    "(",
    "~",
    "-",
    "--",
    "-n",
    "5",
    "log",
    "status",
    "$",
    "é",
    "\u{a0}",
    "\r",
    "eval",
    "command",
    "exec",
    ".",
    "time",
    "-p",
];

/// A deterministic random number generator, so that failures are reproducible.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }
}

#[test]
fn allowed_lines_start_nothing_else_in_a_real_bash() {
    let world = World::new("");
    let Some(bash) = RealBash::new(&world.path("bash")) else {
        testkit::skip("rules in a real bash", "`bash` is not installed");
        return;
    };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut tried = 0;
    for _ in 0..60_000 {
        let length = 1 + random.next(9);
        let line: String = (0..length).map(|_| PIECES[random.next(PIECES.len())]).collect();
        tried += usize::from(bash.check(&line));
    }
    assert!(tried > 100, "only {tried} lines were run");
}

fn judged(rules: &str, line: &str, work: &Path) -> Decision {
    let limits = ToolLimits::allowing(&AllowedTools::from_text(rules));
    let around = CallContext::new(work, work, None, |path| fs::canonicalize(path).ok());
    let real = |path: &Path| {
        path.ancestors().find_map(|folder| {
            let real = fs::canonicalize(folder).ok()?;
            Some(real.join(path.strip_prefix(folder).ok()?))
        })
    };
    let found = |path: &Path| fs::canonicalize(path).ok();
    let call = ToolCall::from_json("Bash", &json!({ "command": line }), &around, real, found);
    decide(&call, &limits, ToolLists::Allowlist, Launchers::Ask, &around).decision
}

fn run(line: &str, work: &Path) {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", line]).current_dir(work).env_clear();
    bash.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", work.join("home"));
    bash.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_AUTHOR_NAME", "a").env("GIT_COMMITTER_NAME", "a");
    bash.env("GIT_AUTHOR_EMAIL", "a@a.test").env("GIT_COMMITTER_EMAIL", "a@a.test");
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
}

/// Each of these attacks creates a file `PWNED`, which the test verifies; a rule for the program alone must not allow
/// it.
#[test]
fn working_attacks_are_not_allowed() {
    if Command::new("git").arg("--version").output().is_err() {
        testkit::skip("attacks with git", "`git` is not installed");
        return;
    }
    let attacks = [
        ("Bash(git:*)", "git rebase -m -x 'touch PWNED' HEAD~1"),
        ("Bash(git:*)", "git log --pretty --output=PWNED"),
        ("Bash(git:*)", "git diff --output=PWNED HEAD~1"),
        ("Bash(git:*)", "git -c alias.x='!touch PWNED' x"),
        ("Bash(git:*)", "git push --repo=./evil.git --all"),
        ("Bash(git:*)", "git push ./evil.git HEAD:refs/heads/y"),
        ("Bash(git:*)", "git bisect start HEAD HEAD~1 && git bisect run touch PWNED"),
        ("Bash(git:*)", "git fetch --upload-pack='touch PWNED; git-upload-pack' ./evil.git"),
        ("Bash(git:*)", "git grep -O'touch PWNED #' one"),
        ("Bash(git:*)", "git archive --output=PWNED HEAD"),
        ("Bash(find:*)", "find . -maxdepth 0 -exec touch PWNED ';'"),
        ("Bash(find:*)", "find . -maxdepth 0 -fprint PWNED"),
        ("Bash(sort:*)", "sort -ro PWNED a.txt"),
        ("Bash(uniq:*)", "uniq a.txt PWNED"),
        ("Bash(sed:*)", "sed -l 5 '1e touch PWNED' a.txt"),
        ("Bash(sed:*)", "sed -n 's/one/x/w PWNED' a.txt"),
        ("Bash(tar:*)", "tar cf x.tar --checkpoint=1 --checkpoint-action=exec='touch PWNED' a.txt"),
        ("Bash(tar:*)", "tar cIf 'sh -c \"touch PWNED\"' x.tar a.txt"),
        ("Bash(awk:*)", "awk 'BEGIN { print 1 > \"PWNED\" }'"),
        ("Bash(env:*)", "env touch PWNED"),
        ("Bash(xargs:*)", "xargs touch PWNED"),
        ("Bash(bash:*)", "bash -c 'touch PWNED'"),
        ("Bash(printf:*)", "printf -v 'a[$(touch PWNED)]' x"),
        ("Bash(test:*)", "test -v 'a[$(touch PWNED)]'"),
        ("Bash(cp:*) Bash(git:*)", "cp -r seed/.git . && git status"),
        ("Bash(git:*)", "git mv -f cfg .git/config; git status"),
        ("Bash(test:*)", "test -v v*"),
        ("Bash(tar:*)", "tar xf up.tar -C full"),
        ("Bash(echo:*) Bash(tee:*) Write", "echo x | tee src/l*"),
        ("Bash(uniq:*) Write", "uniq u/*"),
        ("Bash(cd:*) Bash(./build.sh)", "cd sub && ./build.sh"),
        ("Bash(echo:*) Write Bash(git:*)", "echo '[alias] x = !touch PWNED' >> .git/config; git x"),
    ];
    for (rules, line) in attacks {
        let world = World::new("");
        let work = world.path("attacked");
        fs::create_dir_all(work.join("home")).unwrap();
        run(
            "git init -q . && echo one > a.txt && git add a.txt && git commit -qm one && echo two >> a.txt && git commit -qam two \
             && git init -q --bare evil.git && printf '#!/bin/sh\ntouch ../PWNED\n' > evil.git/hooks/pre-receive \
             && chmod +x evil.git/hooks/pre-receive && printf '[core]\n\tfsmonitor = touch PWNED; false\n' > cfg && git add cfg \
             && git commit -qm three && touch 'v[$(touch PWNED)]' && mkdir -p full src u sub t/up && ln -s .. full/up \
             && touch t/up/PWNED && tar cf up.tar -C t up/PWNED && ln -s ../PWNED src/l1 && cp a.txt u/a && ln -s ../PWNED u/b \
             && printf '#!/bin/sh\ntouch ../PWNED\n' > sub/build.sh && chmod +x sub/build.sh \
             && git init -q seed && git -C seed config core.fsmonitor 'touch PWNED; false'",
            &work,
        );
        assert_ne!(judged(rules, line, &work), Decision::Allow, "{rules}: {line}");
        run(line, &work);
        assert!(work.join("PWNED").exists(), "the attack does not work here: {line}");
    }
}

/// Compares our table of git's long options with git's own list.
#[test]
fn git_options_take_arguments_as_described() {
    let Ok(output) = Command::new("git").args(["rebase", "--git-completion-helper-all"]).output()
    else {
        testkit::skip("options of git", "`git` is not installed");
        return;
    };
    if !output.status.success() {
        testkit::skip("options of git", "this git does not list its options");
        return;
    }
    let git = skill::programs::find("git").unwrap();
    let ProgramKind::Commands(commands) = git.kind else { panic!("git has commands") };
    let (mut compared, mut wrong) = (0, Vec::new());
    for command in commands.commands {
        let ProgramKind::Described(usages) = command.kind else { continue };
        for name in command.names {
            let output =
                Command::new("git").args([*name, "--git-completion-helper-all"]).output().unwrap();
            if !output.status.success() {
                continue;
            }
            let listed = String::from_utf8(output.stdout).unwrap();
            // If two options share a name, the first one counts.
            let mut seen = BTreeSet::new();
            for option in usages.iter().flat_map(Usage::all_options) {
                for spelling in option.names.iter().filter(|spelling| spelling.starts_with("--")) {
                    if !seen.insert(*spelling) {
                        continue;
                    }
                    let has = |text: &str| listed.split_whitespace().any(|word| word == text);
                    let takes = has(&format!("{spelling}="));
                    compared += usize::from(takes || has(spelling));
                    let is_flag = option.arity == Arity::Flag;
                    let needs = matches!(option.arity, Arity::Required(_));
                    // git's list does not say that this one takes a file.
                    let is_known = (*name, *spelling) == ("merge", "--file");
                    if !is_known && ((takes && is_flag) || (needs && has(spelling))) {
                        wrong.push(format!("git {name} {spelling}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(compared > 200, "only {compared} options were compared");
}
