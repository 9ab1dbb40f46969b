//! Executions that something ends before they end by themselves: signals, kills, clients that go. Each is in the log.

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::TestEnv;

use crate::mcp::{Client, running};
use crate::openskills;

const SKILLS: &str = "\
//- /s/waits/SKILL.md
---
name: waits
description: Writes, and waits.
---
Wait.
//- /s/waits/scripts/wait.sh
echo half > half
exec sleep \"$1\"
//- /s/quick/SKILL.md
---
name: quick
description: Is done at once.
---
Quick.
//- /s/quick/scripts/quick.sh
echo quick > made
//- /work/kept
original
";

/// Returns a time to sleep that no other process sleeps for.
fn word() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}.{count}", 100_000 + std::process::id())
}

fn machine() -> TestEnv {
    let env = TestEnv::with(SKILLS);
    for approval in ["waits --direct-writes --deletions", "quick"] {
        let run = openskills(&env, &format!("approve {approval} --dir s --yes"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    env
}

/// Waits until something is so. What is waited for is seen by looking, so it takes no longer than it does.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a script that waits, and returns once it has written its file.
fn start(env: &TestEnv, flags: &str) -> (Child, String) {
    let word = word();
    let line = format!("run waits --dir s --workspace work --timeout 5m {flags} -- {word}");
    let child = env
        .command(env!("CARGO_BIN_EXE_openskills"), &line.split_whitespace().collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the script runs", || running(&format!("sleep\0{word}")));
    (child, word)
}

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

fn events(env: &TestEnv, kinds: &str) -> Vec<Value> {
    let shown = openskills(env, &format!("log show --json --event {kinds}"));
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    shown.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the cache of what killed runs left: how many folders, how many bytes.
fn left(env: &TestEnv) -> (u64, u64) {
    let shown: Value = serde_json::from_str(&openskills(env, "cache --json").stdout).unwrap();
    let all = shown["caches"].as_array().unwrap();
    let runs = all.iter().find(|cache| cache["kind"] == "runs").unwrap();
    (runs["files"].as_u64().unwrap(), runs["bytes"].as_u64().unwrap())
}

#[test]
fn a_signal_ends_all_processes_applies_nothing_and_is_logged() {
    for (name, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        let env = machine();
        let (mut child, word) = start(&env, "");
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(128 + number), "{name}");
        assert!(!running(&word), "the whole tree is gone");
        assert!(!env.path("work/half").exists(), "nothing is applied");
        let started = events(&env, "skill.script_started");
        let executed = events(&env, "skill.script_executed");
        assert_eq!((started.len(), executed.len()), (1, 1), "{name}");
        assert_eq!(started[0]["executionId"], executed[0]["executionId"]);
        assert_eq!(started[0]["process"]["pid"], child.id());
        assert!(
            started[0]["process"]["started"].is_u64()
                && started[0]["process"]["bootId"].is_string()
        );
        assert_eq!(executed[0]["ended"], json!({"how": "interrupted", "signal": number}));
        assert_eq!(executed[0]["record"]["exit_status"], "failed");
        assert_eq!(executed[0]["mayHaveWritten"], false);
        assert_eq!(left(&env).0, 0, "its copies are gone");
        assert_eq!(openskills(&env, "log verify").code, Some(0));
    }
}

/// `nohup` and `&` of a shell start programs so.
#[test]
fn signals_ignored_at_startup_stay_ignored() {
    let env = machine();
    let word = word();
    let program = env!("CARGO_BIN_EXE_openskills");
    let line = format!(
        "trap '' HUP INT; exec {program} run waits --dir s --workspace work --timeout 5m -- {word}"
    );
    let mut child = env.command("bash", &["-c", &line]).spawn().unwrap();
    until("the script runs", || running(&format!("sleep\0{word}")));
    for name in ["-HUP", "-INT", "-TERM"] {
        signal(&child, name);
    }
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let executed = events(&env, "skill.script_executed");
    assert_eq!(executed[0]["ended"], json!({"how": "interrupted", "signal": 15}));
}

#[test]
fn an_interrupted_run_with_direct_writes_is_logged_as_such() {
    let env = machine();
    let (mut child, word) = start(&env, "--direct-writes --deletions");
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(!running(&word));
    assert!(env.path("work/half").exists(), "it was written while it ran");
    let executed = events(&env, "skill.script_executed");
    assert_eq!(executed[0]["writes"], "direct");
    assert_eq!(executed[0]["mayHaveWritten"], true);
    let shown = openskills(&env, "log show --event skill.script_executed").stdout;
    assert!(
        shown.contains("interrupted by signal 15; the workspace may have been changed"),
        "{shown}"
    );
}

#[test]
fn the_next_command_logs_a_killed_run_and_removes_its_copies() {
    for (flags, has_written) in [("", false), ("--direct-writes --deletions", true)] {
        let env = machine();
        let (mut child, word) = start(&env, flags);
        // One that still runs is never taken for a killed one, whoever writes the log meanwhile.
        let (mut other, other_word) = start(&env, "");
        assert_eq!(openskills(&env, "run quick --dir s").code, Some(0));
        assert_eq!(events(&env, "skill.script_interrupted").len(), 0);
        assert_eq!(left(&env).0, 0);
        child.kill().unwrap();
        child.wait().unwrap();
        until("the tree ends with its parent", || !running(&word));
        assert_eq!(env.path("work/half").exists(), has_written);
        let (folders, bytes) = left(&env);
        assert!(folders > 0 && bytes > 0, "its copies are listed");
        // Anything that writes the log records it, once.
        assert_eq!(openskills(&env, "activate quick --dir s").code, Some(0));
        assert_eq!(openskills(&env, "activate quick --dir s --again").code, Some(0));
        let gone = events(&env, "skill.script_interrupted");
        assert_eq!(gone.len(), 1, "{gone:?}");
        assert_eq!(gone[0]["process"]["pid"], child.id());
        assert_eq!(gone[0]["skillId"], "s/waits");
        assert_eq!(gone[0]["script"], "scripts/wait.sh");
        assert_eq!(gone[0]["mayHaveWritten"], has_written);
        let started = events(&env, "skill.script_started");
        assert_eq!(started[0]["executionId"], gone[0]["executionId"]);
        // The next run removes what is left; the copies of the one that runs stay.
        assert_eq!(openskills(&env, "run quick --dir s").code, Some(0));
        assert_eq!(left(&env), (0, 0));
        assert!(running(&other_word));
        signal(&other, "-INT");
        assert_eq!(other.wait().unwrap().code(), Some(130));
        assert_eq!(events(&env, "skill.script_interrupted").len(), 1);
        assert_eq!(openskills(&env, "log verify").code, Some(0));
    }
}

const OPEN: &str = "../home/.local/state/openskills/log/open";

#[test]
fn a_run_marker_counts_only_if_the_log_confirms_it() {
    let env = machine();
    assert_eq!(openskills(&env, "run quick --dir s --workspace work").code, Some(0));
    let done = events(&env, "skill.applied");
    assert_eq!(done.len(), 1);
    let done = done[0]["executionId"].as_str().unwrap().to_owned();
    // An execution that never was, one that ended well, and what a marker may not be called.
    let said = br#"{"skill_id":"s/forged","session_id":"x","script":"x","started_at":"2026-01-01T00:00:00Z","writes":"apply","process":{"pid":1}}"#;
    for name in [&"0".repeat(32), &done] {
        env.write(&format!("{OPEN}/{name}.json"), said);
    }
    assert_eq!(openskills(&env, "activate quick --dir s").code, Some(0));
    assert_eq!(events(&env, "skill.script_interrupted").len(), 0);
    assert_eq!(events(&env, "skill.apply_interrupted").len(), 0);
    assert_eq!(std::fs::read_dir(env.path(OPEN)).unwrap().count(), 0, "they are removed");
    // What a marker says of a real one does not count, and its end is recorded once, whoever puts the marker back.
    let (mut child, word) = start(&env, "");
    let marker = std::fs::read_dir(env.path(OPEN)).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&marker, said).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    until("the tree ends with its parent", || !running(&word));
    for _ in 0..2 {
        assert_eq!(openskills(&env, "activate quick --dir s --again").code, Some(0));
        assert!(!marker.exists());
        std::fs::write(&marker, said).unwrap();
    }
    let gone = events(&env, "skill.script_interrupted");
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert_eq!((&gone[0]["skillId"], &gone[0]["writes"]), (&json!("s/waits"), &json!("dropped")));
    assert_eq!(
        (&gone[0]["mayHaveWritten"], &gone[0]["process"]["pid"]),
        (&json!(false), &json!(child.id()))
    );
    assert_eq!(openskills(&env, "log verify").code, Some(0));
    // One whose marker was removed is reported by the log itself.
    let (mut child, word) = start(&env, "");
    let id = events(&env, "skill.script_started").pop().unwrap()["executionId"].clone();
    std::fs::remove_dir_all(env.path(OPEN)).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    until("the tree ends with its parent", || !running(&word));
    assert_eq!(openskills(&env, "activate quick --dir s --again").code, Some(0));
    let told = openskills(&env, "log verify");
    let expected = format!("execution {} started at ", id.as_str().unwrap());
    assert!(told.code == Some(0) && told.stderr.contains(&expected), "{}", told.stderr);
}

/// Starts a run that changes many files, and returns once they are being prepared beside the workspace's own.
fn committing() -> (TestEnv, Child) {
    let env = machine();
    env.write("s/quick/scripts/many.sh", b"for i in $(seq 6000); do : > new-$i; done\n");
    assert_eq!(openskills(&env, "approve quick --dir s --yes").code, Some(0));
    let line = "run quick many.sh --dir s --workspace work";
    let child = env
        .command(env!("CARGO_BIN_EXE_openskills"), &line.split_whitespace().collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("its changes are prepared", || in_work(&env, ".openskills-") == 1);
    (env, child)
}

fn in_work(env: &TestEnv, start: &str) -> usize {
    let names = std::fs::read_dir(env.path("work")).unwrap().map(|one| one.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with(start)).count()
}

#[test]
fn a_signal_before_the_first_change_applies_nothing() {
    let (env, mut child) = committing();
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!((in_work(&env, "new-"), in_work(&env, ".openskills-")), (0, 0));
    let failed = events(&env, "skill.apply_failed");
    assert_eq!((failed.len(), &failed[0]["signal"]), (1, &json!(15)), "{failed:?}");
    assert_eq!(events(&env, "skill.applied").len(), 0);
    assert_eq!(events(&env, "skill.script_executed").len(), 1);
}

#[test]
fn a_kill_while_changes_are_applied_is_logged_separately() {
    let (env, mut child) = committing();
    child.kill().unwrap();
    child.wait().unwrap();
    for _ in 0..2 {
        assert_eq!(openskills(&env, "activate quick --dir s --again").code, Some(0));
    }
    let executed = events(&env, "skill.script_executed");
    assert_eq!((executed.len(), events(&env, "skill.script_interrupted").len()), (1, 0));
    let gone = events(&env, "skill.apply_interrupted");
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert_eq!(gone[0]["executionId"], executed[0]["executionId"]);
    assert_eq!((&gone[0]["changeCount"], &gone[0]["mayHaveWritten"]), (&json!(6000), &json!(true)));
    assert_eq!(openskills(&env, "log verify").code, Some(0));
}

#[test]
fn a_file_size_limit_is_an_error_and_kills_no_process() {
    let env = machine();
    let program = env!("CARGO_BIN_EXE_openskills");
    let mut refused = 0;
    for blocks in 1..14 {
        let line = format!("ulimit -f {blocks}; exec {program} run quick --dir s");
        let run = env.command("bash", &["-c", &line]).output().unwrap();
        assert!(run.status.code().is_some(), "{blocks}: {:?}", run.status);
        refused += usize::from(run.status.code() == Some(125));
        assert_eq!(openskills(&env, "activate quick --dir s --again").code, Some(0));
    }
    // Where the log had room for the start alone, the next command records the end: each start has one, and no end is without.
    let ids = |kinds: &str| -> Vec<Value> {
        events(&env, kinds).into_iter().map(|one| one["executionId"].clone()).collect()
    };
    let mut started: Vec<String> =
        ids("skill.script_started").iter().map(ToString::to_string).collect();
    let ends = ["skill.script_executed", "skill.script_failed", "skill.script_interrupted"];
    let mut ended: Vec<String> = ends.into_iter().flat_map(ids).map(|id| id.to_string()).collect();
    started.sort();
    ended.sort();
    assert_eq!(started, ended);
    assert!(refused > 0, "some limits are too small for the log");
    assert_eq!(openskills(&env, "log verify").code, Some(0));
}

#[test]
fn cache_clear_removes_only_leftovers_of_killed_runs() {
    let env = machine();
    let (mut killed, word) = start(&env, "");
    let (mut other, other_word) = start(&env, "");
    killed.kill().unwrap();
    killed.wait().unwrap();
    until("the tree ends with its parent", || !running(&word));
    let shown = openskills(&env, "cache").stdout;
    assert!(shown.contains("runs") && shown.contains("2 folders"), "{shown}");
    assert_eq!(openskills(&env, "cache clear runs").code, Some(0));
    assert_eq!(left(&env), (0, 0));
    let runs = env.path("../home/.cache/openskills/runs");
    let folders = std::fs::read_dir(runs).unwrap().filter_map(Result::ok);
    let folders = folders.filter(|entry| entry.file_type().unwrap().is_dir()).count();
    assert!(running(&other_word) && folders == 2, "the other one keeps its copy and its workspace");
    signal(&other, "-TERM");
    other.wait().unwrap();
}

#[test]
fn a_signaled_server_ends_its_scripts_and_logs_the_signal() {
    let env = machine();
    let word = word();
    let mut client = Client::start_with(&env, &["mcp", "--dir", "s", "--workspace", "work"]);
    let arguments =
        json!({"name": "waits", "args": [word], "use_workspace": true, "timeout_seconds": 300});
    client.request("tools/call", &json!({"name": "skills.run_script", "arguments": arguments}));
    until("the script runs", || running(&format!("sleep\0{word}")));
    signal(client.child(), "-TERM");
    assert_eq!(client.child().wait().unwrap().code(), Some(0), "clients end servers by TERM");
    assert!(!running(&word) && !env.path("work/half").exists());
    let executed = events(&env, "skill.script_executed");
    assert_eq!(executed[0]["ended"], json!({"how": "interrupted", "signal": 15}));
    assert!(executed[0]["sessionId"].as_str().unwrap().starts_with("mcp-"));
}

#[test]
fn disconnected_clients_and_killed_servers_are_logged() {
    let env = machine();
    let call = |client: &mut Client, word: &str| {
        let arguments = json!({"name": "waits", "args": [word], "timeout_seconds": 300});
        client.request("tools/call", &json!({"name": "skills.run_script", "arguments": arguments}));
        until("the script runs", || running(&format!("sleep\0{word}")));
    };
    let (first, second) = (word(), word());
    let mut client = Client::start_with(&env, &["mcp", "--dir", "s"]);
    call(&mut client, &first);
    client.go();
    assert!(!running(&first));
    let executed = events(&env, "skill.script_executed");
    assert_eq!(executed[0]["ended"], json!({"how": "cancelled"}), "{executed:?}");
    let mut client = Client::start_with(&env, &["mcp", "--dir", "s"]);
    call(&mut client, &second);
    client.child().kill().unwrap();
    client.child().wait().unwrap();
    until("the tree ends with its parent", || !running(&second));
    assert_eq!(openskills(&env, "run quick --dir s").code, Some(0));
    let gone = events(&env, "skill.script_interrupted");
    assert_eq!(gone.len(), 1);
    assert_eq!(gone[0]["mayHaveWritten"], false);
    assert_eq!(left(&env), (0, 0));
}

#[test]
fn every_end_event_follows_its_start_event() {
    let env = machine();
    env.write("s/quick/scripts/slow.sh", b"while :; do :; done\n");
    env.write("s/quick/scripts/fails.sh", b"exit 3\n");
    env.write("s/quick/scripts/deletes.sh", b"rm kept\n");
    assert_eq!(openskills(&env, "approve quick --dir s --yes").code, Some(0));
    let run = |words: &str| openskills(&env, &format!("run quick {words} --dir s")).code;
    assert_eq!(run("quick.sh --workspace work"), Some(0));
    assert_eq!(run("fails.sh"), Some(3));
    assert_eq!(run("slow.sh --timeout 1s"), Some(124));
    assert_eq!(run("deletes.sh --workspace work"), Some(125), "deletions were not approved");
    let started = events(&env, "skill.script_started");
    let executed = events(&env, "skill.script_executed");
    let ids = |all: &[Value]| all.iter().map(|one| one["executionId"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&started), ids(&executed));
    let ends: Vec<&Value> = executed.iter().map(|one| &one["ended"]["how"]).collect();
    assert_eq!(ends, ["exited", "exited", "timeout", "exited"]);
    assert!(
        started
            .iter()
            .zip(&executed)
            .all(|(start, end)| start["seq"].as_u64() < end["seq"].as_u64())
    );
    let failed = events(&env, "skill.apply_failed");
    assert_eq!(failed[0]["executionId"], executed[3]["executionId"]);
    // One that cannot be started ends as well.
    env.write("s/quick/wasm/broken.wasm", b"\0asm\x01\0\0\0junk");
    assert_eq!(openskills(&env, "approve quick --dir s --yes").code, Some(0));
    assert_eq!(run("broken.wasm"), Some(125));
    let started = events(&env, "skill.script_started");
    let failed = events(&env, "skill.script_failed");
    assert_eq!((started.len(), failed.len()), (5, 1));
    assert_eq!(failed[0]["executionId"], started[4]["executionId"]);
    assert_eq!(failed[0]["mayHaveWritten"], false);
    let stats: Value = serde_json::from_str(&openskills(&env, "log stats --json").stdout).unwrap();
    let quick = &stats["stats"]["skills"]["s/quick"];
    assert_eq!(
        (quick["scriptRuns"].as_u64(), quick["scriptFailures"].as_u64()),
        (Some(5), Some(3))
    );
    // A log that cannot be written stops the start: nothing runs that is not recorded.
    let log = env.path("../home/.local/state/openskills/log");
    let head = std::fs::read(log.join("head.json")).unwrap();
    std::fs::write(log.join("head.json"), "{}").unwrap();
    std::fs::remove_file(env.path("work/made")).unwrap();
    assert_ne!(run("quick.sh --workspace work"), Some(0));
    assert!(!env.path("work/made").exists());
    std::fs::write(log.join("head.json"), head).unwrap();
    assert_eq!(openskills(&env, "log verify").code, Some(0));
}

#[test]
fn a_signal_ends_a_module_in_the_same_process() {
    let env = TestEnv::with(
        "//- /s/spin/SKILL.md\n---\nname: spin\ndescription: d\nallowed-tools: Read\n---\nBody.\n",
    );
    let module =
        r#"(module (memory (export "memory") 1) (func (export "_start") (loop $l (br $l))))"#;
    env.write("s/spin/wasm/skill.wasm", &wat::parse_str(module).unwrap());
    assert_eq!(openskills(&env, "approve spin --dir s --yes").code, Some(0));
    let words = "run spin --dir s --wasm-stage never --timeout 5m";
    let mut child = env
        .command(env!("CARGO_BIN_EXE_openskills"), &words.split_whitespace().collect::<Vec<_>>())
        .spawn()
        .unwrap();
    until("it is recorded", || events(&env, "skill.script_started").len() == 1);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let executed = events(&env, "skill.script_executed");
    assert_eq!(executed[0]["ended"], json!({"how": "interrupted", "signal": 2}));
}

/// The sandbox of a run is got ready while its skill is looked for. Where no run follows, it ends with the program.
#[test]
#[cfg(target_os = "linux")]
fn an_unused_sandbox_ends_with_the_program() {
    let env = machine();
    // A name of its own, which tells its processes from those of other tests.
    let program = env.path("openskills-alone");
    // Written by another process: one of this, started meanwhile by another test, would keep it open, and nothing runs that is open for writing.
    let copied = std::process::Command::new("cp")
        .args([env!("CARGO_BIN_EXE_openskills"), program.to_str().unwrap()])
        .status();
    assert!(copied.unwrap().success());
    let refused = env.run(program.to_str().unwrap(), "run nothing --dir s");
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    assert!(refused.stderr.contains("nothing"), "{}", refused.stderr);
    until("the stage ends", || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let mut programs =
            processes.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok());
        !programs.any(|running| running == program)
    });
    let ran = env.run(program.to_str().unwrap(), "run quick --dir s --workspace work");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(env.path("work/made").exists());
}
