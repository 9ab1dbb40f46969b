//! The log on the command line: shown, followed, proven, exported, replayed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Run, TestEnv};

use crate::openskills;

const SKILL: &str = "\
//- /s/pdf/SKILL.md
---
name: pdf
description: d
allowed-tools: Bash(git:*)
---
Body.
//- /s/pdf/notes.md
Notes.
";
const LOG: &str = "../home/.local/state/openskills/log/audit-00000000000000000001.jsonl";

/// A log of an activation, a failure, a read and a decision.
fn logged() -> TestEnv {
    let env = TestEnv::with(SKILL);
    assert_eq!(openskills(&env, "activate pdf --dir s --session one").code, Some(0));
    assert_eq!(openskills(&env, "activate nope --dir s").code, Some(3));
    assert_eq!(openskills(&env, "read pdf notes.md --dir s").code, Some(0));
    let call = ["check-tool", "--dir", "s", "--skill", "pdf", "--tool", "Bash", "--input"];
    let input = r#"{"command": "curl -H 'Authorization: Bearer abc123' x"}"#;
    let denied = env.run_args(env!("CARGO_BIN_EXE_openskills"), &[&call[..], &[input]].concat());
    assert_eq!(denied.code, Some(4));
    env
}

fn events(run: &Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn log_show_prints_and_filters_events() {
    let env = logged();
    let all = events(&openskills(&env, "log show --json"));
    let kinds: Vec<&str> = all.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "log.started",
            "skill.activated",
            "skill.activation_failed",
            "skill.resource_read",
            "policy.decided"
        ],
        "a look at a folder with --dir is no discovery of the machine's"
    );
    let line = std::fs::read_to_string(env.path(LOG)).unwrap();
    let shown = openskills(&env, "log show --json").stdout;
    let stored = line.replace("}\n", ",\"formatVersion\":1}\n");
    assert_eq!(shown, stored, "events are written as they are stored, with the version");
    assert!(!line.contains("abc123"), "secrets are not: {line}");
    for (filter, count) in [
        ("--skill pdf", 3),
        ("--skill s/pdf", 3),
        ("--event skill.", 3),
        ("--event policy.decided", 1),
        ("--session one", 1),
        ("--since 1h", 5),
        ("--until 1h", 0),
        ("--since 2999-01-01", 0),
        ("--from 4", 2),
    ] {
        let run = openskills(&env, &format!("log show {filter} --json"));
        assert_eq!(events(&run).len(), count, "{filter}: {}", run.stdout);
    }
    let table = openskills(&env, "log show").stdout;
    assert!(table.contains("policy.decided") && table.contains("deny Bash curl -H"), "{table}");
    assert_eq!(openskills(&env, "log tail -n 2 --json").stdout.lines().count(), 2);
    let bad = openskills(&env, "log show --since yesterday");
    assert!(bad.code == Some(2) && bad.stderr.contains("is not a time"), "{}", bad.stderr);
    let stats: Value = serde_json::from_str(&openskills(&env, "log stats --json").stdout).unwrap();
    let pdf = &stats["stats"]["skills"]["s/pdf"];
    assert_eq!((pdf["activations"].as_u64(), pdf["resourceReads"].as_u64()), (Some(1), Some(1)));
    assert_eq!(pdf["denied"], 1);
    assert_eq!(stats["stats"]["skills"]["nope"]["activationFailures"], 1);
}

