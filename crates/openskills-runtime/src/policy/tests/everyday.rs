//! Ordinary work: command lines under rules as people write them. Described programs must seldom ask, and nothing be denied.

use super::{Decision, bash};

/// Each list of rules with the lines that somebody with such a list would run.
const LINES: &[(&str, &[&str])] = &[
    (
        "Bash(git:*)",
        &[
            "git status",
            "git status -sb",
            "git status --short --branch",
            "git diff",
            "git diff --stat HEAD~3",
            "git diff --cached --name-only",
            "git diff main...feature/x -- src/lib.rs",
            "git log --oneline -20",
            "git log --pretty=format:'%h %an %s' --since='2 weeks ago'",
            "git log --graph --all --decorate",
            "git log -p -S 'fn main' -- src",
            "git show HEAD",
            "git show --stat abc1234",
            "git show HEAD:src/main.rs",
            "git add -A",
            "git add src/main.rs docs/",
            "git add src/*.rs",
            "git commit -m 'fix: handle empty input'",
            "git commit -am 'wip'",
            "git commit --amend --no-edit",
            "git push",
            "git push origin main",
            "git push -u origin feature/login",
            "git push --force-with-lease",
            "git push origin v1.2.0",
            "git pull",
            "git pull --rebase origin main",
            "git fetch --all --prune",
            "git fetch origin pull/12/head:pr-12",
            "git branch -a",
            "git branch --show-current",
            "git branch -d old",
            "git checkout -b feature/x",
            "git checkout main -- README.md",
            "git switch -c fix/typo",
            "git restore --staged src/lib.rs",
            "git merge --no-ff feature/x",
            "git rebase main",
            "git rebase --onto main old new",
            "git rebase --continue",
            "git cherry-pick -x abc1234",
            "git stash",
            "git stash push -m 'before rebase'",
            "git stash pop",
            "git tag -a v1.0.0 -m 'first release'",
            "git tag --list 'v*'",
            "git remote -v",
            "git rev-parse --abbrev-ref HEAD",
            "git rev-parse --show-toplevel",
            "git ls-files '*.rs'",
            "git blame -L 10,20 src/main.rs",
            "git grep -n TODO",
            "git reset --hard HEAD~1",
            "git clean -fd",
            "git describe --tags --always",
            "git shortlog -sn",
            "git config --get user.email",
            "git worktree list",
            "git clone https://github.com/example/project.git",
            "git clone --depth 1 git@github.com:example/project.git vendor/project",
            "git --no-pager log -5",
        ],
    ),
    (
        "Bash(git status *) Bash(git rev-parse *) Bash(git describe *)",
        &["git status", "git status --porcelain", "git rev-parse HEAD", "git describe --tags"],
    ),
    (
        "Read, Grep, Bash(ls *), Bash(cat *), Bash(grep *), Bash(find:*), Bash(head:*), Bash(tail:*), Bash(wc:*)",
        &[
            "ls",
            "ls -la src",
            "ls *.py",
            "ls -lh ~/Downloads",
            "cat README.md",
            "cat src/*.rs | wc -l",
            "grep -rn 'TODO' src --include='*.rs'",
            "grep -c error /var/log/syslog",
            "grep -E 'a|b' file.txt | head -3",
            "find . -name '*.py' -not -path './venv/*'",
            "find src -type f -mtime -7 -size +10k",
            "find . -maxdepth 2 -type d \\( -name node_modules -o -name target \\) -prune",
            "head -n 50 Cargo.toml",
            "head -20 data.csv",
            "tail -f logs/app.log",
            "tail -n +2 data.csv",
            "wc -l src/main.rs tests/*.rs",
            "wc -l < data.csv",
        ],
    ),
    (
        "Bash(rg:*) Bash(sort:*) Bash(uniq:*) Bash(cut:*) Bash(tr:*) Bash(jq:*) Bash(diff:*) Bash(sed:*) Read Write",
        &[
            "rg -n 'fn main' src",
            "rg --files -g '*.toml'",
            "rg -i -t py 'import os' -C 3",
            "sort -u names.txt",
            "sort -t, -k2 -n data.csv | uniq -c | sort -rn",
            "sort -o sorted.txt names.txt",
            "cut -d, -f1,3 data.csv",
            "tr a-z A-Z < in.txt > out.txt",
            "jq '.dependencies | keys' package.json",
            "jq -r '.items[] | {name, size}' data.json",
            "jq --arg v 1.2 '.version = $v' package.json",
            "diff -u old.txt new.txt",
            "diff -rq a b",
            "sed -n '10,20p' src/main.rs",
            "sed 's/foo/bar/g' a.txt",
            "sed -i 's/1\\.0/1.1/' version.txt",
            "sed -e 's/a/b/' -e '/^$/d' notes.md",
        ],
    ),
    (
        "Bash(mkdir:*) Bash(cp:*) Bash(mv:*) Bash(rm:*) Bash(touch:*) Bash(echo:*) Bash(pwd) Bash(cd:*) Bash(tee:*) Write",
        &[
            "mkdir -p build/out",
            "cp src/a.txt build/",
            "cp -r templates/app build/app",
            "mv draft.md docs/final.md",
            "rm -rf build",
            "rm -f logs/*.log",
            "touch notes.md",
            "echo \"--- done ---\"",
            "echo '# Title' > docs/title.md",
            "pwd",
            "cd src && pwd",
            "echo ok | tee result.txt",
            "cp a.txt .",
            "mv old.txt /tmp/old.txt",
        ],
    ),
    (
        "Bash(curl *) Bash(wget:*) Write",
        &[
            "curl -s https://api.example.com/v1/items",
            "curl -fsSL -o data.json https://example.com/data.json",
            "curl -X POST -H 'Content-Type: application/json' -d '{\"a\": 1, \"b\": 2}' https://api.example.com",
            "curl -sS localhost:8080/health",
            "curl -I https://example.com",
            "curl -s -o /dev/null -w '%{http_code}' https://example.com",
            "curl -H \"Authorization: Bearer $TOKEN\" https://api.example.com",
            "curl -d @body.json https://api.example.com",
            "wget -q -O page.html https://example.com",
        ],
    ),
    (
        "Bash(kubectl get *), Bash(kubectl describe *), Bash(kubectl logs *), Bash(kubectl version *), \
         Bash(kubectl rollout status *), Bash(kubectl api-resources *), Bash(helm list *), Bash(helm status *), Bash(helm version *), \
         Bash(oc get *), Bash(oc logs *)",
        &[
            "kubectl get pods -n prod",
            "kubectl get deploy,svc -A -o wide",
            "kubectl get pod web-1 -o jsonpath='{.status.phase}'",
            "kubectl describe pod web-1 -n prod",
            "kubectl logs -f deploy/web --tail=100 -c app",
            "kubectl logs web-1 --previous",
            "kubectl version --client",
            "kubectl rollout status deploy/web --timeout=60s",
            "kubectl api-resources --namespaced=true",
            "helm list -A",
            "helm status web -n prod",
            "helm version --short",
            "oc get pods",
            "oc logs web-1",
        ],
    ),
    (
        "Bash(docker ps *) Bash(docker logs *) Bash(docker inspect *) Bash(docker stats *) Bash(docker version *) Bash(docker info *) \
         Bash(docker compose ps *) Bash(docker compose logs *) Bash(docker compose config *) Bash(docker images *)",
        &[
            "docker ps",
            "docker ps -a --format '{{.Names}}\\t{{.Status}}'",
            "docker logs --tail 50 web",
            "docker inspect -f '{{.State.Status}}' web",
            "docker stats --no-stream",
            "docker version",
            "docker info",
            "docker compose ps",
            "docker compose logs -f api",
            "docker compose config --services",
            "docker images -q",
        ],
    ),
    (
        "Bash(gh:*) Bash(npm view *) Bash(npm ls *) Bash(pip list *) Bash(pip3 show *) Bash(python3 --version) Bash(node --version)",
        &[
            "gh pr list --state open --limit 20",
            "gh pr view 12 --comments",
            "gh pr diff 12",
            "gh pr create --title 'Fix' --body 'It was broken' --base main",
            "gh issue list -l bug",
            "gh issue view 3 --json title,body",
            "gh run list --branch main",
            "gh run view 123 --log-failed",
            "gh repo view example/project",
            "npm view react version",
            "npm view @types/node versions --json",
            "npm ls --depth=0",
            "pip list --outdated",
            "pip3 show requests",
            "python3 --version",
            "node --version",
        ],
    ),
    (
        "Bash(ps aux *) Bash(df *) Bash(du *) Bash(ss *) Bash(lsof *) Bash(netstat *) Bash(nvidia-smi *) Bash(uname:*) Bash(date:*) \
         Bash(which:*) Bash(stat:*) Bash(file:*) Bash(realpath:*) Bash(basename:*) Bash(test:*) Bash(sleep:*) Bash(free:*)",
        &[
            "ps aux",
            "df -h",
            "du -sh target node_modules",
            "ss -tlnp",
            "lsof -i :8080",
            "netstat -tuln",
            "nvidia-smi --query-gpu=name,memory.total --format=csv",
            "uname -a",
            "date +%Y-%m-%d",
            "date -u -d yesterday",
            "which python3",
            "stat -c %s file.bin",
            "file image.png",
            "realpath ../other",
            "basename src/main.rs .rs",
            "test -f Cargo.toml && sleep 1",
            "free -h",
        ],
    ),
    (
        "Bash(tar:*) Bash(zip:*) Bash(unzip:*) Bash(sha256sum:*) Bash(gzip:*) Write",
        &[
            "tar tzf release.tar.gz",
            "tar czf release.tar.gz dist",
            "tar -xzf release.tar.gz -C unpacked",
            "zip -r site.zip public",
            "unzip -l site.zip",
            "unzip -q site.zip -d site",
            "sha256sum release.tar.gz",
            "gzip -k data.csv",
            "tar xzf release.tar.gz",
        ],
    ),
    (
        "Bash(openskills:*) Bash(csk:*)",
        &[
            "openskills list",
            "openskills search pdf",
            "openskills log show",
            "csk status",
            "csk list --json",
        ],
    ),
];

