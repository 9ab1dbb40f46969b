//! Scripts of skills run in the sandbox: with approval, from what was approved, and with nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::{Run, TestEnv};

use crate::openskills;

const SKILLS: &str = "\
//- /s/hello/SKILL.md
---
name: hello
description: d
metadata:
  version: '1.2'
---
Body.
//- /s/hello/scripts/hi.py
import os, sys
print(os.environ['SKILL_NAME'], *sys.argv[1:])
open('made', 'w').write('x')
//- /s/many/SKILL.md
---
name: many
description: d
allowed-tools: Bash, WebFetch, Read, Write
allow-degraded: all
---
Body.
//- /s/many/scripts/code.sh
exit ${1:-42}
//- /s/many/scripts/spin.sh
while :; do :; done
//- /s/many/scripts/hungry.py
x = bytearray()
while True: x += b'y' * (1 << 20)
//- /s/many/scripts/delete.sh
rm -f kept; echo new > new
//- /s/many/scripts/secret.sh
cat \"$1\"; env; ls \"$HOME/..\"
//- /s/many/scripts/which.sh
command -v python3; python3 -c 'print(1)'
//- /s/many/scripts/hook.sh
mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo x > plain
//- /s/many/scripts/plain
echo plain
//- /s/many/scripts/odd.lua
print(1)
//- /s/many/scripts/input.py
import sys; print(sys.stdin.read())
//- /s/many/scripts/flood.py
import os
name = '\\x01' * 250
for _ in range(12):
    os.mkdir(name); os.chdir(name)
for i in range(3000): open('\\x01' * 240 + str(i), 'w')
//- /s/many/scripts/alike.py
import random
random.seed(1)
open('kept', 'w').write(''.join(chr(97 + random.randrange(3)) + '\\n' for _ in range(120000)))
//- /s/many/scripts/rights.sh
chmod 755 kept; printf x > 'a
b'
//- /work/kept
original
";

/// A machine with skills, approved where `names` says so.
fn machine(names: &[&str]) -> TestEnv {
    let env = TestEnv::with(SKILLS);
    for name in names {
        let run = openskills(&env, &format!("approve {name} --dir s --yes"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    env
}

fn run(env: &TestEnv, arguments: &str) -> Run {
    openskills(env, &format!("run {arguments} --dir s"))
}

#[test]
fn nothing_runs_without_approval_or_beyond_it() {
    let env = machine(&[]);
    let refused = run(&env, "hello --workspace work");
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("hint: run `openskills approve s/hello --dir s"),
        "{}",
        refused.stderr
    );
    assert!(!env.path("work/made").exists());
    let once = run(&env, "hello --workspace work --approve-once");
    assert_eq!((once.code, once.stdout.as_str()), (Some(0), "hello\n"), "{}", once.stderr);
    assert!(env.path("work/made").exists());
    assert_eq!(run(&env, "hello").code, Some(125), "once is once");
    assert_eq!(openskills(&env, "approve hello --dir s --yes").code, Some(0));
    let done = env.run_args(
        env!("CARGO_BIN_EXE_openskills"),
        &["execute", "hello", "hi.py", "--dir", "s", "--", "a b", "--json"],
    );
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "hello a b --json\n"),
        "{}",
        done.stderr
    );
    // A script that changed is not what was approved.
    env.write("s/hello/scripts/hi.py", b"print('evil')\n");
    assert_eq!(run(&env, "hello").code, Some(125));
    let events = openskills(&env, "log show --json --event skill.script_executed").stdout;
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["record"]["exit_status"], "success");
    assert_eq!(events[0]["record"]["version"], "1.2");
    assert_eq!(events[0]["changes"], serde_json::json!(["added made"]));
    assert!(events[0]["enforced"].as_array().unwrap().contains(&"fs_read".into()));
    assert_eq!(openskills(&env, "log verify").code, Some(0));
}