#[test]
fn log_tail_follows_new_events() {
    let env = logged();
    let mut child = env
        .command(
            env!("CARGO_BIN_EXE_openskills"),
            &["log", "tail", "-n", "1", "--follow", "--json"],
        )
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("policy.decided"));
    openskills(&env, "read pdf notes.md --dir s");
    assert!(lines.next().unwrap().unwrap().contains("skill.resource_read"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_modified_log_is_reported_and_stops_later_commands() {
    let env = logged();
    let good = openskills(&env, "log verify");
    assert_eq!(good.code, Some(0), "{}", good.stderr);
    assert!(good.stdout.starts_with("5 events in 1 file: the log is intact\n"), "{}", good.stdout);
    let text = std::fs::read_to_string(env.path(LOG)).unwrap();
    env.write(LOG, text.replace("s/pdf", "s/pdg").as_bytes());
    let bad = openskills(&env, "log verify");
    assert_eq!(bad.code, Some(6));
    assert!(
        bad.stderr.contains(":2: ") || bad.stderr.contains("event 2 was changed"),
        "{}",
        bad.stderr
    );
    let report: Value =
        serde_json::from_str(&openskills(&env, "log verify --json").stdout).unwrap();
    assert_eq!(report["report"]["valid"], false);
    assert_eq!(report["report"]["problems"][0]["seq"], 2);
    let replay = openskills(&env, "replay --dir s");
    assert_eq!(replay.code, Some(6), "{}", replay.stderr);
    // The end is not what was written: nothing is done.
    for command in
        ["activate pdf --dir s", "read pdf notes.md --dir s", "approve pdf --dir s --yes"]
    {
        let run = openskills(&env, command);
        assert_eq!(run.code, Some(6), "{command}: {}", run.stderr);
        assert!(
            run.stdout.is_empty() && run.stderr.contains("openskills log archive"),
            "{}",
            run.stderr
        );
    }
    let failed = openskills(&env, "activate pdf --dir s --json");
    let error: Value = serde_json::from_str(&failed.stdout).unwrap();
    assert_eq!(error["error"]["code"], "log");
    let aside = openskills(&env, "log archive");
    assert!(
        aside.code == Some(0) && aside.stdout.contains("started a new one"),
        "{}",
        aside.stdout
    );
    assert_eq!(openskills(&env, "activate pdf --dir s").code, Some(0));
    // The archive is as damaged as before, and is reported as long as it is there.
    let archived = openskills(&env, "log verify");
    assert!(
        archived.code == Some(6) && archived.stderr.contains("/archive-"),
        "{}",
        archived.stderr
    );
    let state = env.path("../home/.local/state/openskills");
    let archives = std::fs::read_dir(state.join("log")).unwrap().map(Result::unwrap);
    let aside = archives.map(|entry| entry.path()).find(|path| path.join("head.json").exists());
    std::fs::rename(aside.unwrap(), state.join("broken")).unwrap();
    let moved = openskills(&env, "log verify");
    assert!(moved.code == Some(0) && moved.stderr.contains("--archive DIR"), "{}", moved.stderr);
    // A copy can be verified, or one file of it.
    let folder = env.path("../home/.local/state/openskills/log");
    std::fs::create_dir(env.path("copy")).unwrap();
    for name in ["head.json", "audit-00000000000000000001.jsonl"] {
        std::fs::copy(folder.join(name), env.path("copy").join(name)).unwrap();
    }
    assert_eq!(openskills(&env, "log verify copy").code, Some(0));
    let one = openskills(&env, "log verify copy/audit-00000000000000000001.jsonl");
    assert!(one.stderr.contains("not compared with head.json"), "{}", one.stderr);
    let none = openskills(&env, "log verify nowhere");
    assert!(none.code == Some(6) && none.stderr.contains("nowhere"), "{}", none.stderr);
}

#[test]
fn a_full_disk_stops_an_activation() {
    let env = TestEnv::with(SKILL);
    let script = format!(
        "trap '' XFSZ; ulimit -f 0; exec {} activate pdf --dir s",
        env!("CARGO_BIN_EXE_openskills")
    );
    let run = env.run_args("bash", &["-c", &script]);
    assert_eq!(run.code, Some(6), "{}", run.stderr);
    assert!(run.stdout.is_empty() && run.stderr.contains("cannot use the log"), "{}", run.stderr);
}

#[test]
fn replay_compares_with_the_current_skills() {
    let env = logged();
    let run = openskills(&env, "replay --dir s");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("1 same, 0 drifted, 0 gone"), "{}", run.stderr);
    env.write("s/pdf/notes.md", b"Other notes.\n");
    let run = openskills(&env, "replay --dir s --json");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&report["drifted"], &report["events"][0]["status"]),
        (&1.into(), &"drifted".into())
    );
    std::fs::remove_dir_all(env.path("s/pdf")).unwrap();
    assert!(openskills(&env, "replay --dir s").stderr.contains("0 drifted, 1 gone"));
}