#[test]
fn described_programs_seldom_ask_in_ordinary_work() {
    let (mut all, mut asked) = (0, Vec::new());
    for (rules, lines) in LINES {
        for line in *lines {
            all += 1;
            match bash(rules, line) {
                Decision::Allow => {}
                Decision::Ask => asked.push(*line),
                Decision::Deny => panic!("{rules}: `{line}` is denied"),
            }
        }
    }
    assert!(all >= 150, "only {all} lines");
    assert!(asked.len() * 20 <= all, "{} of {all} ask: {asked:#?}", asked.len());
}

#[test]
fn launchers_ask_and_are_never_denied_by_their_own_rule() {
    for (rules, line) in [
        ("Bash(uv *)", "uv run pytest"),
        ("Bash(python3 *)", "python3 scripts/convert.py in.pdf"),
        ("Bash(npm run *)", "npm run build"),
        ("Bash(npm test)", "npm test"),
        ("Bash(cargo:*)", "cargo test"),
        ("Bash(make:*)", "make all"),
        ("Bash(convert:*)", "convert a.png b.jpg"),
        ("Bash(./scripts/build.sh:*)", "./scripts/build.sh --release"),
        ("Bash(node *tools/list.js *)", "node ui/tools/list.js --all"),
        ("Bash", "pytest -q"),
        ("Bash", "for f in *.txt; do cat $f; done"),
    ] {
        assert_eq!(bash(rules, line), Decision::Ask, "{rules}: {line}");
    }
    // A rule without a `*` for a program that nobody knows allows exactly its words.
    assert_eq!(bash("Bash(convert a.png b.jpg)", "convert a.png b.jpg"), Decision::Allow);
    assert_eq!(bash("Bash(convert a.png b.jpg)", "convert a.png c.jpg"), Decision::Deny);
}
