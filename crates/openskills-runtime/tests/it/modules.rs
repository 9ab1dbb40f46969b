//! Running WASM modules, and replaying them from the log.

use std::fs;

use jiff::Timestamp;
use openskills_runtime::log::{Log, LogOptions, Source};
use openskills_runtime::permit::RequestedAccess;
use openskills_runtime::{
    Event, ExecutionOptions, ExecutionRecord, ExitStatus, Invocation, OpenSkillRuntime,
    RepeatInput, RepeatResult, ScriptExecution, WasmExecution, WriteMode,
};
use skill::Digest;
use skill_state::SkillSource;

use crate::{World, skill};

/// Writes eight random bytes.
const RANDOM: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (drop (call $random (i32.const 100) (i32.const 8)))
    (i32.store (i32.const 0) (i32.const 100))
    (i32.store (i32.const 4) (i32.const 8))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

fn world() -> (World, OpenSkillRuntime) {
    // Without write permission, it runs in this process.
    let world = World::new(
        &skill("home/.claude/skills/dice", "dice")
            .replace("---\nBody", "allowed-tools: Read\n---\nBody"),
    );
    let folder = world.path("home/.claude/skills/dice/wasm");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("skill.wasm"), wat::parse_str(RANDOM).unwrap()).unwrap();
    let mut runtime = world.discover();
    let plan = runtime.plan_run("dice", None, RequestedAccess::default()).unwrap();
    let request = runtime.request(&plan).unwrap().unwrap();
    runtime.approve(&request, None).unwrap();
    (world, runtime)
}

/// The user's own modules run in-process, so the host does not have to call `init`.
#[test]
fn a_seed_makes_a_module_deterministic() {
    let (_world, mut runtime) = world();
    let mut run = |seed| {
        let invocation = Invocation { seed, ..Invocation::default() };
        let options = ExecutionOptions { invocation, ..ExecutionOptions::default() };
        runtime.execute_skill("dice", options).unwrap().stdout
    };
    assert_eq!(run(Some(1)), run(Some(1)));
    assert_ne!(run(Some(1)), run(Some(2)));
    assert_ne!(run(None), run(None));
}

/// Logs a run with the given digests of input and output.
fn logged(
    world: &World,
    runtime: &OpenSkillRuntime,
    input_hash: &Digest,
    output_hash: &Digest,
) -> Source {
    let subject = runtime.plan_run("dice", None, RequestedAccess::default()).unwrap().subject;
    let record = ExecutionRecord {
        skill_id: subject.skill_id.clone(),
        version: String::new(),
        input_hash: input_hash.to_string(),
        output_hash: output_hash.to_string(),
        start_time_ms: 0,
        duration_ms: 1,
        arguments: Vec::new(),
        permissions_granted: Vec::new(),
        permissions_denied: Vec::new(),
        allow_degraded: Vec::new(),
        exit_status: ExitStatus::Success,
        stdout: String::new(),
        stderr: String::new(),
    };
    let repeat =
        RepeatInput { args: Vec::new(), input: None, timeout_ms: 1000, memory_bytes: 128 << 20 };
    let wasm = WasmExecution {
        module_sha256: String::new(),
        fuel: 1,
        memory_bytes: 1,
        staged: false,
        trap: None,
        seed: Some(1),
        repeat: Some(repeat),
        not_repeatable: None,
        repeats: None,
    };
    let executed = ScriptExecution {
        execution_id: "0".repeat(32),
        ended: openskills_runtime::ExecutionEnd::Exited { code: 0 },
        may_have_written: false,
        skill_id: subject.skill_id,
        source: SkillSource::User,
        session_id: "s".to_owned(),
        task_id: None,
        script: "wasm/skill.wasm".to_owned(),
        hash: subject.content.to_string(),
        bundle_sha256: subject.bundle.to_string(),
        enforced: Vec::new(),
        violations: Vec::new(),
        reached: Vec::new(),
        changes: Vec::new(),
        change_count: 0,
        writes: WriteMode::Dropped,
        wasm: Some(wasm),
        record,
    };
    let folder = world.root().join("other-log");
    let event = Event::ScriptExecuted(Box::new(executed));
    let log = Log::new(folder.clone(), LogOptions::default());
    log.append(&[event], Timestamp::UNIX_EPOCH).unwrap();
    Source::Folder(folder)
}

#[test]
fn replayed_output_is_compared_with_the_log() {
    let (world, mut runtime) = world();
    // No arguments and no input.
    let (nothing, other) = (Digest::of(b"input\n"), Digest::of(b"other"));
    let source = logged(&world, &runtime, &nothing, &other);
    let all = runtime.replay_executing(&source, None).unwrap();
    let repeated = all[0].repeated.as_ref().unwrap();
    assert_eq!(repeated.result, RepeatResult::Different);
    let now: Digest = repeated.output_hash.as_ref().unwrap().parse().unwrap();
    logged(&world, &runtime, &nothing, &now);
    logged(&world, &runtime, &other, &now);
    let all = runtime.replay_executing(&source, None).unwrap();
    let result = |number: usize| all[number].repeated.as_ref().unwrap().result;
    assert_eq!((result(0), result(1)), (RepeatResult::Different, RepeatResult::Same));
    let wrong = all[2].repeated.as_ref().unwrap();
    assert_eq!(wrong.result, RepeatResult::NotRun);
    assert!(wrong.reason.as_ref().unwrap().contains("do not match their recorded hash"));
    // Plain replay runs nothing.
    assert!(runtime.replay(&source, None).unwrap().iter().all(|event| event.repeated.is_none()));
}