#[test]
fn run_asks_for_approval_on_a_terminal() {
    let env = machine(&[]);
    if env.run_args("sh", &["-c", "command -v script"]).code != Some(0) {
        testkit::skip("a run on a terminal", "`script` is not there");
        return;
    }
    let program = env!("CARGO_BIN_EXE_openskills");
    let typed = |answer: &str| {
        let line = format!(
            "printf '{answer}\\n' | script -qec '{program} run hello --dir s' /dev/null; exit $?"
        );
        env.run_args("bash", &["-c", &line])
    };
    let no = typed("n");
    assert!(no.code == Some(125) && no.stdout.contains("Run it? [o]nce"), "{}", no.stdout);
    let once = typed("o");
    assert!(once.code == Some(0) && once.stdout.contains("hello"), "{}", once.stdout);
    assert_eq!(openskills(&env, "approvals list").stdout, "");
    assert_eq!(typed("a").code, Some(0));
    assert_eq!(run(&env, "hello").code, Some(0), "from now on");
}

#[test]
fn exit_codes_limits_and_invalid_input_are_reported() {
    let env = machine(&["many"]);
    fs::set_permissions(env.path("s/many/scripts/plain"), fs::Permissions::from_mode(0o755))
        .unwrap();
    openskills(&env, "approve many --dir s --yes");
    for (arguments, code, told) in [
        ("many code.sh", 42, ""),
        ("many spin.sh --timeout 1s", 124, "timed out after"),
        ("many hungry.py --memory 60", 137, "exceeded the memory limit"),
        ("many", 125, "it has several scripts or modules; specify one of"),
        ("many nope.sh", 125, "available: scripts/alike.py"),
        ("many scripts/code.shh", 125, "did you mean `scripts/code.sh`"),
        ("many plain", 125, "cannot tell how to run"),
        ("many SKILL.md", 125, "cannot tell how to run"),
        ("many code.sh --workspace /", 125, "it contains your home folder"),
        ("many code.sh --workspace nowhere", 125, "nowhere"),
        ("many code.sh --input {", 125, "`--input` is not valid JSON"),
        ("many code.sh --env LD_PRELOAD", 125, "LD_PRELOAD"),
        ("many code.sh --net a/b", 2, "is not a host"),
        ("many code.sh --allow-degraded all", 2, "unknown guarantee `all`"),
        ("missing", 125, "no skill named `missing`"),
    ] {
        let done = run(&env, arguments);
        assert_eq!(done.code, Some(code), "{arguments}: {}{}", done.stdout, done.stderr);
        assert!(done.stderr.contains(told), "{arguments}: {}", done.stderr);
    }
    let home = env.path("../home");
    let done = run(&env, &format!("many code.sh --workspace {}", home.display()));
    assert!(
        done.code == Some(125) && done.stderr.contains("it contains your home folder"),
        "{}",
        done.stderr
    );
    let done = run(&env, "many input.py --input {\"a\":1}");
    assert_eq!(done.stdout, "{\"a\":1}\n", "{}", done.stderr);
    let done = run(&env, "many code.sh --json");
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((done.code, &report["exitCode"]), (Some(42), &42.into()));
    assert_eq!(report["record"]["exit_status"], "failed");
    env.write("s/many/scripts/odd.rb", b"puts 1");
    let failed: Value = serde_json::from_str(&run(&env, "missing --json").stdout).unwrap();
    assert_eq!(failed["error"]["code"], "skill-not-found");
}