#[test]
fn a_log_with_a_key_cannot_be_used_with_another_key() {
    let env = TestEnv::with(SKILL);
    let home = env.path("../home");
    env.write("../home/key", b"an old key of more than thirty-two bytes\n");
    let config =
        format!(r#"{{"schema_version": 1, "log": {{"key_file": "{}/key"}}}}"#, home.display());
    env.write("../home/.config/openskills/config.json", config.as_bytes());
    let skill = std::fs::read(env.path("s/pdf/SKILL.md")).unwrap();
    env.write("../home/.claude/skills/pdf/SKILL.md", &skill);
    let found = openskills(&env, "discover");
    assert!(
        found.code == Some(0) && found.stderr.contains("not recorded in the log"),
        "{}",
        found.stderr
    );
    let run = openskills(&env, "activate pdf --dir s");
    assert!(run.code == Some(6) && run.stderr.contains("chmod 600"), "{}", run.stderr);
    env.run_args("chmod", &["600", home.join("key").to_str().unwrap()]);
    assert_eq!(openskills(&env, "activate pdf --dir s").code, Some(0));
    let good = openskills(&env, "log verify");
    assert!(good.code == Some(0) && !good.stderr.contains("has no key"), "{}", good.stderr);
    env.write("../home/key", b"another key of more than thirty-two bytes\n");
    assert_eq!(openskills(&env, "log verify").code, Some(6));
    assert_eq!(openskills(&env, "activate pdf --dir s").code, Some(6));
    env.write(
        "../home/.config/openskills/config.json",
        br#"{"schema_version": 1, "log": {"keyfile": "/x"}}"#,
    );
    let slip = openskills(&env, "activate pdf --dir s");
    assert!(
        slip.code == Some(2) && slip.stderr.contains("keyfile"),
        "a slip is no log without a key: {}",
        slip.stderr
    );
}

#[test]
fn log_export_writes_json_and_csv() {
    let env = logged();
    let all: Value = serde_json::from_str(&openskills(&env, "log export").stdout).unwrap();
    assert_eq!((all["version"].as_u64(), all["events"].as_array().unwrap().len()), (Some(1), 5));
    let none = openskills(&env, "log export --from 99").stdout;
    let empty = serde_json::json!({ "version": 1, "events": [] });
    assert_eq!(serde_json::from_str::<Value>(&none).unwrap(), empty);
    let csv = openskills(&env, "log export --format csv").stdout;
    assert_eq!(csv.lines().count(), 6);
    assert!(csv.starts_with("seq,time,event,skillId,"), "{csv}");
    let script = "import csv, sys; rows = list(csv.DictReader(sys.stdin)); print(len(rows), rows[4]['decision'], rows[1]['sessionId'])";
    env.write("events.csv", csv.as_bytes());
    let read = env.run_args("bash", &["-c", &format!("python3 -c \"{script}\" < events.csv")]);
    if read.code == Some(127) {
        testkit::skip("CSV read by Python", "`python3` is not there");
    } else {
        assert_eq!(read.stdout, "5 deny one\n", "{}", read.stderr);
    }
}

/// Takes one request and answers it with a status.
fn receive(listener: &TcpListener, status: &str) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello")
        .unwrap();
    (head, body)
}

#[test]
fn log_export_sends_events_and_reports_where_to_resume() {
    let env = logged();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let program = env!("CARGO_BIN_EXE_openskills");
    let words = ["log", "export", "--endpoint", &endpoint, "--header", "X-Key: secret"];
    let child =
        |env: &TestEnv| env.command(program, &words).stderr(Stdio::piped()).spawn().unwrap();
    let running = child(&env);
    let (head, body) = receive(&listener, "200 OK");
    let done = running.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(
        head.starts_with("POST /v1/logs HTTP/1.1") && head.to_lowercase().contains("x-key: secret"),
        "{head}"
    );
    let body: Value = serde_json::from_slice(&body).unwrap();
    let records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    assert_eq!(records.len(), 5);
    assert_eq!(records[4]["severityText"], "WARN");
    for status in ["503 Service Unavailable", "302 Found"] {
        let running = child(&env);
        receive(&listener, status);
        let failed = running.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&failed.stderr);
        assert!(failed.status.code() == Some(2) && stderr.contains("--from 1"), "{stderr}");
        assert!(stderr.contains(&status[..3]) && !stderr.contains("secret"), "{stderr}");
    }
}

