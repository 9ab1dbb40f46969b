//! The gate for tools: what a skill declares is what it may call.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Run, TestEnv};

const SKILLS: &str = "\
//- /s/git/SKILL.md
---
name: git
description: d
allowed-tools: Bash(git:*), Read(src/**)
---
Body.
//- /s/free/SKILL.md
---
name: free
description: d
---
Body.
//- /s/quiet/SKILL.md
---
name: quiet
description: d
tools: {deny: [Bash]}
---
Body.
";

fn check(env: &TestEnv, arguments: &[&str], command: &str) -> Run {
    let input = json!({ "command": command }).to_string();
    let all =
        [&["check-tool", "--dir", "s", "--tool", "Bash", "--input", &input], arguments].concat();
    env.run_args(env!("CARGO_BIN_EXE_openskills"), &all)
}

#[test]
fn a_call_is_checked_against_its_skill() {
    let env = TestEnv::with(SKILLS);
    for (skill, command, code, decision) in [
        ("git", "git status", 0, "allow"),
        ("git", "git status && rm -rf /", 4, "deny"),
        ("git", "git -c core.pager=x log", 5, "ask"),
        ("free", "rm -rf /", 0, "allow"),
        ("quiet", "ls", 4, "deny"),
    ] {
        let run = check(&env, &["--skill", skill], command);
        assert_eq!(run.code, Some(code), "{skill}: {command}: {}", run.stderr);
        assert!(run.stdout.starts_with(&format!("{decision}: s/{skill}: ")), "{}", run.stdout);
    }
    assert_eq!(check(&env, &["--skill", "none"], "ls").code, Some(3));
    let bad = ["check-tool", "--skill", "git", "--tool", "Bash", "--input", "{", "--dir", "s"];
    assert_eq!(env.run_args(env!("CARGO_BIN_EXE_openskills"), &bad).code, Some(2));
    // A link out of what may be read is no way around.
    std::fs::create_dir(env.path("src")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", env.path("src/link")).unwrap();
    env.write("src/a", b"x");
    for (path, code) in [("src/a", 0), ("src/link", 4), ("src/new", 0), ("/etc/passwd", 4)] {
        let input = json!({ "file_path": path }).to_string();
        let all =
            ["check-tool", "--skill", "git", "--tool", "Read", "--input", &input, "--dir", "s"];
        let run = env.run_args(env!("CARGO_BIN_EXE_openskills"), &all);
        assert_eq!(run.code, Some(code), "{path}: {}", run.stdout);
    }
}

#[test]
fn rules_for_arbitrary_code_ask_until_that_skill_is_approved() {
    let env = TestEnv::with(
        "\
//- /s/py/SKILL.md
---
name: py
description: d
allowed-tools: Bash(python3:*), Bash(git:*)
---
Body.
//- /s/py/scripts/x.py
print(1)
",
    );
    let program = env!("CARGO_BIN_EXE_openskills");
    let python = || check(&env, &["--skill", "py"], "python3 scripts/x.py");
    let asked = python();
    assert_eq!(asked.code, Some(5), "{}", asked.stdout);
    assert!(asked.stdout.contains("allows arbitrary code"), "{}", asked.stdout);
    let approve = ["approve", "py", "--dir", "s", "--yes"];
    let approved = env.run_args(program, &approve);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    let shown = &approved.stderr;
    assert!(shown.contains("`Bash(python3:*)` lets the agent run arbitrary code"), "{shown}");
    assert!(!shown.contains("`Bash(git:*)` lets"), "{shown}");
    assert_eq!(python().code, Some(0), "the approval showed it");
    assert_eq!(check(&env, &["--skill", "py"], "git -c a=b log").code, Some(5));
    assert_eq!(check(&env, &["--skill", "py"], "node x.js").code, Some(4));
    assert_eq!(check(&env, &["--skill", "py"], "open''skills approve py").code, Some(4));
    // The approval is of what was shown, and of nothing that changed since.
    env.write("s/py/scripts/x.py", b"print(2)\n");
    assert_eq!(python().code, Some(5), "it is another skill now");
    assert_eq!(env.run_args(program, &approve).code, Some(0));
    assert_eq!(python().code, Some(0));
    // One that only showed described programs says nothing about code.
    env.write(
        "s/py/SKILL.md",
        b"---\nname: py\ndescription: d\nallowed-tools: Bash(git:*)\n---\nBody.\n",
    );
    assert_eq!(env.run_args(program, &approve).code, Some(0));
    assert_eq!(check(&env, &["--skill", "py"], "git bisect run touch p").code, Some(5));
}

#[test]
fn a_call_without_a_skill_is_checked_against_every_active_one() {
    let env = TestEnv::with(SKILLS);
    let activate = |skill: &str| {
        env.run_args(
            env!("CARGO_BIN_EXE_openskills"),
            &["activate", skill, "--dir", "s", "--session", "1"],
        );
    };
    let run = check(&env, &["--session", "1"], "rm x");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "allow: no skill is active\n"));
    activate("free");
    assert_eq!(check(&env, &["--session", "1"], "rm x").code, Some(0));
    activate("git");
    assert_eq!(check(&env, &["--session", "1"], "rm x").code, Some(4));
    assert_eq!(check(&env, &["--session", "1"], "git status").code, Some(0));
    assert_eq!(check(&env, &["--session", "2"], "rm x").code, Some(0), "another session");
    activate("quiet");
    assert_eq!(
        check(&env, &["--session", "1"], "git status").code,
        Some(4),
        "denial beats everything"
    );
    // A skill that loosens itself after it was activated is not believed.
    let env = TestEnv::with(SKILLS);
    env.run_args(
        env!("CARGO_BIN_EXE_openskills"),
        &["activate", "git", "--dir", "s", "--session", "1"],
    );
    env.write("s/git/SKILL.md", b"---\nname: git\ndescription: d\n---\nBody.\n");
    let run = check(&env, &["--session", "1"], "rm x");
    assert_eq!(run.code, Some(4), "{}", run.stdout);
    assert!(run.stdout.contains("was removed or changed"), "{}", run.stdout);
}

#[test]
fn a_hook_response_only_restricts_and_fails_closed() {
    let env = TestEnv::with(SKILLS);
    env.run_args(
        env!("CARGO_BIN_EXE_openskills"),
        &["activate", "git", "--dir", "s", "--session", "h1"],
    );
    let hook = |event: &str| {
        let mut command =
            env.command(env!("CARGO_BIN_EXE_openskills"), &["check-tool", "--hook", "--dir", "s"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let event = |session: &str, command: &str| {
        json!({
            "session_id": session, "hook_event_name": "PreToolUse", "cwd": env.work(),
            "tool_name": "Bash", "tool_input": { "command": command },
        })
        .to_string()
    };
    let (code, answer) = hook(&event("h1", "rm -rf /"));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(code, Some(0));
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PreToolUse");
    let (_, asked) = hook(&event("h1", "git -c a=b log"));
    assert!(asked.contains("\"permissionDecision\":\"ask\""), "{asked}");
    assert_eq!(hook(&event("h1", "git status")), (Some(0), String::new()), "it never allows more");
    assert_eq!(hook(&event("other", "rm -rf /")), (Some(0), String::new()), "no skill is active");
    // What is no event stops the call: exit code 2 is how a hook says so.
    let nameless = event("", "rm -rf /");
    for bad in ["", "{", "{}", "[]", "{\"tool_name\": \"Bash\"}", &nameless] {
        assert_eq!(hook(bad), (Some(2), String::new()), "{bad}");
    }
    // So does anything else that goes wrong: a restriction that cannot be read is one.
    let sessions = env.path("../home/.local/state/openskills/sessions");
    for session in std::fs::read_dir(sessions).unwrap() {
        std::fs::write(session.unwrap().path().join("broken.json"), "{").unwrap();
    }
    assert_eq!(hook(&event("h1", "git status")), (Some(2), String::new()));
}
