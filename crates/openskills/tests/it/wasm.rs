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
fn a_module_runs_and_its_json_is_data() {
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
        (&Value::Bool(false), &Value::Bool(true))
    );
    // A named file wins.
    assert_eq!(run(&env, "a.py").stdout, "1\n");
    let log = openskills(&env, "log show --json");
    assert!(log.stdout.contains("\"moduleSha256\":\"sha256:"), "{}", log.stdout);
}

#[test]
fn a_module_is_given_its_variables_and_nothing_of_the_machine() {
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
fn ends_that_are_not_good_are_told_with_their_reason() {
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
            ("spin.wasm --timeout 1s", 124, "it took too long"),
            ("trap.wasm", 134, "it trapped: wasm trap: integer divide by zero"),
            ("grow.wasm", 137, "it took too much memory"),
            ("flood.wasm", 137, "it wrote too much"),
        ] {
            let ended = run(&env, &format!("{module} --wasm-stage {stage}"));
            assert_eq!(ended.code, Some(code), "{module}: {}", ended.stderr);
            assert!(ended.stderr.contains(note), "{module}: {}", ended.stderr);
        }
    }
    // The bound that the seed names, unless another is asked for.
    let record =
        |arguments: &str| json(&run(&env, arguments))["wasm"]["memoryBytes"].as_u64().unwrap();
    let (usual, more) = (record("grow.wasm --json"), record("grow.wasm --json --memory 200"));
    assert!(usual <= 128 << 20 && usual > 120 << 20, "{usual}");
    assert!(more <= 200 << 20 && more > 190 << 20, "{more}");
}

#[test]
fn a_strangers_module_runs_inside_the_sandbox_as_well() {
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
fn a_workspace_is_written_through_the_layer() {
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
        (&done["committed"], &done["wasm"]["staged"]),
        (&Value::Bool(true), &Value::Bool(true)),
        "{done}"
    );
    assert!(env.path("work/made.txt").exists());
    let never = run(&env, "--workspace work --wasm-stage never");
    assert_eq!(never.code, Some(125));
    assert!(never.stderr.contains("only from inside the sandbox's stage"), "{}", never.stderr);
    // Without a workspace it has one of its own, here as in there.
    for stage in ["auto", "always"] {
        assert_eq!(run(&env, &format!("--wasm-stage {stage}")).code, Some(0));
    }
}

#[test]
fn allowed_tools_narrow_what_a_module_is_given() {
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
        ("shell", "Bash", Some(0), Some(0)),
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
fn the_same_seed_writes_the_same_bytes_in_every_process_and_from_the_log() {
    let env = machine(&[("wasm/skill.wasm", echo())]);
    let hash = |arguments: &str| {
        json(&run(&env, arguments))["record"]["output_hash"].as_str().unwrap().to_owned()
    };
    let first = hash("--json --seed 5 --input {}");
    for _ in 0..20 {
        assert_eq!(hash("--json --seed 5 --input {}"), first);
    }
    assert_eq!(hash("--json --seed 5 --input {} --wasm-stage always"), first);
    assert_ne!(hash("--json --seed 6 --input {}"), first);
    assert_ne!(hash("--json --input {}"), hash("--json --input {}"));
    assert_eq!(run(&env, "--seed 5 --workspace work").code, Some(0));
    let replay = |more: &str| openskills(&env, &format!("replay --execute --dir s {more}"));
    let answer = json(&replay("--json"));
    assert_eq!(
        answer["repeated"],
        serde_json::json!({"same": 23, "different": 0, "notRun": 3}),
        "{answer}"
    );
    // It is logged as any other run, so the next time there are more.
    let words = replay("");
    assert_eq!(words.code, Some(0), "{}", words.stderr);
    assert!(
        words.stderr.contains("run again: 46 same, 0 different, 3 not run"),
        "{}",
        words.stderr
    );
    assert!(words.stdout.contains("not run: it had no seed"), "{}", words.stdout);
    assert!(words.stdout.contains("not run: it had a workspace"), "{}", words.stdout);
    // A skill that has changed is not run; a secret is not kept, so such a run cannot be repeated.
    let secret = "--seed 1 --input {\"password\":\"hunter2hunter2\"}";
    assert_eq!(run(&env, secret).code, Some(0));
    assert!(replay("").stdout.contains("look like secrets"));
    env.write("s/mod/more.md", b"more");
    let drifted = replay("");
    assert_eq!(drifted.code, Some(1));
    assert!(drifted.stdout.contains("not run: the skill is not what it was"), "{}", drifted.stdout);
}

#[test]
fn a_module_that_does_not_repeat_is_told_as_different() {
    // What it writes depends on how the log says that it was called; a log with another digest is another matter, and refused.
    let env = machine(&[("wasm/skill.wasm", echo())]);
    assert_eq!(run(&env, "--seed 5").code, Some(0));
    let changed = fs::read_dir(env.path("../home/.local/state/openskills/log")).unwrap();
    let file = changed.filter_map(Result::ok).map(|entry| entry.path());
    let file =
        file.into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"seed\":5", "\"seed\":6")).unwrap();
    assert_eq!(openskills(&env, "replay --execute --dir s").code, Some(6));
}

