//! The limits of a program, and what happens when it exceeds them.

use std::time::{Duration, Instant};

use sandbox::Ended;

use crate::guests::{World, hello, start_function, text, wat};

#[test]
fn a_program_gets_arguments_variables_and_input_and_its_output_is_captured() {
    let mut world = World::new();
    let report = world.run(&hello());
    assert_eq!(
        (report.ended, text(&report.stdout.bytes).as_str()),
        (Ended::Exited(0), "{\"hello\": 1}\n")
    );
    assert!(report.fuel > 0 && report.fuel < 1000, "{}", report.fuel);
    assert_eq!(report.memory, 128 << 10);
    world.spec.args = vec!["one".into(), "zwei ä".into()];
    world.spec.env = vec![("SKILL_ID".into(), "x".into())];
    world.spec.stdin = sandbox::Stdin::Bytes(b"what is read".to_vec());
    let imports = r#"
      (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))"#;
    let echo = wat(
        imports,
        r#"(func (export "_start")
      (drop (call $args (i32.const 200) (i32.const 400)))
      (call $put (i32.const 1) (i32.const 400) (i32.const 23))
      (drop (call $environ (i32.const 200) (i32.const 500)))
      (call $put (i32.const 1) (i32.const 500) (i32.const 11))
      (i32.store (i32.const 0) (i32.const 600)) (i32.store (i32.const 4) (i32.const 100))
      (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (call $put (i32.const 2) (i32.const 600) (i32.load (i32.const 8)))
      (call $exit (i32.const 7)))"#,
    );
    let report = world.run(&echo);
    assert_eq!(report.ended, Ended::Exited(7));
    assert_eq!(text(&report.stdout.bytes), "skill.wasm\0one\0zwei ä\0SKILL_ID=x\0");
    assert_eq!(text(&report.stderr.bytes), "what is read");
}

#[test]
fn the_time_limit_ends_an_endless_computation() {
    let mut world = World::new();
    world.spec.limits.wall = Duration::from_millis(300);
    let start = Instant::now();
    assert_eq!(world.run(&start_function("(loop $again (br $again))")).ended, Ended::Timeout);
    assert!(start.elapsed() < Duration::from_millis(1300), "{:?}", start.elapsed());
}

#[test]
fn the_time_limit_ends_a_program_that_sleeps_in_a_host_call() {
    let mut world = World::new();
    world.spec.limits.wall = Duration::from_millis(300);
    let imports = r#"(import "wasi_snapshot_preview1" "poll_oneoff"
      (func $poll (param i32 i32 i32 i32) (result i32)))"#;
    // One subscription to the monotonic clock, for 60 seconds.
    let sleep = wat(
        imports,
        r#"(func (export "_start")
      (i32.store (i32.const 216) (i32.const 1))
      (i64.store (i32.const 224) (i64.const 60000000000))
      (drop (call $poll (i32.const 200) (i32.const 300) (i32.const 1) (i32.const 8))))"#,
    );
    let start = Instant::now();
    assert_eq!(world.run(&sleep).ended, Ended::Timeout);
    assert!(start.elapsed() < Duration::from_millis(1300), "{:?}", start.elapsed());
}

#[test]
fn the_time_limit_ends_a_program_that_opens_a_fifo() {
    let mut world = World::new();
    world.spec.limits.wall = Duration::from_millis(300);
    let made = std::process::Command::new("mkfifo").arg(world.root().join("work/pipe")).status();
    assert!(made.unwrap().success());
    let wait = wat(
        "",
        r#"(data (i32.const 100) "pipe")
      (func (export "_start")
        (call $open (i32.const 4) (i32.const 100) (i32.const 4) (i32.const 0) (i64.const 2)))"#,
    );
    let start = Instant::now();
    let report = world.run(&wait);
    assert!(start.elapsed() < Duration::from_millis(1300), "{:?}", start.elapsed());
    assert_eq!(report.ended, Ended::Timeout, "{report:?}");
}