#[test]
fn only_approved_changes_are_applied_after_the_run() {
    let env = machine(&["many", "hello"]);
    let dry = run(&env, "hello --workspace work --dry-run");
    assert!(
        dry.code == Some(0)
            && dry
                .stderr
                .contains("changes that a real run would make in the workspace:\n  added made"),
        "{}",
        dry.stderr
    );
    assert!(dry.stderr.contains("+++ b/made\n@@ -0,0 +1 @@\n+x"), "{}", dry.stderr);
    let dry = run(&env, "many delete.sh --workspace work --dry-run");
    assert!(
        dry.stderr.contains("--- a/kept\n+++ b/kept\n@@ -1 +0,0 @@\n-original"),
        "{}",
        dry.stderr
    );
    assert!(!env.path("work/made").exists() && env.path("work/kept").exists());
    let refused = run(&env, "many delete.sh --workspace work");
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("it would delete `kept`, which was not approved"),
        "{}",
        refused.stderr
    );
    assert!(env.path("work/kept").exists() && !env.path("work/new").exists(), "all or nothing");
    let asked = run(&env, "many delete.sh --workspace work --deletions");
    assert!(asked.code == Some(125) && asked.stderr.contains("--deletions"), "{}", asked.stderr);
    openskills(&env, "approve many --dir s --deletions --yes");
    let done = run(&env, "many delete.sh --workspace work --deletions");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!env.path("work/kept").exists() && env.path("work/new").exists());
    let hook = run(&env, "many hook.sh --workspace work");
    assert!(
        hook.code == Some(125) && hook.stderr.contains("its name is protected"),
        "{}",
        hook.stderr
    );
    assert!(!env.path("work/.git").exists() && !env.path("work/plain").exists());
    openskills(&env, "approve many --dir s --direct-writes --deletions --yes");
    let direct = run(&env, "many hook.sh --workspace work --direct-writes --deletions");
    assert!(env.path("work/plain").exists(), "{}", direct.stderr);
    assert!(
        direct.code == Some(125) && direct.stderr.contains("the protected name"),
        "{}",
        direct.stderr
    );
    assert!(!env.path("work/.git").exists(), "a new one does not stay");
    let state = env.path("../home/.local/state/openskills");
    let own = run(&env, &format!("hello --workspace {}", state.display()));
    assert!(
        own.code == Some(125) && own.stderr.contains("it contains openskills or csk files"),
        "{}",
        own.stderr
    );
    let own = run(&env, &format!("hello --workspace {}", env.path("../home/.local").display()));
    assert_eq!(own.code, Some(125), "{}", own.stderr);
}

/// How much a script changes, and how it calls it, harms neither the log nor whoever looks.
#[test]
fn a_script_cannot_flood_the_log_or_the_reader() {
    let env = machine(&["many"]);
    let flood = run(&env, "many flood.py --workspace work --dry-run");
    assert_eq!(flood.code, Some(0), "{}", &flood.stderr[..flood.stderr.len().min(500)]);
    assert!(flood.stderr.len() < 64 << 20 && flood.stderr.contains("more"));
    assert_eq!(openskills(&env, "log verify").code, Some(0));
    let log = openskills(&env, "log show --json").stdout;
    let event = log.lines().last().unwrap();
    assert!(
        event.contains("\"writes\":\"dry-run\"") && event.contains("\"changeCount\":3012"),
        "{}",
        &event[..800]
    );
    assert!(event.len() < 512 << 10);
    // Comparing has an end, however alike lines are.
    env.write("work/kept", "a\nb\nc\n".repeat(40_000).as_bytes());
    let started = std::time::Instant::now();
    assert_eq!(run(&env, "many alike.py --workspace work --dry-run").code, Some(0));
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    let odd = run(&env, "many rights.sh --workspace work --dry-run");
    assert!(
        odd.stderr.contains("kept: permissions changed") && odd.stderr.contains("a\\nb"),
        "{}",
        odd.stderr
    );
    // What a dry run shows and a real one would refuse is said.
    let gone = run(&env, "many delete.sh --workspace work --dry-run");
    let note = "without --dry-run, this run would be refused: it would delete `kept`,";
    assert!(gone.stderr.contains(note), "{}", gone.stderr);
    let refused = run(&env, "many delete.sh --workspace work");
    assert_eq!(refused.code, Some(125));
    let log = openskills(&env, "log show --json").stdout;
    assert!(log.contains("skill.apply_failed") && log.contains("\"writes\":\"apply\""), "{log}");
}

