//! `openskills exec`: an agent's command lines in the sandbox.

use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Run, TestEnv, skip};

use crate::openskills;

const SKILLS: &str = "\
//- /s/plain/SKILL.md
---
name: plain
description: d
---
Body.
//- /s/one/SKILL.md
---
name: one
description: d
---
Body.
//- /s/one/scripts/a.sh
true
//- /s/two/SKILL.md
---
name: two
description: d
---
Body.
//- /s/two/scripts/a.sh
true
//- /p/a.txt
original
//- /p/sub/b.txt
b
";

const PROGRAM: &str = env!("CARGO_BIN_EXE_openskills");

fn machine() -> TestEnv {
    TestEnv::with(SKILLS)
}

/// Runs a command line in the project `p`.
fn exec(env: &TestEnv, line: &str) -> Run {
    exec_with(env, &[], line)
}

fn exec_with(env: &TestEnv, options: &[&str], line: &str) -> Run {
    let mut command = env.command(PROGRAM, &["exec", "--dir", "../s", "--project", "."]);
    command.args(options).args(["--", line]).current_dir(env.path("p"));
    env.output(&mut command)
}

fn in_session(env: &TestEnv, line: &str) -> Run {
    exec_with(env, &["--session", "x"], line)
}

fn end_session(env: &TestEnv) -> Run {
    openskills(env, "exec --session x --end-session")
}

fn events(env: &TestEnv, kind: &str) -> Vec<Value> {
    let shown = openskills(env, &format!("log show --json --event {kind}")).stdout;
    shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn exec_passes_streams_and_exit_codes_through() {
    let env = machine();
    for (line, code, stdout, stderr) in [
        ("echo out; echo err >&2", 0, "out\n", "err\n"),
        ("exit 42", 42, "", ""),
        ("false", 1, "", ""),
        ("kill -TERM $$", 143, "", ""),
        ("echo a | tr a b; (exit 3)", 3, "b\n", ""),
        ("set -u; : $missing_variable", 127, "", "environment: line 1: missing_variable: unbound"),
    ] {
        let run = exec(&env, line);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), stdout), "{line}: {}", run.stderr);
        if code != 127 {
            assert_eq!(run.stderr, stderr, "{line}");
        }
    }
    // Several words are a program with its arguments.
    let mut words = env.command(PROGRAM, &["exec", "--", "printf", "%s|", "a b", "$HOME", "*"]);
    assert_eq!(env.output(words.current_dir(env.path("p"))).stdout, "a b|$HOME|*|");
    // Standard input is passed on.
    let line = format!("cd p && printf 'in\\nput' | {PROGRAM} exec -- 'cat; echo; wc -c'");
    assert_eq!(env.run_args("bash", &["-c", &line]).stdout, "in\nput\n0\n");
    let missing = openskills(&env, "exec");
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
}

#[test]
fn exec_runs_bash_without_startup_files_or_other_variables() {
    let env = machine()
        .var("SECRET_TOKEN", "canary-1")
        .var("BASH_ENV", "/dev/stdin")
        .var("TERM", "xterm");
    let home = env.path("../home");
    for file in [".bashrc", ".bash_profile", ".profile"] {
        fs::write(home.join(file), "echo canary-2\n").unwrap();
    }
    let run = exec(&env, "env; echo \"bash $BASH_VERSION\"; shopt -q login_shell || echo no login");
    assert!(!run.stdout.contains("canary"), "{}", run.stdout);
    for expected in ["\nTERM=xterm\n", "\nHOME=", "bash 5", "no login"] {
        assert!(format!("\n{}", run.stdout).contains(expected), "{expected}: {}", run.stdout);
    }
    // The home folder is a private one that stays.
    assert_eq!(exec(&env, "ls -A ~; echo kept > ~/note").stdout, "");
    assert_eq!(exec(&env, "cat ~/note").stdout, "kept\n");
    assert!(!home.join("note").exists());
}

