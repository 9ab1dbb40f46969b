//! Everyday commands of developers give the same output, exit code and files in the sandbox as without it.

use std::fs;
use std::path::Path;

use testkit::{GitRepo, TestEnv, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_openskills");

const FILES: &str = "\
//- /README.md
hello world
second line
second line
//- /src/app.py
import util
def main():
    print('hello', util.add(1, 2))
main()
//- /src/util.py
def add(a, b):
    return a + b
//- /tests/test_util.py
import sys, unittest
sys.path.insert(0, 'src')
import util
class T(unittest.TestCase):
    def test_add(self):
        self.assertEqual(util.add(1, 2), 3)
//- /index.js
const fs = require('fs');
console.log(fs.readFileSync('README.md', 'utf8').length, process.argv.slice(2));
//- /package.json
{ \"name\": \"x\", \"version\": \"1.0.0\", \"scripts\": { \"hello\": \"node index.js from npm\", \"fail\": \"exit 3\" } }
//- /Makefile
all: out.txt
out.txt: README.md
\tcp README.md out.txt
fail:
\tfalse
//- /run.sh
#!/bin/bash
echo \"$0: $*\"; exit 5
";

/// Everyday command lines, in an order in which each finds what it needs.
const LINES: [&str; 78] = [
    "pwd",
    "ls",
    "ls -1 src tests",
    "cat README.md",
    "head -n 2 src/app.py; tail -n 1 README.md",
    "wc -l src/*.py",
    "grep -rn 'def ' src",
    "grep -c nothing README.md",
    "find . -name '*.py' -not -path './.git/*' | sort",
    "sed -n 1,2p src/app.py",
    "sed -i s/hello/hi/ src/app.py && cat src/app.py",
    "awk '{ print $1 }' README.md",
    "sort README.md | uniq -c",
    "cut -d' ' -f1 README.md | tr a-z A-Z",
    "diff src/app.py src/util.py",
    "mkdir -p build/out && touch build/out/a && ls -R build",
    "cp README.md build/readme && mv build/readme build/README && rm build/out/a && rmdir build/out",
    "rm -r build; ls build",
    "ln -s README.md link && readlink link && cat link && rm link",
    "chmod +x run.sh && ./run.sh a 'b c'",
    "bash run.sh x",
    "echo one > notes.txt; echo two >> notes.txt; cat notes.txt",
    "cat > here.txt <<'E'\nline $HOME\nE\ncat here.txt",
    "cat <<E\n$((1 + 2))\nE",
    "printf '%s\\n' a b c | xargs -n 1 echo item",
    "for i in 1 2 3; do echo $i; done | paste -sd,",
    "[ -f README.md ] && echo yes || echo no",
    "false",
    "exit 7",
    "echo out; echo err >&2; exit 3",
    "no-such-command --help",
    "ls /no/such/folder",
    "cd src && pwd && ls && cd ..",
    "(cd tests && ls)",
    "diff <(sort README.md) <(sort -u README.md)",
    "set -o pipefail; false | cat",
    "x=$(cat README.md | wc -l); echo $x",
    "python3 -c 'import json, ssl, sqlite3, sys; print(json.dumps([1]), sys.version_info[0])'",
    "python3 src/app.py",
    "python3 -m unittest discover -s tests 2>&1 | sed 's/in [0-9.]*s/in Ns/'",
    "python3 -m json.tool package.json",
    "python3 -c 'import sys; sys.exit(4)'",
    "python3 -c 'import subprocess as s; print(s.run([\"echo\", \"child\"], capture_output=True).stdout)'",
    "python3 -c 'import tempfile as t; f = t.NamedTemporaryFile(); f.write(b\"x\"); print(f.tell())'",
    "python3 -c 'raise SystemExit(\"message\")'",
    "node -e 'console.log(1 + 1)'",
    "node index.js a b",
    "npm run --silent hello",
    "npm run --silent fail",
    "make",
    "make fail",
    "make --silent out.txt",
    "sh -c 'echo $0 $1' zero one",
    "perl -ne 'print if /second/' README.md",
    "tar czf t.tgz src && tar tzf t.tgz | sort && rm t.tgz",
    "gzip -k README.md && gunzip -c README.md.gz && rm README.md.gz",
    "sha256sum README.md; base64 README.md",
    "date -u -d @0; sleep 0.05",
    "test \"$HOME\" = ~ && echo home",
    "command -v python3 git node",
    "sleep 0.05 & wait; echo waited",
    "timeout 0.1 sleep 5; echo $?",
    "git status --short",
    "git add -A && git commit -qm work && git log --format=%s",
    "git diff HEAD~1 --stat",
    "git switch -qc feature && git branch",
    "echo more >> README.md && git diff",
    "git stash -q && git stash list && git stash pop -q",
    "git commit -qam more && git show --stat --format=%s",
    "git switch -q main && git merge -q feature && git log --format=%s | wc -l",
    "git tag v1 && git tag && git describe",
    "git blame -s README.md | cut -c10-",
    "git mv README.md DOCS.md && git status --short && git commit -qm moved",
    "git revert --no-edit HEAD > /dev/null && ls",
    "git grep -n add && git rev-parse --abbrev-ref HEAD && git ls-files",
    "git reset -q --hard HEAD~1 && ls",
    "git checkout -q no-such-branch",
    "git rm -q run.sh && git commit -qm removed && git cherry-pick v1 2>/dev/null; git status --short",
];

#[test]
fn everyday_commands_give_the_same_results_as_without_the_sandbox() {
    let env = TestEnv::new();
    for tool in ["python3", "node", "npm", "make", "perl"] {
        if env.run_args("sh", &["-c", &format!("command -v {tool}")]).code != Some(0) {
            skip("everyday commands", &format!("`{tool}` is not there"));
            return;
        }
    }
    let identity =
        "[user]\n\tname = Ada\n\temail = ada@example.test\n[init]\n\tdefaultBranch = main\n";
    fs::write(env.path("../home/.gitconfig"), identity).unwrap();
    for name in ["outside", "insides"] {
        GitRepo::new(&env, name, FILES);
    }
    let result = |program: &str, arguments: &[&str], folder: &str| {
        let mut command = env.command(program, arguments);
        command.env("TERM", "dumb").env("SHELL", "/bin/bash").env("SHLVL", "0");
        let run = env.output(command.current_dir(env.path(folder)));
        let same = |text: &str| text.replace(folder, "PROJECT").replace("environment: ", "bash: ");
        (run.code, without_ids(&same(&run.stdout)), without_ids(&same(&run.stderr)))
    };
    let mut differences = Vec::new();
    for line in LINES {
        let outside = result("bash", &["--noprofile", "--norc", "-c", line], "outside");
        let inside = result(PROGRAM, &["exec", "--quiet", "--", line], "insides");
        if outside != inside {
            differences.push(format!("{line}\n  outside: {outside:?}\n  inside:  {inside:?}"));
        }
        let [outside, inside] = ["outside", "insides"].map(|folder| tree(&env.path(folder)));
        if outside != inside {
            differences
                .push(format!("files after {line}\n  outside: {outside}\n  inside:  {inside}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Replaces the names of commits, which depend on the time.
fn without_ids(text: &str) -> String {
    let (mut shown, mut run) = (String::new(), String::new());
    for character in text.chars().chain(['\0']) {
        if character.is_ascii_hexdigit() {
            run.push(character);
            continue;
        }
        let is_id = run.len() >= 7 && run.contains(|c: char| c.is_ascii_digit());
        shown.push_str(if is_id && run.len() <= 40 { "ID" } else { &run });
        shown.push(character);
        run.clear();
    }
    shown
}

/// Returns every file with its permissions and content. Of the repository, only the names of branches and tags.
fn tree(folder: &Path) -> String {
    let script = "find . -path ./.git -prune -o -printf '%p %M %l\\n' | sort; \
                  find . -path ./.git -prune -o -name __pycache__ -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; \
                  git for-each-ref --format='%(refname)'; git log --format=%s; git status --short";
    let output =
        std::process::Command::new("sh").args(["-c", script]).current_dir(folder).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