#[test]
fn compiled_code_is_believed_only_with_its_seal() {
    let env = machine(&[("wasm/skill.wasm", hello())]);
    let cached = || json(&run(&env, "--json"))["wasm"]["cached"].as_bool().unwrap();
    assert!(!cached() && cached());
    let folder = env.path("../home/.cache/openskills/wasm");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    assert!(!cached() && cached(), "one bit is another code, which is compiled again");
    // Neither is code under another user's key, nor anything that a skill brings.
    fs::remove_file(env.path("../home/.local/state/openskills/wasm.key")).unwrap();
    assert!(!cached() && cached());
    let mode =
        |path: &Path| std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).unwrap()) & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&env.path("../home/.local/state/openskills/wasm.key")), 0o600);
    let shown = openskills(&env, "cache");
    assert!(shown.stdout.contains("wasm          1 file"), "{}", shown.stdout);
    let cleared = openskills(&env, "cache clear wasm");
    assert!(cleared.stdout.starts_with("removed 1 file, "), "{}", cleared.stdout);
    assert!(!cached());
    env.write("../home/.cache/openskills/wasm/mine.txt", b"x");
    let all = json(&openskills(&env, "cache clear --json"));
    assert_eq!(all["cleared"], Value::Bool(true));
    assert!(env.path("../home/.cache/openskills/wasm/mine.txt").exists());
}

#[test]
fn modules_that_cannot_run_say_why() {
    let foreign =
        wat::parse_str(r#"(module (import "env" "system" (func)) (func (export "_start")))"#);
    let env = machine(&[
        ("wasm/text.wasm", b"(module)".to_vec()),
        ("wasm/foreign.wasm", foreign.unwrap()),
        ("wasm/cut.wasm", hello()[..40].to_vec()),
        ("wasm/script.wasm", b"#!/bin/sh\necho hello".to_vec()),
    ]);
    let several = run(&env, "");
    assert_eq!(several.code, Some(125));
    assert!(
        several.stderr.contains("name one of them: wasm/cut.wasm, wasm/foreign.wasm"),
        "{}",
        several.stderr
    );
    for stage in ["never", "always"] {
        for (module, words) in [
            ("text.wasm", "it is the text form"),
            ("foreign.wasm", "it imports what is not there: `system` of `env`"),
            ("cut.wasm", "unexpected end-of-file"),
            ("script.wasm", "it does not begin with `\\0asm`"),
        ] {
            let failed = run(&env, &format!("{module} --wasm-stage {stage}"));
            assert_eq!(failed.code, Some(125), "{module}: {failed:?}");
            let expected = format!("error: the module wasm/{module} cannot be run: ");
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
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
    assert!(!env.path("s/word-count/wasm-src").exists());
    assert_eq!(openskills(&env, "new Word_Count").code, Some(2));
    assert_eq!(openskills(&env, "new a --description <b>").code, Some(2));
    assert!(!env.path("a").exists());
}

#[test]
fn a_new_skill_in_rust_is_valid_and_its_module_runs() {
    let env = TestEnv::with("");
    let made = json(&openskills(&env, "new word-count --wasm --dir s --json"));
    assert_eq!(made["files"].as_array().unwrap().len(), 4);
    assert_eq!(openskills(&env, "validate s/word-count").code, Some(0));
    build(&env.path("s/word-count"));
    approve(&env, "s/word-count", "--dir s");
    let counted = openskills(&env, "run word-count --dir s --input \"one,two\" --seed 1");
    assert_eq!(counted.stdout, "{\"words\": 2}\n", "{}", counted.stderr);
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
        let words = r#"(data (i32.const 100) "{\"words\": 2}\n")
            (func (export "_start") (call $put (i32.const 100) (i32.const 13)))"#;
        fs::write(module, self::module(words)).unwrap();
    }
}