#[test]
fn the_folder_of_a_session_is_kept_from_one_line_to_the_next() {
    let env = machine();
    assert_eq!(in_session(&env, "cd sub").code, Some(0));
    assert_eq!(in_session(&env, "cat b.txt; cd /usr").stdout, "b\n");
    // It ended outside of the project, so the last folder in the project still counts.
    assert_eq!(in_session(&env, "pwd").stdout, "[ROOT]/work/p/sub\n");
    assert_eq!(exec(&env, "pwd").stdout, "[ROOT]/work/p\n", "without a session");
    let other = exec_with(&env, &["--session", "y"], "pwd");
    assert_eq!(other.stdout, "[ROOT]/work/p\n", "another session");
    // A caller that moved decides by itself.
    let mut moved =
        env.command(PROGRAM, &["exec", "--session", "x", "--project", "..", "--", "pwd"]);
    fs::create_dir(env.path("p/other")).unwrap();
    let moved = env.output(moved.current_dir(env.path("p/other")));
    assert_eq!(moved.stdout, "[ROOT]/work/p/other\n", "{}", moved.stderr);
}

#[test]
fn exec_never_gives_a_terminal_to_a_program() {
    let env = machine();
    if env.run_args("sh", &["-c", "command -v script"]).code != Some(0) {
        skip("exec on a terminal", "`script` is not there");
        return;
    }
    env.write(
        "p/check.sh",
        b"tty; for fd in 0 1 2; do test -t $fd && echo terminal $fd; done; printf '\\033[2Jx'; head -1",
    );
    let line = format!(
        "cd p && printf 'typed\\n' | script -qec '{PROGRAM} exec -- bash check.sh' /dev/null"
    );
    let run = env.run_args("bash", &["-c", &line]);
    let shown = run.stdout.replace('\r', "");
    assert!(shown.contains("not a tty\n") && !shown.contains("terminal "), "{shown}");
    assert!(shown.contains("\u{241b}[2Jxtyped"), "{shown}");
}

#[test]
fn exec_has_no_time_limit_but_the_callers() {
    let env = machine();
    let begun = Instant::now();
    let run = exec_with(&env, &["--timeout", "1s"], "echo x > late; sleep 60");
    assert_eq!(run.code, Some(124), "{}", run.stderr);
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(run.stderr.contains("nothing was applied"), "{}", run.stderr);
    assert!(!env.path("p/late").exists());
    // More memory than scripts get.
    let big = exec(&env, "python3 -c 'x = bytearray(700 << 20); print(len(x) >> 20)'");
    assert_eq!(big.stdout, "700\n", "{}", big.stderr);
}

#[test]
fn background_processes_live_until_the_session_ends() {
    let env = machine();
    let marker = format!("86399.{}", std::process::id());
    let run =
        in_session(&env, &format!("sleep {marker} >/dev/null 2>&1 & echo started; echo $! > pid"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "started\n"), "{}", run.stderr);
    let is_running = || env.run_args("pgrep", &["-f", &format!("^sleep {marker}")]).code == Some(0);
    assert!(is_running());
    // It is in its own session: another one does not end it.
    assert_eq!(openskills(&env, "exec --session other --end-session").code, Some(0));
    assert!(is_running());
    let ended = end_session(&env);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("ended sleep") || ended.stderr.contains("ended sleep"));
    assert!(!is_running());
    // Without a session they end with the command.
    let alone = exec(&env, &format!("sleep {marker} >/dev/null 2>&1 & echo started"));
    assert_eq!((alone.code, alone.stdout.as_str()), (Some(0), "started\n"));
    assert!(!is_running());
}