/// A collector that others wrote; dropping it ends it.
struct Collector(Child);

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_real_collector_accepts_the_events() {
    let env = logged();
    let found = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .map(|folder| folder.join("rotel-agent"))
            .find(|path| path.is_file())
    });
    let Some(rotel) = found else {
        testkit::skip("a real collector", "`rotel-agent` is not there (pip install rotel)");
        return;
    };
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (http, grpc) = (free(), free());
    let out = std::fs::File::create(env.path("collected")).unwrap();
    let child = std::process::Command::new(rotel)
        .args([
            "start",
            "--exporter",
            "blackhole",
            "--debug-log",
            "logs",
            "--debug-log-verbosity",
            "detailed",
        ])
        .args(["--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc])
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .spawn()
        .unwrap();
    let _collector = Collector(child);
    let within = |what: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !what() {
            assert!(start.elapsed() < Duration::from_secs(30), "the collector does not answer");
            std::thread::yield_now();
        }
    };
    within(&|| std::net::TcpStream::connect(&http).is_ok());
    let run = openskills(&env, &format!("log export --endpoint http://{http}"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let seen = || std::fs::read_to_string(env.path("collected")).unwrap();
    within(&|| seen().contains("EventName: policy.decided"));
    for expected in [
        "service.name: Str(openskills)",
        "EventName: skill.activated",
        "SeverityNumber: SEVERITY_NUMBER_WARN(13)",
        "openskills.seq: Int(5)",
        "openskills.decision: Str(deny)",
    ] {
        assert!(seen().contains(expected), "{expected} is not in\n{}", seen());
    }
}

#[test]
fn an_untrusted_log_cannot_cause_a_crash_or_control_the_terminal() {
    let env = TestEnv::with(SKILL);
    // Events that lack what they should have, and text that would steer a terminal or a spreadsheet.
    let lines = [
        r#"{"seq":1,"prev":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","time":"t","event":"skill.script_executed","skillId":"x"}"#,
        r#"{"seq":2,"prev":"x","time":"t","event":"log.recovered"}"#,
        r#"{"seq":18446744073709551615,"prev":"x","time":"t","event":"skill.activated","skillId":"=1+1","hash":"\u001b[2J\u009b"}"#,
    ];
    env.write("strange.jsonl", (lines.join("\n") + "\n").as_bytes());
    for arguments in [
        "log show strange.jsonl",
        "log show strange.jsonl --json",
        "log tail strange.jsonl",
        "log stats strange.jsonl",
        "log export strange.jsonl --format csv",
        "log export strange.jsonl --format otlp",
        "log export strange.jsonl",
    ] {
        let run = openskills(&env, arguments);
        assert_eq!(run.code, Some(0), "{arguments}: {}", run.stderr);
        assert!(!run.stdout.contains(['\u{1b}', '\u{9b}']), "{arguments}: {:?}", run.stdout);
    }
    assert_eq!(openskills(&env, "log verify strange.jsonl").code, Some(6));
    env.write("strange.jsonl", b"{}\n");
    let bad = openskills(&env, "log show strange.jsonl");
    assert!(bad.code == Some(6) && bad.stderr.contains("strange.jsonl:1: "), "{}", bad.stderr);
    for (endpoint, expected) in [
        ("localhost:4318", "is not an http:// or https:// URL"),
        ("file:///etc/passwd", "is not an http:// or https:// URL"),
        ("http://me:s3cret@127.0.0.1:1", "cannot reach"),
    ] {
        let run = openskills(&env, &format!("log export --endpoint {endpoint} --from 1"));
        let is_empty = run.stderr.contains("sent 0 events");
        assert!(run.stderr.contains(expected) || is_empty, "{endpoint}: {}", run.stderr);
        assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
    }
}
