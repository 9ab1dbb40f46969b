//! Modules of skills, from the command line: chosen, permitted, run here or inside the sandbox, kept compiled, and run again from the log.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{Run, TestEnv};

use crate::openskills;

/// Calls of WASI, and `put` for the text at a place.
const PRELUDE: &str = r#"
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func $put (param $at i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $at)) (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $make (param $folder i32)
    (if (call $path_open (local.get $folder) (i32.const 0) (i32.const 90) (i32.const 8) (i32.const 1)
        (i64.const 64) (i64.const 64) (i32.const 0) (i32.const 12)) (then unreachable)))
  (data (i32.const 90) "made.txt")
"#;

fn module(text: &str) -> Vec<u8> {
    let text = format!(r#"(module {PRELUDE} {text})"#);
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn does(text: &str) -> Vec<u8> {
    module(&format!(r#"(func (export "_start") {text})"#))
}

fn hello() -> Vec<u8> {
    module(
        r#"(data (i32.const 100) "{\"hello\": 1}\n")
        (func (export "_start") (call $put (i32.const 100) (i32.const 13)))"#,
    )
}

/// Writes the input, all variables and eight random bytes.
fn echo() -> Vec<u8> {
    does(
        "(i32.store (i32.const 0) (i32.const 1000)) (i32.store (i32.const 4) (i32.const 1000))
        (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (call $put (i32.const 1000) (i32.load (i32.const 8)))
        (drop (call $sizes (i32.const 16) (i32.const 20)))
        (drop (call $environ (i32.const 2000) (i32.const 4000)))
        (call $put (i32.const 4000) (i32.load (i32.const 20)))
        (drop (call $random (i32.const 9000) (i32.const 8)))
        (call $put (i32.const 9000) (i32.const 8))",
    )
}

const SKILL: &str = "---\nname: NAME\ndescription: d\n---\nBody.\n";
/// One that may write nothing.
const READER: &str = "---\nname: NAME\ndescription: d\nallowed-tools: Read\n---\nBody.\n";

/// A machine with one approved skill of the user's own that has these modules.
fn machine(modules: &[(&str, Vec<u8>)]) -> TestEnv {
    let env = TestEnv::with("//- /work/kept\noriginal\n");
    write_skill(&env, "s/mod", SKILL, modules);
    approve(&env, "s/mod", "--dir s");
    env
}

fn write_skill(env: &TestEnv, folder: &str, text: &str, modules: &[(&str, Vec<u8>)]) {
    let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
    env.write(&format!("{folder}/SKILL.md"), text.replace("NAME", name).as_bytes());
    for (path, wasm) in modules {
        env.write(&format!("{folder}/{path}"), wasm);
    }
}

fn approve(env: &TestEnv, id: &str, more: &str) {
    let run = openskills(env, &format!("approve {id} {more} --yes"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

fn run(env: &TestEnv, arguments: &str) -> Run {
    openskills(env, &format!("execute mod {arguments} --dir s"))
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

#[test]
fn a_module_runs_and_its_json_output_is_parsed() {
    let env = machine(&[("wasm/skill.wasm", hello()), ("scripts/a.py", b"print(1)".to_vec())]);
    let plain = run(&env, "");
    assert_eq!(
        (plain.code, plain.stdout.as_str()),
        (Some(0), "{\"hello\": 1}\n"),
        "{}",
        plain.stderr
    );
    let answer = json(&run(&env, "--json"));
    assert_eq!(answer["output"], serde_json::json!({"hello": 1}));
    assert_eq!(answer["record"]["exit_status"], "success");
    assert!(answer["wasm"]["fuel"].as_u64().unwrap() > 0, "{answer}");
    assert_eq!(
        (&answer["wasm"]["staged"], &answer["wasm"]["cached"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    let schema =
        fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/openskills-run.schema.json"))
            .unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_slice(&schema).unwrap()).unwrap();
    schema.validate(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    // One that may write nothing needs no second wall around what it writes.
    write_skill(&env, "s/reads", READER, &[("wasm/skill.wasm", hello())]);
    approve(&env, "s/reads", "--dir s");
    let answer = json(&openskills(&env, "run reads --json --dir s"));
    assert_eq!(
        (&answer["wasm"]["staged"], &answer["output"]["hello"]),
        (&Value::Bool(false), &Value::from(1))
    );
    // A named file wins.
    assert_eq!(run(&env, "a.py").stdout, "1\n");
    let log = openskills(&env, "log show --json");
    assert!(log.stdout.contains("\"moduleSha256\":\"sha256:"), "{}", log.stdout);
}

#[test]
fn a_module_gets_its_own_variables_and_none_of_the_host() {
    let env = machine(&[("wasm/skill.wasm", echo())]);
    let env = env.var("SECRET", "CANARY").var("TZ", "Europe/Berlin").var("LC_ALL", "C");
    let text = run(&env, "--input {\"a\":1} --timeout 5s --seed 9").stdout;
    assert!(text.starts_with("{\"a\":1}SKILL_ID=s/mod"), "{text}");
    for line in [
        "SKILL_NAME=mod",
        "SKILL_INPUT={\"a\":1}",
        "TIMEOUT_MS=5000",
        "RANDOM_SEED=9",
        "SKILL_DIR=/skill",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for word in ["CANARY", "PATH=", "HOME=", "TZ=", "LC_ALL", "CARGO"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn failed_module_runs_report_the_reason() {
    let env = machine(&[
        ("wasm/spin.wasm", does("(loop $again (br $again))")),
        ("wasm/trap.wasm", does("(drop (i32.div_u (i32.const 1) (i32.const 0)))")),
        ("wasm/grow.wasm", does("(loop $again (drop (memory.grow (i32.const 64))) (br $again))")),
        (
            "wasm/flood.wasm",
            does("(loop $again (call $put (i32.const 0) (i32.const 60000)) (br $again))"),
        ),
    ]);
    for stage in ["never", "always"] {
        for (module, code, note) in [
            ("spin.wasm --timeout 1s", 124, "timed out after 1s; raise the limit with --timeout"),
            ("trap.wasm", 134, "the module trapped: wasm trap: integer divide by zero"),
            (
                "grow.wasm",
                137,
                "exceeded the memory limit of 128 MiB; raise the limit with --memory",
            ),
            ("flood.wasm", 137, "exceeded the output limit"),
        ] {
            let ended = run(&env, &format!("{module} --wasm-stage {stage}"));
            assert_eq!(ended.code, Some(code), "{module}: {}", ended.stderr);
            assert!(ended.stderr.contains(note), "{module}: {}", ended.stderr);
        }
    }
    let status = |arguments: &str| json(&run(&env, arguments))["record"]["exit_status"].clone();
    assert_eq!(status("spin.wasm --timeout 1s --json"), "timeout");
    assert_eq!(status("trap.wasm --json"), "failed");
    // The bound that the seed names, unless another is asked for.
    let record =
        |arguments: &str| json(&run(&env, arguments))["wasm"]["memoryBytes"].as_u64().unwrap();
    let (usual, more) = (record("grow.wasm --json"), record("grow.wasm --json --memory 200"));
    assert!(usual <= 128 << 20 && usual > 120 << 20, "{usual}");
    assert!(more <= 200 << 20 && more > 190 << 20, "{more}");
}

#[test]
fn a_third_party_module_runs_inside_the_sandbox_as_well() {
    let env = TestEnv::with("//- /work/.git/HEAD\nref: x\n//- /work/kept\noriginal\n");
    write_skill(&env, "work/.claude/skills/theirs", SKILL, &[("wasm/skill.wasm", hello())]);
    let there = |arguments: &str| openskills(&env, &format!("{arguments} --project work"));
    let refused = there("run theirs");
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    approve(&env, "theirs", "--project work");
    let first = json(&there("run theirs --json"));
    assert_eq!(
        (&first["wasm"]["staged"], &first["wasm"]["cached"]),
        (&Value::Bool(true), &Value::Bool(false)),
        "{first}"
    );
    // The second process does not compile, and gives the same.
    let second = json(&there("run theirs --json"));
    assert_eq!(second["wasm"]["cached"], Value::Bool(true));
    assert_eq!(second["output"], first["output"]);
    // What it costs can be seen, and done without on the command line alone.
    let timings = there("run theirs --timings");
    for step in ["copy the skill", "load the code", "start the sandbox", "run the module"] {
        assert!(timings.stderr.contains(step), "{}", timings.stderr);
    }
    let without = json(&there("run theirs --json --wasm-stage never"));
    assert_eq!(without["wasm"]["staged"], Value::Bool(false));
}

#[test]
fn a_module_writes_the_workspace_through_the_sandbox_layer() {
    // The third descriptor is the skill, the fourth the workspace.
    let env = machine(&[("wasm/skill.wasm", does("(call $make (i32.const 4))"))]);
    let dry = run(&env, "--workspace work --dry-run");
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    assert!(
        dry.stderr.contains("added made.txt") && !env.path("work/made.txt").exists(),
        "{}",
        dry.stderr
    );
    let done = json(&run(&env, "--workspace work --json"));
    assert_eq!(
        (&done["applied"], &done["wasm"]["staged"]),
        (&Value::Bool(true), &Value::Bool(true)),
        "{done}"
    );
    assert!(env.path("work/made.txt").exists());
    let never = run(&env, "--workspace work --wasm-stage never");
    assert_eq!(never.code, Some(125));
    assert!(
        never.stderr.contains("a module can only write to a workspace inside the sandbox"),
        "{}",
        never.stderr
    );
    // Nothing protects names from a module in this process, so it may not write there.
    fs::remove_file(env.path("work/made.txt")).unwrap();
    approve(&env, "s/mod", "--dir s --direct-writes --deletions");
    let direct = run(&env, "--workspace work --direct-writes --deletions --wasm-stage never");
    assert_eq!(direct.code, Some(125), "{}", direct.stderr);
    assert!(!env.path("work/made.txt").exists());
    // Without a workspace it has one of its own, here as in there.
    for stage in ["auto", "always"] {
        assert_eq!(run(&env, &format!("--wasm-stage {stage}")).code, Some(0));
    }
    // In this process nothing would bound what it writes, so there is nothing to write to.
    assert_eq!(run(&env, "--wasm-stage never").code, Some(134));
}

#[test]
fn allowed_tools_restrict_the_access_of_a_module() {
    let env = TestEnv::with("//- /work/kept\noriginal\n");
    let opens = |rights: &str| {
        module(&format!(
            r#"(data (i32.const 100) "kept") (func (export "_start")
            (if (call $path_open (i32.const 4) (i32.const 0) (i32.const 100) (i32.const 4) (i32.const 0)
              (i64.const {rights}) (i64.const {rights}) (i32.const 0) (i32.const 12)) (then unreachable)))"#
        ))
    };
    let modules = [("wasm/read.wasm", opens("2")), ("wasm/write.wasm", opens("64"))];
    for (name, tools, reads, writes) in [
        ("reader", "Read", Some(0), Some(134)),
        ("writer", "Read, Write", Some(0), Some(0)),
        ("finder", "Grep, Glob, LS", Some(0), Some(134)),
        ("editor", "Read, MultiEdit", Some(0), Some(0)),
        ("shell", "Bash", Some(0), Some(0)),
        ("terminal", "Terminal", Some(0), Some(0)),
        ("none", "WebSearch", Some(134), Some(134)),
        ("silent", "[]", Some(134), Some(134)),
    ] {
        let text = format!("---\nname: NAME\ndescription: d\nallowed-tools: {tools}\n---\nBody.\n");
        write_skill(&env, &format!("s/{name}"), &text, &modules);
        approve(&env, &format!("s/{name}"), "--dir s");
        let ended = |module: &str| {
            openskills(&env, &format!("run {name} {module} --dir s --workspace work")).code
        };
        assert_eq!((ended("read.wasm"), ended("write.wasm")), (reads, writes), "{tools}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_in_every_process_and_replay() {
    let spin = does("(loop $again (br $again))");
    let env = machine(&[("wasm/skill.wasm", echo()), ("wasm/spin.wasm", spin)]);
    let hash = |arguments: &str| {
        let answer = json(&run(&env, arguments));
        answer["record"]["output_hash"].as_str().unwrap().to_owned()
    };
    let first = hash("--json --seed 5 --input {}");
    for _ in 0..20 {
        assert_eq!(hash("--json --seed 5 --input {}"), first);
    }
    assert_eq!(hash("--json --seed 5 --input {} --wasm-stage always"), first);
    assert_ne!(hash("--json --seed 6 --input {}"), first);
    assert_ne!(hash("--json --input {}"), hash("--json --input {}"));
    assert_eq!(run(&env, "--seed 5 --workspace work").code, Some(0));
    assert_eq!(run(&env, "spin.wasm --seed 5 --timeout 1s").code, Some(124));
    let replay = |more: &str| openskills(&env, &format!("replay --execute --dir s {more}"));
    let answer = json(&replay("--json"));
    let expected = serde_json::json!({"same": 23, "different": 0, "notRun": 4});
    assert_eq!(answer["repeated"], expected, "{answer}");
    // It is logged as any other run, and not repeated itself the next time.
    let words = replay("");
    assert_eq!(words.code, Some(0), "{}", words.stderr);
    assert!(words.stderr.contains("repeated: 23 same, 0 different, 4 not run"), "{}", words.stderr);
    for why in ["the run had no seed", "the run had a workspace", "the run timed out"] {
        assert!(words.stdout.contains(&format!("not run: {why}")), "{why}: {}", words.stdout);
    }
    assert!(openskills(&env, "log show --json").stdout.contains("\"repeats\":"));
    // A secret is not kept, nor is what is large, so such runs cannot be repeated; neither can one of a skill that has changed.
    assert_eq!(run(&env, "--seed 1 --input {\"password\":\"hunter2hunter2\"}").code, Some(0));
    env.write("large.json", format!("\"{}\"", "x".repeat(70_000)).as_bytes());
    assert_eq!(run(&env, "--seed 1 --input @large.json").code, Some(0));
    let told = replay("").stdout;
    assert!(told.contains("appear to contain secrets") && told.contains("are too large"), "{told}");
    env.write("s/mod/more.md", b"more");
    let drifted = replay("");
    assert_eq!(drifted.code, Some(1));
    assert!(drifted.stdout.contains("not run: the skill has changed"), "{}", drifted.stdout);
    // A log that was changed is refused before anything runs.
    let files = fs::read_dir(env.path("../home/.local/state/openskills/log")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"seed\":5", "\"seed\":6", 1)).unwrap();
    assert_eq!(replay("").code, Some(6));
}

#[test]
fn cached_compiled_code_is_used_only_if_authenticated() {
    let env = machine(&[("wasm/skill.wasm", hello())]);
    let cached = || json(&run(&env, "--json"))["wasm"]["cached"].as_bool().unwrap();
    assert!(!cached() && cached());
    // What is older than sixty days is compiled anew.
    let aged = "touch -d '61 days ago' ../home/.cache/openskills/wasm/*.cwasm";
    assert_eq!(env.run_args("sh", &["-c", aged]).code, Some(0));
    assert!(!cached() && cached());
    let folder = env.path("../home/.cache/openskills/wasm");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    assert!(!cached() && cached(), "one bit is another code, which is compiled again");
    // Neither is code under another key: one that is gone, or that others can read.
    fs::remove_file(env.path("../home/.local/state/openskills/wasm.key")).unwrap();
    assert!(!cached() && cached());
    let key = env.path("../home/.local/state/openskills/wasm.key");
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    assert!(!cached() && cached());
    let mode =
        |path: &Path| std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).unwrap()) & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&env.path("../home/.local/state/openskills/wasm.key")), 0o600);
    let shown = openskills(&env, "cache");
    assert!(shown.stdout.contains("wasm           1 file"), "{}", shown.stdout);
    let cleared = openskills(&env, "cache clear wasm");
    assert!(cleared.stdout.starts_with("removed 1 file ("), "{}", cleared.stdout);
    assert!(!cached());
    env.write("../home/.cache/openskills/wasm/mine.txt", b"x");
    let all = json(&openskills(&env, "cache clear --json"));
    assert_eq!(all["cleared"], Value::Bool(true));
    assert!(env.path("../home/.cache/openskills/wasm/mine.txt").exists());
}

#[test]
fn modules_that_cannot_run_are_refused_with_the_reason() {
    let foreign =
        wat::parse_str(r#"(module (import "env" "system" (func)) (func (export "_start")))"#);
    let env = machine(&[
        ("wasm/text.wasm", b"(module)".to_vec()),
        ("wasm/foreign.wasm", foreign.unwrap()),
        ("wasm/cut.wasm", hello()[..40].to_vec()),
        ("wasm/script.wasm", b"#!/bin/sh\necho hello".to_vec()),
        ("wasm/compiled.wasm", fs::read("/bin/true").unwrap()),
    ]);
    let several = run(&env, "");
    assert_eq!(several.code, Some(125));
    assert!(
        several
            .stderr
            .contains("specify one of: wasm/compiled.wasm, wasm/cut.wasm, wasm/foreign.wasm"),
        "{}",
        several.stderr
    );
    for stage in ["never", "always"] {
        for (module, words) in [
            ("text.wasm", "it is in the text format"),
            ("foreign.wasm", "it imports unknown functions or interfaces: `system` from `env`"),
            ("cut.wasm", "unexpected end-of-file"),
            ("script.wasm", "it does not start with `\\0asm`"),
            ("compiled.wasm", "it does not start with `\\0asm`"),
        ] {
            let failed = run(&env, &format!("{module} --wasm-stage {stage}"));
            assert_eq!(failed.code, Some(125), "{module}: {failed:?}");
            let expected = format!("error: cannot run module `wasm/{module}`: ");
            assert!(failed.stderr.starts_with(&expected), "{module}: {}", failed.stderr);
            assert!(
                failed.stderr.contains(words) && failed.stderr.contains("hint: "),
                "{module}: {}",
                failed.stderr
            );
        }
    }
}

#[test]
fn truncated_output_is_reported() {
    let much = does(
        "(call $put (i32.const 0) (i32.const 60000)) (call $put (i32.const 0) (i32.const 60000))",
    );
    let often = format!(
        "(local $n i32) (loop $again {} (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 20))))",
        "(call $put (i32.const 0) (i32.const 60000))"
    );
    let env = machine(&[("wasm/some.wasm", much), ("wasm/more.wasm", does(&often))]);
    assert!(!run(&env, "some.wasm").stderr.contains("was truncated"));
    let cut = run(&env, "more.wasm");
    assert_eq!(cut.code, Some(0));
    assert!(
        cut.stderr.contains("standard output was truncated: kept 1 MiB of 1.2 MiB"),
        "{}",
        cut.stderr
    );
    assert_eq!(json(&run(&env, "more.wasm --json"))["outputTruncated"], Value::Bool(true));
}

#[test]
fn a_module_that_is_too_expensive_to_compile_is_refused() {
    // Each `if` waits for the one in it: what the compiler holds grows with the depth.
    let deep = 40_000;
    let text = format!(
        r#"(module (func (export "_start")) (func (param i32) (result i32) {} local.get 0 {}))"#,
        "i32.const 1 local.get 0 if (result i32) ".repeat(deep),
        "else i32.const 2 end i32.add ".repeat(deep),
    );
    let wasm = wat::parse_str(text).unwrap();
    let env = TestEnv::with("");
    write_skill(&env, "s/mod", READER, &[("wasm/skill.wasm", wasm)]);
    approve(&env, "s/mod", "--dir s");
    let failed = run(&env, "");
    assert_eq!(failed.code, Some(125), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("cannot be compiled")
            || failed.stderr.contains("returned no result"),
        "{}",
        failed.stderr
    );
}

#[test]
fn a_module_that_is_too_large_is_reported_by_name() {
    let mut large = b"\0asm\x01\0\0\0".to_vec();
    large.resize((64 << 20) + 1, 0);
    let env = machine(&[("wasm/skill.wasm", large)]);
    let failed = run(&env, "");
    assert_eq!(failed.code, Some(125));
    let expected = "error: cannot run module `wasm/skill.wasm`: larger than 64 MiB";
    assert!(
        failed.stderr.starts_with(expected) && failed.stderr.contains("hint: "),
        "{}",
        failed.stderr
    );
}

#[test]
fn a_module_gets_the_approved_variables_and_the_proxy() {
    let env = machine(&[("wasm/skill.wasm", echo())]).var("TOKEN", "CANARY").var("OTHER", "x");
    assert_eq!(run(&env, "--env TOKEN").code, Some(125));
    approve(&env, "s/mod", "--dir s --env TOKEN --net example.com");
    let text = run(&env, "--env TOKEN --net example.com").stdout;
    assert!(text.contains("TOKEN=CANARY") && !text.contains("OTHER="), "{text}");
    let proxy = text.split('\0').find_map(|line| line.strip_prefix("HTTP_PROXY=http://127.0.0.1:"));
    assert!(proxy.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0)), "{text}");
    let never = run(&env, "--net example.com --wasm-stage never");
    assert_eq!(never.code, Some(125), "{}", never.stderr);
}

/// A component that does nothing but end well, with 0, or badly, with 1.
fn component(result: u8) -> Vec<u8> {
    let text = format!(
        r#"(component
          (core module $m (func (export "f") (result i32) (i32.const {result})))
          (core instance $i (instantiate $m))
          (func $f (result (result)) (canon lift (core func $i "f")))
          (instance $run (export "run" (func $f)))
          (export "wasi:cli/run@0.2.0" (instance $run)))"#
    );
    wat::parse_str(text).unwrap()
}

#[test]
fn the_record_lists_only_capabilities_that_a_module_had() {
    let env = TestEnv::with("//- /work/kept\noriginal\n");
    let modules = [("wasm/core.wasm", hello()), ("wasm/part.wasm", component(0))];
    write_skill(&env, "s/any", SKILL, &modules);
    write_skill(&env, "s/reader", READER, &modules);
    write_skill(&env, "s/online", SKILL, &modules);
    approve(&env, "s/any", "--dir s");
    approve(&env, "s/online", "--dir s --net example.com");
    approve(&env, "s/reader", "--dir s");
    let (own, temporary) = ("read: the skill's folder", "write: a temporary folder");
    for (words, granted) in [
        ("any core.wasm --wasm-stage never", vec![own]),
        ("any core.wasm --wasm-stage always", vec![own, temporary]),
        ("any core.wasm --workspace work", vec![own, "write: the workspace"]),
        ("online core.wasm --net example.com", vec![own, temporary]),
        ("online part.wasm --net example.com", vec![own, temporary, "network: example.com"]),
        ("reader core.wasm", vec![own]),
        ("reader core.wasm --wasm-stage always", vec![own]),
        ("reader core.wasm --workspace work", vec![own, "read: the workspace"]),
    ] {
        let done = openskills(&env, &format!("run {words} --dir s --json"));
        assert_eq!(done.code, Some(0), "{words}: {}", done.stderr);
        let record = &json(&done)["record"]["permissions_granted"];
        assert_eq!(*record, serde_json::json!(granted), "{words}");
    }
}

#[test]
fn a_component_runs_and_its_failure_is_reported() {
    let env = machine(&[("wasm/good.wasm", component(0)), ("wasm/bad.wasm", component(1))]);
    for stage in ["never", "always"] {
        assert_eq!(run(&env, &format!("good.wasm --wasm-stage {stage}")).code, Some(0));
        assert_eq!(run(&env, &format!("bad.wasm --wasm-stage {stage}")).code, Some(1));
    }
}

#[test]
fn a_declared_single_file_is_reported_as_unsupported_for_modules() {
    let env = machine(&[("wasm/skill.wasm", hello())]);
    let note = env.path("../home/note.txt");
    fs::write(&note, "x").unwrap();
    let manifest = r#"{"schema_version": 3, "runtime_roots": ["wasm"], "commands": {},
      "capabilities": {"filesystem": ["~/note.txt"]}}"#;
    env.write("s/mod/csk-skill.json", manifest.as_bytes());
    approve(&env, "s/mod", "--dir s --read ~/note.txt");
    let done = run(&env, "--seed 1");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("a module can only access folders"), "{}", done.stderr);
    let replay = openskills(&env, "replay --execute --dir s");
    assert!(
        replay.stdout.contains("the run could read folders outside the skill"),
        "{}",
        replay.stdout
    );
}

#[test]
fn a_new_skill_with_a_script_is_valid_runs_and_passes_its_tests() {
    let env = TestEnv::with("");
    let made = openskills(&env, "new word-count --dir s");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(
        made.stdout.contains("scripts/main.py")
            && made.stderr.contains("openskills run word-count")
    );
    assert_eq!(openskills(&env, "validate s/word-count").code, Some(0));
    approve(&env, "s/word-count", "--dir s");
    let counted = openskills(&env, "run word-count --dir s --input {\"text\":\"one\\u0020two\"}");
    assert_eq!(counted.stdout, "{\"words\": 2}\n", "{}", counted.stderr);
    let tested = openskills(&env, "run word-count tests/test_main.py --dir s");
    assert!(tested.code == Some(0) && tested.stderr.contains("Ran 2 tests"), "{}", tested.stderr);
    // What is there is not touched.
    let again = openskills(&env, "new word-count --dir s --wasm");
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("`[ROOT]/work/s/word-count` already exists"), "{}", again.stderr);
    assert!(!env.path("s/word-count/wasm-src").exists());
    assert_eq!(openskills(&env, "new Word_Count").code, Some(2));
    assert_eq!(openskills(&env, "new a --description <b>").code, Some(2));
    assert!(!env.path("a").exists());
    // What the user writes is taken as it is, and what is to be typed can be typed.
    let made = env.run_args(
        env!("CARGO_BIN_EXE_openskills"),
        &["new", "tagger", "--dir", "with space", "--description", "Reads NAME tags. Use it."],
    );
    assert!(made.stderr.contains("openskills validate 'with space/tagger'"), "{}", made.stderr);
    let text = fs::read_to_string(env.path("with space/tagger/SKILL.md")).unwrap();
    assert!(text.contains("description: \"Reads NAME tags. Use it.\"\n"), "{text}");
}

#[test]
fn a_new_skill_in_rust_is_valid_and_its_module_runs() {
    let env = TestEnv::with("");
    let made = json(&openskills(&env, "new adds --wasm --dir s --json"));
    assert_eq!(made["files"].as_array().unwrap().len(), 4);
    assert_eq!(openskills(&env, "validate s/adds").code, Some(0));
    let tests = env.path("tests");
    let source = env.path("s/adds/wasm-src/src/main.rs");
    let built = Command::new("rustc")
        .args(["--edition", "2021", "--test", "-o"])
        .arg(&tests)
        .arg(source)
        .status();
    assert!(built.unwrap().success() && Command::new(tests).status().unwrap().success());
    build(&env.path("s/adds"));
    approve(&env, "s/adds", "--dir s");
    let added = openskills(&env, "run adds --dir s --input [1,2.5] --seed 1");
    assert_eq!(added.stdout, "{\"count\": 2, \"sum\": 3.5, \"mean\": 1.75}\n", "{}", added.stderr);
}

/// Builds the module of a new skill: by its own script where the target is installed, by a compiler that `WASM_RUSTC` names, or else
/// assembles one that does the same for this one input.
fn build(skill: &Path) {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap();
    let module = skill.join("wasm/skill.wasm");
    fs::create_dir_all(skill.join("wasm")).unwrap();
    if Path::new(sysroot.trim()).join("lib/rustlib/wasm32-wasip1").is_dir() {
        let build = skill.join("wasm-src/build.sh");
        let built =
            Command::new("sh").arg(build).env("CARGO_TARGET_DIR", skill.join("../target")).status();
        assert!(built.unwrap().success());
    } else if let Some(rustc) = std::env::var_os("WASM_RUSTC") {
        let options = ["--edition", "2021", "-C", "opt-level=s", "-o"];
        let source = skill.join("wasm-src/src/main.rs");
        let built = Command::new(rustc).args(options).arg(&module).arg(source).status();
        assert!(built.unwrap().success());
    } else {
        testkit::skip(
            "building for WebAssembly",
            "Rust has no target for it, and WASM_RUSTC is not set",
        );
        let answer = r#"(data (i32.const 100) "{\"count\": 2, \"sum\": 3.5, \"mean\": 1.75}\n")
            (func (export "_start") (call $put (i32.const 100) (i32.const 39)))"#;
        fs::write(module, self::module(answer)).unwrap();
    }
}