#[test]
fn a_server_in_the_background_can_be_used_by_later_commands_of_the_session() {
    let env = machine();
    let server = "python3 -u -m http.server 8766 > server.log 2>&1 & \
                  for i in $(seq 100); do curl -s localhost:8766 >/dev/null && break; sleep 0.1; done; echo up";
    if env.run_args("sh", &["-c", "command -v curl"]).code != Some(0) {
        skip("a server in the background", "`curl` is not there");
        return;
    }
    let run = in_session(&env, server);
    assert_eq!(run.stdout, "up\n", "{}", run.stderr);
    let used = in_session(&env, "curl -s localhost:8766/a.txt; grep -c 'GET / ' server.log");
    assert_eq!(used.stdout, "original\n1\n", "{}", used.stderr);
    // Neither this machine nor another session can reach it.
    let outside = env.run_args("curl", &["-s", "-m", "2", "localhost:8766/a.txt"]);
    assert_ne!(outside.code, Some(0), "{}", outside.stdout);
    let other = exec_with(&env, &["--session", "y"], "curl -s -m 2 localhost:8766/a.txt");
    assert_ne!(other.code, Some(0), "{}", other.stdout);
    assert_eq!(end_session(&env).code, Some(0));
    let log = fs::read_to_string(env.path("p/server.log")).unwrap();
    assert!(log.contains("GET /a.txt"), "what it wrote last is applied: {log}");
}