#[test]
fn a_run_gets_no_ungranted_variables_files_or_interpreters() {
    let env = machine(&["many"]).var("SECRET_TOKEN", "canary-in-env").var("LD_PRELOAD", "");
    env.write("../home/secret", b"canary-in-home\n");
    let secret = env.path("../home/secret");
    let done = env.run_args(
        env!("CARGO_BIN_EXE_openskills"),
        &[
            "run",
            "many",
            "secret.sh",
            "--dir",
            "s",
            "--workspace",
            "work",
            "--",
            secret.to_str().unwrap(),
        ],
    );
    assert!(!done.stdout.contains("canary"), "{}", done.stdout);
    // A variable that the user names is given on, and no other.
    openskills(&env, "approve many --dir s --env SECRET_TOKEN --yes");
    let done = run(&env, "many secret.sh --env SECRET_TOKEN");
    assert!(
        done.stdout.contains("SECRET_TOKEN=canary-in-env")
            && !done.stdout.contains("canary-in-home"),
        "{}",
        done.stdout
    );
    // An interpreter in the workspace is not chosen.
    env.write("work/python3", b"#!/bin/sh\necho evil\n");
    fs::set_permissions(env.path("work/python3"), fs::Permissions::from_mode(0o755)).unwrap();
    openskills(&env, "approve hello --dir s --yes");
    let program = env!("CARGO_BIN_EXE_openskills");
    let line = format!(
        "PATH={}:$PATH {program} run hello --dir s --workspace work",
        env.path("work").display()
    );
    let done = env.run_args("bash", &["-c", &line]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "hello\n"), "{}", done.stderr);
}

#[test]
fn without_user_namespaces_only_trusted_skills_start() {
    let env = TestEnv::with(SKILLS);
    // The same machine, in a namespace in which no other one can be made.
    let program = env!("CARGO_BIN_EXE_openskills");
    let without = |arguments: &str| {
        let line = format!(
            "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec {program} {arguments}'"
        );
        env.run_args("bash", &["-c", &line])
    };
    if without("--version").code != Some(0) {
        testkit::skip("a machine without user namespaces", "`unshare -Ur` does not work here");
        return;
    }
    let check = without("sandbox check");
    assert_eq!(check.code, Some(78), "{}", check.stderr);
    assert!(
        check.stdout.contains("untrusted skills cannot")
            && check.stderr.contains("hint: allow user namespaces"),
        "{}",
        check.stderr
    );
    // What the weaker sandbox does not hide is listed, to people and to programs.
    assert!(check.stdout.contains("target of any symbolic link"), "{}", check.stdout);
    let data = without("sandbox check --json");
    let data: Value = serde_json::from_str(&data.stdout).unwrap();
    assert_eq!(data["tier"], "B");
    let limitations = data["limitations"].as_array().unwrap();
    assert!(limitations.iter().any(|one| one.as_str().unwrap().contains("readlink")), "{data}");
    let own = without(
        "run hello --dir s --workspace work --direct-writes --deletions --allow-degraded subpath_protect --approve-once",
    );
    assert!(own.stderr.contains("the weaker sandbox"), "{}", own.stderr);
    assert_eq!((own.code, own.stdout.as_str()), (Some(0), "hello\n"), "{}", own.stderr);
    assert!(env.path("work/made").exists());
    fs::remove_file(env.path("work/made")).unwrap();
    let unprotected =
        without("run hello --dir s --workspace work --direct-writes --deletions --approve-once");
    assert_eq!(unprotected.code, Some(78), "{}", unprotected.stderr);
    // Without a layer nothing is written that was not approved to be written directly.
    let closed = without("run hello --dir s --workspace work --approve-once");
    assert!(closed.code == Some(1) && !env.path("work/made").exists(), "{}", closed.stderr);
    // A project that is not trusted.
    fs::create_dir_all(env.path("work/.claude")).unwrap();
    fs::rename(env.path("s"), env.path("work/.claude/skills")).unwrap();
    let theirs = without("run hello --project work --workspace work --approve-once");
    assert_eq!(theirs.code, Some(78), "{}{}", theirs.stdout, theirs.stderr);
    assert!(
        theirs.stderr.contains("this machine cannot guarantee")
            && theirs.stderr.contains("metadata_hidden"),
        "{}",
        theirs.stderr
    );
    assert!(!env.path("work/made").exists(), "it never started");
}