#[test]
fn memory_is_limited_over_all_memories_and_tables() {
    let mut world = World::new();
    let grow = "(loop $again (drop (memory.grow (i32.const 16))) (br $again))";
    let report = world.run(&start_function(grow));
    assert_eq!((report.ended, report.trap.as_deref()), (Ended::Memory, None));
    assert!(report.memory <= 16 << 20 && report.memory > 14 << 20, "{}", report.memory);
    for (what, text) in [
        ("from the start", r#"(module (memory 300) (func (export "_start")))"#),
        ("in two memories", r#"(module (memory $a 100) (memory $b 200) (func (export "_start")))"#),
        (
            "in a table",
            r#"(module (table 0 funcref) (func (export "_start")
          (loop $again (drop (table.grow (ref.null func) (i32.const 100000))) (br $again))))"#,
        ),
    ] {
        world.spec.limits.memory = 4 << 20;
        let report = world.run(&wat::parse_str(text).unwrap());
        assert_eq!(report.ended, Ended::Memory, "{what}: {report:?}");
        assert!(report.memory <= 4 << 20, "{what}: {report:?}");
    }
    world.spec.limits.memory = 16 << 20;
    // The full limit, and the maximum that the module declares: growing over that just fails.
    let full = r#"(module (memory 200 250) (func (export "_start")
      (if (i32.ne (memory.grow (i32.const 100)) (i32.const -1)) (then unreachable))
      (if (i32.eq (memory.grow (i32.const 50)) (i32.const -1)) (then unreachable))))"#;
    assert_eq!(world.run(&wat::parse_str(full).unwrap()).ended, Ended::Exited(0));
}

#[test]
fn a_trap_is_reported_and_the_host_survives() {
    let world = World::new();
    for (text, reason) in [
        ("unreachable", "wasm `unreachable` instruction executed"),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", "integer divide by zero"),
        ("(drop (i32.load (i32.const -4)))", "out of bounds memory access"),
        ("(call $deep)", "call stack exhausted"),
    ] {
        let rest = format!(r#"(func $deep (call $deep)) (func $main (export "_start") {text})"#);
        let report = world.run(&wat("", &rest));
        assert_eq!(report.ended, Ended::Trapped, "{text}");
        let trap = report.trap.unwrap();
        assert!(
            trap.contains(reason) && trap.contains("main") | trap.contains("deep"),
            "{text}: {trap}"
        );
    }
    assert_eq!(world.run(&hello()).ended, Ended::Exited(0));
}

#[test]
fn too_much_output_is_truncated_counted_and_ends_the_run() {
    let mut world = World::new();
    (world.spec.limits.output_kept, world.spec.limits.output_max) = (1000, 1 << 20);
    let some = start_function("(call $put (i32.const 1) (i32.const 1000) (i32.const 60000))");
    let report = world.run(&some);
    assert_eq!(
        (report.ended, report.stdout.bytes.len(), report.stdout.total),
        (Ended::Exited(0), 1000, 60000)
    );
    assert!(report.stdout.is_truncated());
    let much = start_function(
        "(loop $again (call $put (i32.const 2) (i32.const 1000) (i32.const 60000)) (br $again))",
    );
    let report = world.run(&much);
    assert_eq!((report.ended, report.stderr.bytes.len()), (Ended::Output, 1000));
    assert!(
        report.stderr.total > 1 << 20 && report.stderr.total < 2 << 20,
        "{}",
        report.stderr.total
    );
}

#[test]
fn many_concurrent_runs_do_not_affect_each_other() {
    let world = World::new();
    let code = sandbox_wasm::compile(&hello()).unwrap();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..50).map(|_| scope.spawn(|| world.run_code(&code))).collect();
        for run in runs {
            assert_eq!(text(&run.join().unwrap().stdout.bytes), "{\"hello\": 1}\n");
        }
    });
}
