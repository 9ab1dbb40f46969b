//! The hooks of an agent: `openskills hook` installs them, and `check-tool --hook --enforce` answers them.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Run, TestEnv};

use crate::openskills;

const PROGRAM: &str = env!("CARGO_BIN_EXE_openskills");

const SKILLS: &str = "\
//- /p/a.txt
original
//- /p/.claude/skills/git/SKILL.md
---
name: git
description: d
allowed-tools: Bash(git:*) Read
---
Body.
//- /p/.claude/skills/free/SKILL.md
---
name: free
description: d
---
Body.
//- /p/.claude/skills/deny/SKILL.md
---
name: deny
description: d
tools: {deny: [\"Bash(rm:*)\"]}
---
Body.
//- /p/.claude/skills/eager/SKILL.md
---
name: eager
description: d
---
Now: !`touch ran`
//- /p/.claude/skills/block/SKILL.md
---
name: block
description: d
---
- item ```! touch ran ```
//- /p/.claude/skills/placeholder/SKILL.md
---
name: placeholder
description: d
---
!$ARGUMENTS`touch ran`
//- /p/.claude/skills/folder/SKILL.md
---
name: other-name
description: d
allowed-tools: Bash(git:*)
---
Body.
//- /p/.claude/commands/sub/own.md
Now: !`touch ran`
//- /p/.claude/skills/hooked/SKILL.md
---
name: hooked
description: d
hooks:
  PreToolUse: []
---
Body.
";

/// An agent session in the project `p`.
struct Session<'a> {
    env: &'a TestEnv,
    mode: &'static str,
    calls: std::cell::Cell<u32>,
}

/// What a hook answered.
#[derive(Debug)]
struct Answer {
    code: Option<i32>,
    value: Value,
    stderr: String,
}

impl Answer {
    fn decision(&self) -> &str {
        self.value["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("none")
    }

    /// The rewritten command line, as the shell of the agent gets it.
    fn line(&self) -> String {
        let line = self.value["hookSpecificOutput"]["updatedInput"]["command"].as_str();
        line.unwrap_or_default().to_owned()
    }
}

impl<'a> Session<'a> {
    fn new(env: &'a TestEnv) -> Self {
        Self { env, mode: "default", calls: std::cell::Cell::new(0) }
    }

    fn event(&self, event: &Value) -> Answer {
        let mut command = self.env.command(PROGRAM, &["check-tool", "--hook", "--enforce"]);
        command.current_dir(self.env.path("p")).env("CLAUDE_PROJECT_DIR", self.env.path("p"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut event = event.clone();
        event["session_id"] = "s1".into();
        event["permission_mode"] = self.mode.into();
        if event["cwd"].is_null() {
            event["cwd"] = self.env.path("p").to_str().into();
        }
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let value =
            if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
        let stderr = String::from_utf8(output.stderr).unwrap();
        Answer { code: output.status.code(), value, stderr }
    }

    fn before(&self, tool: &str, input: &Value) -> Answer {
        self.calls.set(self.calls.get() + 1);
        let id = format!("call-{}", self.calls.get());
        self.event(&json!({
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": id, "tool_input": input,
        }))
    }

    fn bash(&self, line: &str) -> Answer {
        self.before("Bash", &json!({ "command": line, "description": "d", "timeout": 5000 }))
    }

    fn after(&self, event: &str) -> Answer {
        let id = format!("call-{}", self.calls.get());
        self.event(&json!({
            "hook_event_name": event, "tool_name": "Bash", "tool_use_id": id, "tool_input": {},
        }))
    }

    fn load(&self, skill: &str) {
        let answer = self.before("Skill", &json!({ "skill": skill }));
        assert_eq!((answer.code, answer.decision()), (Some(10), "none"), "{answer:?}");
    }

    /// Runs a line as the agent's shell does.
    fn shell(&self, line: &str) -> Run {
        let mut command = self.env.command("bash", &["-c", line]);
        self.env.output(command.current_dir(self.env.path("p")))
    }

    fn allow(&self, rules: &Value) {
        let settings = json!({ "permissions": rules });
        self.env.write("p/.claude/settings.json", settings.to_string().as_bytes());
    }
}

fn machine() -> TestEnv {
    TestEnv::with(SKILLS)
}

#[test]
fn without_an_active_skill_every_call_is_left_alone() {
    let env = machine();
    let session = Session::new(&env);
    for (tool, input) in [
        ("Bash", json!({ "command": "git push && rm -rf x" })),
        ("Write", json!({ "file_path": "/etc/x" })),
        ("FutureTool", json!({})),
    ] {
        let answer = session.before(tool, &input);
        assert_eq!((answer.code, &answer.value), (Some(10), &Value::Null), "{tool}: {answer:?}");
    }
    assert_eq!(session.after("PostToolUse").value, Value::Null);
}

#[test]
fn a_line_is_rewritten_runs_in_the_sandbox_once_and_reports_afterwards() {
    let env = machine();
    let session = Session::new(&env);
    session.allow(&json!({ "allow": ["Bash"] }));
    session.load("free");
    let answer = session.bash("echo \"it's\" > made; mkdir .envrc 2>&1; cat /root/none; (exit 3)");
    assert_eq!(answer.decision(), "none", "{answer:?}");
    let input = &answer.value["hookSpecificOutput"]["updatedInput"];
    assert_eq!(input["description"], "d", "all fields are copied");
    assert_eq!(input["timeout"], 5000);
    let line = answer.line();
    assert!(line.starts_with(&format!("{PROGRAM} exec --ticket ")), "{line}");
    let run = session.shell(&line);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_eq!(fs::read_to_string(env.path("p/made")).unwrap(), "it's\n");
    assert!(
        !run.stderr.contains("note"),
        "the model reads what the command printed: {}",
        run.stderr
    );
    assert!(!env.path("p/.envrc").exists());
    let after = session.after("PostToolUseFailure");
    let told = after.value["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(told.contains("not applied to the project: `.envrc`"), "{told}");
    assert_eq!(after.value["hookSpecificOutput"]["hookEventName"], "PostToolUseFailure");
    // The ticket is worthless now.
    let again = session.shell(&line);
    assert_eq!(again.code, Some(125));
    assert!(again.stderr.contains("already used"), "{}", again.stderr);
    assert_eq!(session.bash("ls").decision(), "none", "the session goes on");
}

#[test]
fn a_ticket_is_bound_to_line_session_and_skills() {
    let env = machine();
    let session = Session::new(&env);
    session.allow(&json!({ "allow": ["Bash"] }));
    session.load("free");
    let refused = |line: &str, reason: &str| {
        let run = session.shell(line);
        assert_eq!(run.code, Some(125), "{line}: {}", run.stdout);
        assert!(run.stderr.contains(reason), "{line}: {}", run.stderr);
        assert!(!env.path("p/made").exists(), "{line}");
    };
    let line = session.bash("echo one").line();
    refused(&line.replace("echo one", "touch made"), "another command line");
    refused(&format!("{line} made"), "another command line");
    refused(&line.replace("exec ", "exec --session other "), "another session");
    for forged in
        ["x", "x-y", "../x-y", "00112233445566778899aabbccddeeff-00112233445566778899aabbccddeeff"]
    {
        refused(
            &format!("{PROGRAM} exec --ticket {forged} -- 'touch made'"),
            "the ticket is not valid",
        );
    }
    let options = session.bash("touch made").line();
    for option in ["--cwd /", "--timeout 5s"] {
        let run = session.shell(&options.replace("exec ", &format!("exec {option} ")));
        assert_eq!(run.code, Some(2), "{option}: {}", run.stderr);
    }
    // Other skills are active than when the call was checked.
    let stale = session.bash("touch made").line();
    session.load("git");
    refused(&stale, "the active skills have changed");
    let long = format!("touch made # {}", "x".repeat(20_000));
    session.allow(&json!({ "allow": ["Bash"] }));
    let other = TestEnv::with(SKILLS);
    let session = Session::new(&other);
    session.allow(&json!({ "allow": ["Bash"] }));
    session.load("free");
    let short = session.bash(&long).line();
    assert!(short.len() < 1000 && !short.contains("touch"), "{short}");
    assert_eq!(session.shell(&short).code, Some(0));
    assert!(other.path("p/made").exists());
}

#[test]
fn rules_of_the_skill_and_of_the_user_decide_about_the_original_line() {
    let env = machine();
    let mut session = Session::new(&env);
    session.load("git");
    session.allow(&json!({ "allow": ["Bash(git:*)"], "ask": ["Bash(git log:*)"], "deny": ["Bash(git branch:*)"] }));
    for (line, decision) in [
        ("git status", "none"),
        ("git -c a=b status", "none"),
        ("git log", "ask"),
        ("git branch x", "deny"),
        ("ls", "deny"),
        ("git status; touch x", "deny"),
        ("git push", "ask"),
    ] {
        let answer = session.bash(line);
        assert_eq!(answer.decision(), decision, "{line}: {answer:?}");
        let is_rewritten = !answer.line().is_empty();
        assert_eq!(is_rewritten, decision == "none" || line == "git log", "{line}: {answer:?}");
    }
    // In this mode the agent does not ask, and would run what it should ask about.
    session.mode = "bypassPermissions";
    for (line, decision) in [("git status", "none"), ("git log", "deny"), ("git push", "deny")] {
        assert_eq!(session.bash(line).decision(), decision, "{line}");
    }
    session.mode = "default";
    session.allow(&json!({}));
    assert_eq!(session.bash("git status").decision(), "none", "the agent allows it by itself");
    assert_eq!(session.bash("git commit -m x").decision(), "ask");
    // Settings that cannot be read may contain rules.
    for broken in
        ["{", "{\"permissions\": {\"deny\": \"Bash\"}}", "{\"permissions\": {\"ask\": [1]}}"]
    {
        env.write("p/.claude/settings.local.json", broken.as_bytes());
        let answer = session.bash("git status");
        assert_eq!(answer.code, Some(2), "{broken}: {answer:?}");
        assert!(answer.stderr.contains("settings.local.json"), "{}", answer.stderr);
    }
}

#[test]
fn rules_that_deny_tools_are_not_left_to_the_sandbox() {
    let env = machine();
    let session = Session::new(&env);
    session.allow(&json!({ "allow": ["Bash"] }));
    session.load("deny");
    assert_eq!(session.bash("rm a.txt").decision(), "deny");
    assert_eq!(session.bash("python3 -c 'import os; os.remove(\"a.txt\")'").decision(), "ask");
    assert_eq!(session.bash("ls").decision(), "none");
}

#[test]
fn every_way_to_load_a_skill_activates_it() {
    for way in [
        "tool", "words", "command", "slash", "read", "grep", "cat", "pattern", "cd", "shell",
        "symlink",
    ] {
        let env = machine();
        let session = Session::new(&env);
        let file = env.path("p/.claude/skills/git/SKILL.md");
        let answer = match way {
            "tool" => session.before("Skill", &json!({ "skill": "git" })),
            "slash" => session.event(&json!({
                "hook_event_name": "UserPromptExpansion", "expansion_type": "slash_command",
                "command_name": "git", "command_args": "", "prompt": "/git",
            })),
            "read" => session.before("Read", &json!({ "file_path": file })),
            "words" => session.before("Skill", &json!({ "skill": "git now" })),
            "command" => session.before("SlashCommand", &json!({ "command": "/git" })),
            "grep" => {
                let folder = env.path("p/.claude/skills/git");
                session.before("Grep", &json!({ "pattern": ".", "path": folder }))
            }
            "cat" => session.bash("cat .claude/skills/git/SKILL.md | head"),
            "pattern" => session.bash("cat .claude/skills/git/SK*"),
            "cd" => session.bash("cd .claude/skills/git && cat SKILL.md"),
            "shell" => session.bash("bash -c 'cat $PWD/.claude/skills/git/SKILL.md'"),
            _ => {
                std::os::unix::fs::symlink(&file, env.path("p/notes.md")).unwrap();
                session.before("Read", &json!({ "file_path": env.path("p/notes.md") }))
            }
        };
        assert_eq!(answer.code, Some(10), "{way}: {answer:?}");
        assert_eq!(session.bash("touch x").decision(), "deny", "{way}");
        let log = openskills(&env, "log show --json --event skill.activated").stdout;
        assert!(log.contains("/git\""), "{way}: {log}");
    }
}

#[test]
fn a_skill_is_activated_by_the_name_of_its_folder_too() {
    let env = machine();
    let session = Session::new(&env);
    session.load("folder");
    assert_eq!(session.bash("touch x").decision(), "deny");
}

#[test]
fn skills_that_run_commands_when_they_are_loaded_are_stopped() {
    let env = machine();
    let session = Session::new(&env);
    for (skill, reason) in [
        ("eager", "commands in its text"),
        ("block", "commands in its text"),
        ("placeholder", "commands in its text"),
        ("own", "commands in its text"),
        ("hooked", "its `hooks`"),
    ] {
        let answer = session.before("Skill", &json!({ "skill": skill }));
        assert_eq!(answer.code, Some(2), "{answer:?}");
        assert!(answer.stderr.contains(reason), "{}", answer.stderr);
        let expansion = session.event(&json!({
            "hook_event_name": "UserPromptExpansion", "command_name": skill, "prompt": skill,
        }));
        assert_eq!(expansion.code, Some(2), "{expansion:?}");
    }
}

#[test]
fn arguments_that_the_agent_would_run_are_stopped() {
    let env = machine();
    let session = Session::new(&env);
    for input in [
        json!({ "skill": "free", "args": "x !`touch ran`" }),
        json!({ "skill": "free !`touch ran`" }),
    ] {
        let answer = session.before("Skill", &input);
        assert_eq!(answer.code, Some(2), "{answer:?}");
    }
    let expansion = session.event(&json!({
        "hook_event_name": "UserPromptExpansion", "command_name": "free", "command_args": "!`touch ran`",
    }));
    assert_eq!(expansion.code, Some(2), "{expansion:?}");
}

#[test]
fn other_tools_cannot_do_what_a_command_line_cannot() {
    let env = machine();
    let mut session = Session::new(&env);
    session.load("free");
    let state = env.path("../home/.local/state/openskills/approvals.json");
    for (tool, input, decision) in [
        ("Read", json!({ "file_path": env.path("p/a.txt") }), "none"),
        ("Read", json!({ "file_path": "/usr/bin/env" }), "none"),
        ("Read", json!({ "file_path": "/tmp/claude-0/tasks/1.output" }), "none"),
        ("Read", json!({ "file_path": "/tmp/other/claude" }), "ask"),
        ("Read", json!({ "file_path": env.path("../home/.ssh/id") }), "ask"),
        ("Grep", json!({ "pattern": "x", "path": "/root" }), "ask"),
        ("Write", json!({ "file_path": env.path("p/b.txt"), "content": "x" }), "none"),
        ("Write", json!({ "file_path": env.path("b.txt"), "content": "x" }), "ask"),
        ("Write", json!({ "file_path": env.path("p/.git/config"), "content": "x" }), "ask"),
        ("Edit", json!({ "file_path": env.path("p/.envrc") }), "ask"),
        ("Edit", json!({ "file_path": env.path("p/.claude/settings.json") }), "deny"),
        ("Write", json!({ "file_path": env.path("../home/.claude/settings.json") }), "deny"),
        ("Write", json!({ "file_path": state }), "deny"),
        ("mcp__x__write", json!({ "path": state }), "deny"),
        ("Grep", json!({ "pattern": "x", "path": "/tmp/claude-zz/../../etc" }), "ask"),
        ("Read", json!({ "file_path": env.path("p/none/../../../etc/shadow") }), "ask"),
        ("Write", json!({ "file_path": env.path("p/none/../.git/config") }), "ask"),
        (
            "Write",
            json!({ "file_path": env.path("p/none/../../../home/.local/state/openskills/x") }),
            "deny",
        ),
        ("mcp__x__y", json!({ "any": 1 }), "ask"),
        ("FutureTool", json!({ "do": "anything" }), "ask"),
        ("TodoWrite", json!({ "todos": [] }), "none"),
    ] {
        let answer = session.before(tool, &input);
        assert_eq!(answer.decision(), decision, "{tool} {input}: {answer:?}");
    }
    assert!(
        session.before("Monitor", &json!({ "command": "ls" })).line().contains(" exec --ticket ")
    );
    session.mode = "bypassPermissions";
    let asked = session.before("Write", &json!({ "file_path": env.path("b.txt"), "content": "x" }));
    assert_eq!(asked.decision(), "deny");
}

#[test]
fn a_call_that_did_not_run_as_decided_stops_the_session() {
    for (skill, line, reason) in [
        ("free", Some("ls"), "ran without the sandbox"),
        ("deny", Some("rm a.txt"), "although openskills had denied it"),
        ("free", None, "without asking openskills"),
    ] {
        let env = machine();
        let session = Session::new(&env);
        session.allow(&json!({ "allow": ["Bash"] }));
        session.load(skill);
        match line {
            Some(line) => drop(session.bash(line)),
            None => session.calls.set(99),
        }
        let after = session.after("PostToolUse");
        assert_eq!(after.value["continue"], false, "{reason}: {after:?}");
        assert!(after.value["stopReason"].as_str().unwrap().contains(reason), "{after:?}");
        // Every later call is refused, also of other tools.
        let next = session.before("Read", &json!({ "file_path": env.path("p/a.txt") }));
        assert_eq!(next.code, Some(2), "{next:?}");
        assert!(
            next.stderr.contains(reason) && next.stderr.contains("new session"),
            "{}",
            next.stderr
        );
    }
}

#[test]
fn lines_that_need_keys_are_asked_about_and_recorded() {
    let env = machine();
    let session = Session::new(&env);
    session.allow(&json!({ "allow": ["Bash"] }));
    session.load("free");
    let answer = session.bash("git push --force origin main");
    assert_eq!(answer.decision(), "ask");
    assert!(answer.line().is_empty(), "it cannot work in the sandbox");
    assert_eq!(session.after("PostToolUse").value, Value::Null);
    let log = openskills(&env, "log show --json --event command.unconfined").stdout;
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.iter().map(|event| &event["hasRun"]).collect::<Vec<_>>(), [false, true]);
    assert_eq!(events[1]["command"], "git push --force origin main");
}

#[test]
fn the_end_of_a_session_ends_its_processes() {
    let env = machine();
    let session = Session::new(&env);
    session.allow(&json!({ "allow": ["Bash"] }));
    session.load("free");
    let marker = format!("86397.{}", std::process::id());
    let line = session.bash(&format!("sleep {marker} >/dev/null 2>&1 & echo x > first")).line();
    assert_eq!(session.shell(&line).code, Some(0));
    let is_running = || env.run_args("pgrep", &["-f", &format!("^sleep {marker}")]).code == Some(0);
    assert!(is_running() && env.path("p/first").exists());
    let end = session.event(&json!({ "hook_event_name": "SessionEnd", "reason": "other" }));
    assert_eq!(end.code, Some(10), "{end:?}");
    assert!(!is_running());
}

#[test]
fn later_calls_see_what_a_call_in_the_background_writes() {
    let env = machine();
    let session = Session::new(&env);
    session.allow(&json!({ "allow": ["Bash"] }));
    session.load("free");
    let input =
        json!({ "command": "echo one > log; sleep 8; echo two >> log", "run_in_background": true });
    let line = session.before("Bash", &input).line();
    let mut background = env.command("bash", &["-c", &line]);
    let mut background =
        background.current_dir(env.path("p")).stdout(Stdio::null()).spawn().unwrap();
    assert_eq!(session.after("PostToolUse").value, Value::Null, "it may still be about to start");
    let begun = std::time::Instant::now();
    loop {
        let run = session.shell(&session.bash("cat log").line());
        if run.stdout == "one\n" {
            break;
        }
        assert!(begun.elapsed().as_secs() < 20, "{} {}", run.stdout, run.stderr);
    }
    assert_eq!(background.wait().unwrap().code(), Some(0));
    assert_eq!(fs::read_to_string(env.path("p/log")).unwrap(), "one\ntwo\n");
}

#[test]
fn hooks_are_installed_and_removed() {
    let env = machine();
    let settings = env.path("../home/.claude/settings.json");
    let plan = openskills(&env, "hook install claude-code --dry-run");
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    assert!(
        plan.stdout.contains("+") && plan.stdout.contains("check-tool --hook --enforce"),
        "{}",
        plan.stdout
    );
    assert!(!settings.exists());
    let unasked = openskills(&env, "hook install claude-code");
    assert_eq!(unasked.code, Some(5), "{}", unasked.stderr);
    let installed = openskills(&env, "hook install claude-code --yes");
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let text = fs::read_to_string(&settings).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    for event in
        ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptExpansion", "SessionEnd"]
    {
        let line = value["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(line.contains(PROGRAM) && line.contains("|| exit 2"), "{event}: {line}");
    }
    let again = openskills(&env, "hook install claude-code --yes");
    assert!(again.stderr.contains("nothing to change"), "{}", again.stderr);
    let json = openskills(&env, "hook remove claude-code --yes --json");
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["written"], true);
    assert!(!fs::read_to_string(&settings).unwrap().contains("openskills"));
    fs::write(&settings, "[1]").unwrap();
    let refused = openskills(&env, "hook install claude-code --yes");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("is not an object"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&settings).unwrap(), "[1]");
}

/// Runs the installed line with another program in place of openskills.
fn installed_line(env: &TestEnv, script: &str) -> Run {
    openskills(env, "hook install claude-code --yes");
    let settings = env.path("../home/.claude/settings.json");
    let value: Value = serde_json::from_str(&fs::read_to_string(settings).unwrap()).unwrap();
    let line = value["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    env.write("stub", script.as_bytes());
    env.run_args("chmod", &["+x", "stub"]);
    let stub = env.path("stub");
    env.run_args(
        "sh",
        &[
            "-c",
            &line
                .replace(PROGRAM, stub.to_str().unwrap())
                .replace("timeout -k 1 20", "timeout -k 1 1"),
        ],
    )
}

#[test]
fn every_failure_of_the_program_stops_the_call() {
    let env = machine();
    for script in [
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\nexit 0\n",
        "#!/bin/sh\necho garbage\n",
        "#!/bin/sh\nprintf '{\"hook'\n",
        "#!/bin/sh\nkill -9 $$\n",
        "#!/bin/sh\nsleep 60\n",
        "#!/bin/sh\ntrap '' TERM\nsleep 60\n",
        "#!/no/such/program\n",
    ] {
        let run = installed_line(&env, script);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{script}: {}", run.stderr);
    }
    let answered = installed_line(&env, "#!/bin/sh\necho '{\"a\": 1}'\nexit 10\n");
    assert_eq!((answered.code, answered.stdout.as_str()), (Some(0), "{\"a\": 1}"));
    // What is no event stops the call as well.
    for event in ["", "{", "[]", "{}", "{\"session_id\": \"\", \"tool_name\": \"Bash\"}"] {
        let line = format!("printf '%s' '{event}' | {PROGRAM} check-tool --hook --enforce");
        assert_eq!(env.run_args("sh", &["-c", &line]).code, Some(2), "{event}");
    }
}