#[test]
fn without_landlock_nothing_starts() {
    let env = TestEnv::with(SKILLS);
    // A filter around the program answers that the kernel has no such call.
    let script = "import ctypes, os, struct, sys\n\
libc = ctypes.CDLL(None, use_errno=True)\n\
code = b''.join(struct.pack('HBBI', *part) for part in [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7fff0000)])\n\
buffer = ctypes.create_string_buffer(code)\n\
program = struct.pack('HxxxxxxP', 4, ctypes.addressof(buffer))\n\
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0\n\
os.execv(sys.argv[1], sys.argv[1:])\n";
    let program = env!("CARGO_BIN_EXE_openskills");
    let words = [
        "-c",
        script,
        program,
        "run",
        "hello",
        "--dir",
        "s",
        "--workspace",
        "work",
        "--approve-once",
    ];
    if env.run_args("python3", &["-c", "1"]).code != Some(0) || std::env::consts::ARCH != "x86_64" {
        testkit::skip(
            "a machine without Landlock",
            "`python3` is not there, or it is another processor",
        );
        return;
    }
    let refused = env.run_args("python3", &words);
    assert_eq!(refused.code, Some(78), "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("Landlock"), "{}", refused.stderr);
    assert!(!env.path("work/made").exists(), "it never started");
}

/// A skill as csk installs it: a marker with a receipt, and its command in the runtime store.
fn installed(env: &TestEnv) {
    use skill::{Digest, Identifier, Marker, RefKind, RelPath};

    let commit = "a".repeat(40);
    env.write(
        "app/.agents/skills/review/SKILL.md",
        b"---\nname: review\ndescription: d\n---\nBody.\n",
    );
    env.write("app/.agents/skills/.csk-managed.json", b"{}");
    let folder = skill_fs::AbsPath::new(env.path("app/.agents/skills/review")).unwrap();
    let root = skill_fs::Root::open(&folder).unwrap();
    let entries = skill_fs::walk(&root, &skill_fs::WalkLimits::SKILL).unwrap();
    let digests = skill_fs::digests(&root, &entries).unwrap();
    let script = b"#!/bin/sh\necho reviewed \"$@\" from \"$(dirname \"$0\")/../data\"; cat \"$(dirname \"$0\")/../data\"\n";
    let store = format!("../home/.cocoaskills/runtime/review/{commit}");
    env.write(&format!("{store}/tools/bin/reviews"), script);
    env.write(&format!("{store}/tools/data"), b"data\n");
    let executable = env.path(&format!("{store}/tools/bin/reviews"));
    fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();
    let list = serde_json::json!({
        "commit": commit,
        "files": {
            "tools/bin/reviews": format!("100755 {}", Digest::of(script)),
            "tools/data": format!("100644 {}", Digest::of(b"data\n")),
        },
        "name": "review",
        "schema_version": 1,
    });
    let list = format!("{list:#}\n");
    env.write(&format!("{store}/.csk-runtime.json"), list.as_bytes());
    let marker = Marker {
        context_rules: None,
        part: None,
        name: Identifier::new("review").unwrap(),
        source: Identifier::new("review").unwrap(),
        git: Some("https://example.com/review.git".into()),
        ref_kind: RefKind::Tag,
        reference: "v1".into(),
        commit: commit.clone(),
        content_sha256: digests.content,
        context_sha256: Some(digests.bundle),
        bundle_sha256: Some(Digest::of(b"snapshot")),
        locale: None,
        agents: Vec::new(),
        commands: vec!["reviews".into()],
        command_paths: [(
            Identifier::new("reviews").unwrap(),
            RelPath::new("tools/bin/reviews").unwrap(),
        )]
        .into(),
        runtime_sha256: Some(Digest::of(list.as_bytes())),
        runtime_roots: vec!["tools".into()],
        skill_schema_version: Some(2),
        capabilities: None,
        installed_at: "2026-11-15T00:00:00Z".into(),
        files: Vec::new(),
    };
    env.write("app/.agents/skills/review/.csk-install.json", marker.to_json().as_bytes());
    let project = env.path("app").canonicalize().unwrap();
    let project = project.to_str().unwrap();
    let receipts = serde_json::json!({
        "markers": { "review": [[Digest::of(marker.to_json().as_bytes()).to_string(), commit]] },
        "project": project,
        "schema_version": 1,
    });
    let key = Digest::of(project.as_bytes()).short();
    env.write(
        &format!("../home/.cocoaskills/receipts/{key}.json"),
        receipts.to_string().as_bytes(),
    );
}

#[test]
fn a_command_installed_by_csk_runs_by_name() {
    let env = TestEnv::with("//- /app/.gitignore\n.agents/\n");
    installed(&env);
    let run = |arguments: &str| openskills(&env, &format!("run review {arguments} --project app"));
    // A missing command is reported first, with what is available, and without a request for approval.
    for arguments in ["", "nope"] {
        let slip = run(arguments);
        assert_eq!(slip.code, Some(125), "{}", slip.stderr);
        let hint = "hint: csk installed its commands; try: openskills run review reviews";
        assert!(slip.stderr.contains(hint), "{arguments}: {}", slip.stderr);
        assert!(!slip.stderr.contains("approve"), "{}", slip.stderr);
    }
    let approved = openskills(&env, "approve review --project app --yes");
    assert!(
        approved.code == Some(0) && approved.stderr.contains("https://example.com/review.git"),
        "{}",
        approved.stderr
    );
    let program = env!("CARGO_BIN_EXE_openskills");
    let done =
        env.run_args(program, &["run", "review", "reviews", "--project", "app", "--", "a b"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stdout.starts_with("reviewed a b from ") && done.stdout.ends_with("data\n"),
        "{}",
        done.stdout
    );
    assert_eq!(run("nope").code, Some(125));
    let by_name = openskills(&env, "run reviews --project app");
    assert!(
        by_name.code == Some(0) && by_name.stdout.starts_with("reviewed"),
        "{}",
        by_name.stderr
    );
    // A store that was tampered with is not run from.
    let store = format!("../home/.cocoaskills/runtime/review/{}", "a".repeat(40));
    env.write(&format!("{store}/tools/data"), b"evil\n");
    let refused = run("reviews");
    assert_eq!(refused.code, Some(125), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("its command files were modified: `tools/data` was changed"),
        "{}",
        refused.stderr
    );
    // Nor is anything without csk's receipt.
    env.write(&format!("{store}/tools/data"), b"data\n");
    assert_eq!(run("reviews").code, Some(0));
    fs::remove_dir_all(env.path("../home/.cocoaskills/receipts")).unwrap();
    assert_eq!(run("reviews").code, Some(125));
}

#[test]
fn killing_openskills_ends_all_processes_of_the_run() {
    let env = machine(&[]);
    env.write("s/hello/scripts/hi.py", b"import subprocess, os\nsubprocess.Popen(['setsid', 'sleep', '7777.5'])\nopen('/tmp/up', 'w')\nos.execvp('sleep', ['sleep', '7777.5'])\n");
    let program = env!("CARGO_BIN_EXE_openskills");
    let mut child = env
        .command(program, &["run", "hello", "--dir", "s", "--approve-once", "--timeout", "60s"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let living = || {
        let found =
            std::process::Command::new("pgrep").args(["-fc", "sleep 7777.5"]).output().unwrap();
        String::from_utf8_lossy(&found.stdout).trim().parse::<usize>().unwrap_or(0)
    };
    let within = |what: &dyn Fn() -> bool| {
        let start = std::time::Instant::now();
        while !what() && start.elapsed() < std::time::Duration::from_secs(20) {
            std::thread::yield_now();
        }
        what()
    };
    assert!(within(&|| living() >= 2), "it runs");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within(&|| living() == 0), "and everything ends with the program");
}

/// A command that a skill brought is no interpreter: it would be asked about itself outside of the sandbox.
#[test]
fn commands_installed_by_skills_are_never_queried_as_interpreters() {
    let skill = "\
//- /s/near/SKILL.md
---
name: near
description: d
---
Body.
//- /s/near/scripts/go
#!/usr/bin/env perl5
print 1;
";
    let env = TestEnv::with(skill);
    for folder in ["../home/.cocoaskills/commands/x", "app/.agents/bin", "s/near/bin"] {
        let program = format!("{folder}/perl5");
        env.write(&program, b"#!/bin/sh\ntouch \"$CANARY\"\n");
        fs::set_permissions(env.path(&program), PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", env.path(folder).display(), std::env::var("PATH").unwrap());
        let canary = env.path("canary").display().to_string();
        let call = format!(
            "PATH='{path}' CANARY='{canary}' {} run near --dir s --approve-once",
            env!("CARGO_BIN_EXE_openskills")
        );
        env.run_args("sh", &["-c", &call]);
        assert!(!env.path("canary").exists(), "{folder}");
    }
}

/// An interpreter is granted as a file, with its own library: what else stands in its folder is not.
#[test]
fn granting_an_interpreter_does_not_grant_its_folder() {
    let skill = "\
//- /s/near/SKILL.md
---
name: near
description: d
---
Body.
//- /s/near/scripts/deploy
#!deploy
echo ran
//- /s/near/scripts/shell
#!/usr/bin/env bash
cat \"$1\" && echo read
//- /s/near/scripts/snake.py
import json, sys
print(open(sys.argv[1]).read())
";
    let env = TestEnv::with(skill);
    env.write("../tools/.env", b"SECRET");
    let call = "cd ../tools && printf '#!/bin/sh\\nexec /bin/sh \"$@\"\\n' > deploy && chmod +x deploy \
                && cp /bin/bash bash && ln -s \"$(command -v python3)\" python3";
    assert_eq!(env.run_args("sh", &["-c", call]).code, Some(0));
    let tools = fs::canonicalize(env.path("../tools")).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let secret = tools.join(".env").display().to_string();
    let env = env.var("PATH", &path);
    let unknown = openskills(&env, "run near scripts/deploy --dir s --approve-once");
    assert!(
        unknown.stderr.contains("neither a known interpreter nor in a system folder"),
        "{}",
        unknown.stderr
    );
    for script in ["shell", "snake.py"] {
        let run = openskills(
            &env,
            &format!("run near scripts/{script} --dir s --approve-once -- {secret}"),
        );
        assert!(run.code != Some(0) && !run.stdout.contains("SECRET"), "{script}: {}", run.stdout);
        let what = "No such file or directory";
        assert!(run.stderr.contains(what), "{script} itself runs: {}", run.stderr);
    }
}

/// Every interpreter of the table starts, and finds its own library.
#[test]
fn every_interpreter_starts_and_finds_its_library() {
    let scripts = [
        ("python3", "a.py", "import json, hashlib, ctypes; print(json.dumps([3]))", "[3]\n"),
        ("node", "a.js", "console.log(require('path').join('a', 'b'))", "a/b\n"),
        ("perl", "a.pl", "use List::Util 'sum'; use POSIX; print sum(1, 2), \"\\n\";", "3\n"),
        ("ruby", "a.rb", "require 'json'; puts JSON.generate([3])", "[3]\n"),
        ("sh", "a.sh", "printf '%s\\n' x | sed s/x/y/", "y\n"),
        ("bash", "a.bash", "a=(1 2); echo ${#a[@]}", "2\n"),
    ];
    let env = TestEnv::with("//- /s/all/SKILL.md\n---\nname: all\ndescription: d\n---\nBody.\n");
    for (_, name, text, _) in scripts {
        env.write(&format!("s/all/scripts/{name}"), text.as_bytes());
    }
    for (program, name, _, expected) in scripts {
        if env.run_args("sh", &["-c", &format!("command -v {program}")]).code != Some(0) {
            testkit::skip("every_interpreter_starts_and_finds_its_library", program);
            continue;
        }
        let run = openskills(&env, &format!("run all scripts/{name} --dir s --approve-once"));
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), expected), "{name}: {}", run.stderr);
    }
}

#[test]
fn an_interpreter_is_queried_only_once() {
    let env = TestEnv::with(
        "//- /s/all/SKILL.md\n---\nname: all\ndescription: d\n---\nBody.\n//- /s/all/scripts/a.pl\nprint 1;\n",
    );
    let file = env.path("../home/.cache/openskills/interpreters.json");
    let run = || assert_eq!(openskills(&env, "run all --dir s --approve-once").stdout, "1");
    run();
    let first = fs::read_to_string(&file).unwrap();
    let known: Value = serde_json::from_str(&first).unwrap();
    let perls = known.as_object().unwrap().keys().filter(|key| key.contains("perl"));
    assert_eq!(perls.count(), 1, "{first}");
    let made = fs::metadata(&file).unwrap().modified().unwrap();
    run();
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), made);
    // What is not a list of answers is made again.
    fs::write(&file, "half").unwrap();
    run();
    assert_eq!(fs::read_to_string(&file).unwrap(), first);
}