#[test]
fn writes_are_applied_whatever_the_exit_code_is_and_by_one_command_at_a_time() {
    let env = machine();
    assert_eq!(exec(&env, "echo new > new.txt; rm sub/b.txt; exit 3").code, Some(3));
    assert_eq!(fs::read_to_string(env.path("p/new.txt")).unwrap(), "new\n");
    assert!(!env.path("p/sub/b.txt").exists());
    let mut running: Vec<_> = (0..8)
        .map(|number| {
            let line = format!(
                "sleep 0.3; echo {number} > made-{number}; echo {number} >> sub/own-{number}"
            );
            let mut command = env.command(PROGRAM, &["exec", "--", &line]);
            command.current_dir(env.path("p")).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for child in &mut running {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    for number in 0..8 {
        let made = fs::read_to_string(env.path(&format!("p/made-{number}"))).unwrap();
        assert_eq!(made, format!("{number}\n"));
    }
    assert_eq!(fs::read_dir(env.path("p/sub")).unwrap().count(), 8);
}

#[test]
fn a_conflict_keeps_both_sides_until_the_user_decides() {
    let env = machine();
    // The command says when it runs. The user's change comes after that.
    let conflict = |line: &str| {
        let line = format!("echo ready; {line}");
        let mut command = env.command(PROGRAM, &["exec", "--", &line]);
        let command =
            command.current_dir(env.path("p")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        fs::write(env.path("p/a.txt"), "the user's\n").unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, stderr) = conflict("cat a.txt; echo theirs > a.txt; echo more > more.txt; sleep 2");
    assert_eq!(code, Some(125), "{stderr}");
    assert!(stderr.contains("a.txt: it was changed since the run started"), "{stderr}");
    assert!(!env.path("p/more.txt").exists(), "nothing is applied in part");
    let listed = openskills(&env, "conflicts").stdout;
    let id = listed.split(' ').next().unwrap().to_owned();
    assert!(stderr.contains(&format!("openskills conflicts apply {id}")), "{stderr}");
    assert!(stderr.contains(&format!("openskills conflicts drop {id}")), "{stderr}");
    assert!(listed.contains("2 changes in") && listed.contains("  a.txt: "), "{listed}");
    let applied = openskills(&env, &format!("conflicts apply {id}"));
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert_eq!(fs::read_to_string(env.path("p/a.txt")).unwrap(), "theirs\n");
    assert_eq!(fs::read_to_string(env.path("p/more.txt")).unwrap(), "more\n");
    let (code, _) = conflict("echo again > a.txt; sleep 2");
    assert_eq!(code, Some(125));
    let data: Value = serde_json::from_str(&openskills(&env, "conflicts --json").stdout).unwrap();
    let id = data["kept"][0]["id"].as_str().unwrap();
    assert_eq!(openskills(&env, &format!("conflicts drop {id}")).code, Some(0));
    assert_eq!(fs::read_to_string(env.path("p/a.txt")).unwrap(), "the user's\n");
    assert!(openskills(&env, "conflicts").stderr.contains("no conflicts"));
    let unknown = openskills(&env, &format!("conflicts drop {id}"));
    assert!(
        unknown.code != Some(0) && unknown.stderr.contains("no kept changes"),
        "{}",
        unknown.stderr
    );
    assert_eq!(events(&env, "command.executed")[0]["writes"], "kept");
}

#[test]
fn without_the_full_sandbox_nothing_starts() {
    let env = machine();
    let line = format!(
        "cd p && unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec {PROGRAM} exec -- \"echo ran > ran\"'"
    );
    if env.run_args("bash", &["-c", "unshare -Ur true"]).code != Some(0) {
        skip("exec without user namespaces", "`unshare -Ur` does not work here");
        return;
    }
    let run = env.run_args("bash", &["-c", &line]);
    assert_eq!(run.code, Some(78), "{}", run.stderr);
    assert!(run.stderr.contains("hint: allow user namespaces"), "{}", run.stderr);
    assert!(!env.path("p/ran").exists());
    assert_eq!(events(&env, "command.failed").len(), 1);
}

#[test]
fn a_command_may_do_what_all_active_skills_may_do() {
    let env = machine();
    let granted = |session: &str| {
        let run = exec_with(&env, &["--session", session], "true");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let last = events(&env, "command.started").pop().unwrap();
        let granted: Vec<String> = serde_json::from_value(last["granted"].clone()).unwrap();
        granted.into_iter().filter(|one| one.starts_with("network")).collect::<Vec<_>>()
    };
    for (name, hosts) in [("one", "--net a.example --net b.example"), ("two", "--net b.example")] {
        let approved = openskills(&env, &format!("approve {name} --dir s --yes {hosts}"));
        assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    }
    let activate = |name: &str, session: &str| {
        let run = openskills(&env, &format!("activate {name} --dir s --session {session}"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    };
    assert_eq!(granted("none"), [""; 0]);
    activate("one", "first");
    assert_eq!(granted("first"), ["network: a.example", "network: b.example"]);
    activate("two", "first");
    assert_eq!(granted("first"), ["network: b.example"]);
    activate("plain", "first");
    assert_eq!(granted("first"), [""; 0], "a skill without an approval allows no host");
    // An active skill that changed refuses every line.
    env.write("s/two/SKILL.md", b"---\nname: two\ndescription: changed\n---\n");
    let refused = exec_with(&env, &["--session", "first"], "echo ran > ran");
    assert_eq!(refused.code, Some(125), "{}", refused.stdout);
    assert!(refused.stderr.contains("removed or changed"), "{}", refused.stderr);
    assert!(!env.path("p/ran").exists());
}

#[test]
fn only_approved_hosts_are_reached_through_the_proxy() {
    let env = machine();
    if env.run_args("sh", &["-c", "command -v curl"]).code != Some(0) {
        skip("hosts of command lines", "`curl` is not there");
        return;
    }
    let approved = openskills(&env, "approve one --dir s --yes --net a.example");
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    openskills(&env, "activate one --dir s --session x");
    let run = in_session(
        &env,
        "env | grep -c _proxy=http; curl -s -m 5 http://b.example/; curl -s -m 5 http://127.0.0.1:1/",
    );
    assert!(run.stdout.starts_with('2'), "{}", run.stdout);
    assert!(
        run.stderr.contains("blocked connections to hosts that are not allowed: b.example"),
        "{}",
        run.stderr
    );
    let executed = events(&env, "command.executed").pop().unwrap();
    assert!(
        executed["reached"][0].as_str().unwrap().starts_with("b.example:80 denied"),
        "{executed}"
    );
    let none = exec(&env, "env | grep -c _proxy=http");
    assert_eq!(none.stdout, "0\n");
}

#[test]
fn rules_of_active_skills_deny_lines_before_they_start() {
    let env = machine();
    env.write(
        "s/tight/SKILL.md",
        b"---\nname: tight\ndescription: d\nallowed-tools: Bash(git:*) Read\n---\n",
    );
    let run = openskills(&env, "activate tight --dir s --session x");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let refused = in_session(&env, "ls && rm -rf a.txt");
    assert_eq!(refused.code, Some(125));
    assert!(
        refused.stderr.contains("no rule allows") && refused.stderr.contains("hint: "),
        "{}",
        refused.stderr
    );
    assert!(env.path("p/a.txt").exists());
    // Neither does what needs the user's keys start.
    for line in ["git push", "ssh host", "sudo ls"] {
        let refused = exec(&env, line);
        assert_eq!(refused.code, Some(125), "{line}");
        assert!(refused.stderr.contains("the sandbox does not provide"), "{}", refused.stderr);
    }
}

#[test]
fn every_command_is_in_the_log() {
    let env = machine();
    exec(&env, "echo token=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB; echo x > Makefile; exit 3");
    let started = events(&env, "command.started");
    let executed = events(&env, "command.executed");
    assert_eq!((started.len(), executed.len()), (1, 1));
    assert!(!started[0]["command"].as_str().unwrap().contains("ghp_0"), "{started:?}");
    assert_eq!(executed[0]["ended"], "exit code 3");
    assert_eq!(executed[0]["writes"], "applied");
    assert_eq!(executed[0]["changes"], serde_json::json!(["added Makefile"]));
    assert_eq!(executed[0]["runsLater"], serde_json::json!(["Makefile"]));
    let enforced = executed[0]["enforced"].as_array().unwrap();
    assert!(enforced.contains(&"fs_write".into()) && enforced.contains(&"net_none".into()));
    assert_eq!(openskills(&env, "log verify").code, Some(0));
    // A killed process is noticed by the next one.
    let line = "exec -- sleep 86398".split(' ').collect::<Vec<_>>();
    let mut child = env.command(PROGRAM, &line).current_dir(env.path("p")).spawn().unwrap();
    let begun = Instant::now();
    while events(&env, "command.started").len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    exec(&env, "true");
    assert_eq!(events(&env, "command.interrupted").len(), 1);
    let begun = Instant::now();
    while env.run_args("pgrep", &["-f", "^sleep 86398"]).code == Some(0) {
        assert!(begun.elapsed() < Duration::from_secs(20), "its processes end with it");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(openskills(&env, "log verify").code, Some(0));
}

#[test]
fn a_private_folder_cannot_redirect_the_next_command() {
    let env = machine();
    let outside = env.path("../outside");
    fs::create_dir(&outside).unwrap();
    let target = outside.to_str().unwrap();
    // The next command's mounts would be placed below these names.
    fs::create_dir_all(env.path("../home/.cargo/bin")).unwrap();
    let bin = fs::canonicalize(env.path("../home/.cargo/bin")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let env = env.var("PATH", &path);
    let run = exec(
        &env,
        &format!(
            "ls -d ~/.cargo/bin && rm -rf ~/.cargo ~/.rustup; ln -sfn {target} ~/.rustup; ls -A ~"
        ),
    );
    assert!(run.stdout.starts_with("[ROOT]/home/.cargo/bin\n"), "{} {}", run.stdout, run.stderr);
    let planted = exec(
        &env,
        &format!("mv ~/.cargo ~/x 2>/dev/null; ln -sfn {target} ~/.cargo-link; ls -A ~"),
    );
    assert_eq!(planted.code, Some(0), "{}", planted.stderr);
    let homes = env.path("../home/.cache/openskills/command-homes");
    for entry in fs::read_dir(&homes).unwrap() {
        let own = entry.unwrap().path();
        // As if a command had found a way to replace the folder itself.
        let _ = fs::remove_dir_all(own.join(".cargo"));
        std::os::unix::fs::symlink(&outside, own.join(".cargo")).unwrap();
    }
    let next = exec(&env, "ls -d ~/.cargo/bin");
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was created outside");
}
