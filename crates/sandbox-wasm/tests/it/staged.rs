//! Compiling and running inside the operating system's sandbox.

use std::path::Path;
use std::time::{Duration, Instant};

use sandbox::{Ended, Network, Spec, Workspace, Writes};
use sandbox_wasm::{Artifact, Job, Report, WasmError, compile, staged};

use crate::components::connects;
use crate::guests::{World, hello, start_function, text, wat};

const RUNNER: &str = env!("CARGO_BIN_EXE_wasm-stage");

fn start(spec: &Spec) -> sandbox::Running {
    sandbox::use_helper(RUNNER);
    sandbox::start(spec).unwrap()
}

fn compile_staged(world: &World, wasm: &[u8]) -> Result<Artifact, WasmError> {
    let spec = staged::compile_spec(&world.spec, Path::new(RUNNER), wasm)?;
    staged::compile_result(&start(&spec).wait().unwrap())
}

fn run_staged(world: &World, wasm: &[u8]) -> Report {
    let job = Job::staged(&world.spec, &world.guest()).unwrap();
    let code = compile(wasm).unwrap();
    let spec = staged::run_spec(&world.spec, &job, Path::new(RUNNER), &code).unwrap();
    staged::run_result(&start(&spec).wait().unwrap()).unwrap()
}

#[test]
fn a_module_is_compiled_and_run_in_the_sandbox() {
    let mut world = World { seed: Some(1), ..World::new() };
    world.spec.stdin = sandbox::Stdin::Bytes(b"in".to_vec());
    let code = compile_staged(&world, &hello()).unwrap();
    // Code that was compiled in the sandbox runs in this process: it is the same engine.
    assert_eq!(text(&world.run_code(&code).stdout.bytes), "{\"hello\": 1}\n");
    let report = run_staged(&world, &hello());
    assert_eq!(
        (report.ended, text(&report.stdout.bytes).as_str()),
        (Ended::Exited(0), "{\"hello\": 1}\n")
    );
    assert_eq!(report.fuel, world.run(&hello()).fuel);
    let report = run_staged(&world, &start_function("(call $exit (i32.const 9))"));
    assert_eq!(report.ended, Ended::Exited(9));
    let report = run_staged(&world, &start_function("unreachable"));
    assert_eq!(report.ended, Ended::Trapped);
    assert!(report.trap.unwrap().contains("unreachable"));
}

#[test]
fn compile_errors_are_reported_from_the_sandbox() {
    let world = World::new();
    let here = compile(b"\0asm\x01\0\0\0\x01").unwrap_err();
    assert_eq!(compile_staged(&world, b"\0asm\x01\0\0\0\x01").unwrap_err(), here);
    let foreign = wat::parse_str(r#"(module (import "env" "f" (func)) (func (export "_start")))"#);
    let error = compile_staged(&world, &foreign.unwrap()).unwrap_err();
    assert!(error.to_string().contains("`f` from `env`"), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn limits_are_enforced_in_the_sandbox() {
    let mut world = World::new();
    let grow = start_function("(loop $again (drop (memory.grow (i32.const 16))) (br $again))");
    assert_eq!(run_staged(&world, &grow).ended, Ended::Memory);
    world.spec.limits.output_max = 1 << 20;
    let flood = start_function(
        "(loop $again (call $put (i32.const 2) (i32.const 1000) (i32.const 60000)) (br $again))",
    );
    let report = run_staged(&world, &flood);
    assert_eq!((report.ended, report.stderr.bytes.len()), (Ended::Output, 1 << 20));
    world.spec.limits.wall = Duration::from_millis(300);
    let start = Instant::now();
    assert_eq!(
        run_staged(&world, &start_function("(loop $again (br $again))")).ended,
        Ended::Timeout
    );
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
}

#[test]
fn writes_go_to_the_layer_and_the_stage_enforces_the_specification() {
    let mut world = World::new();
    let write = wat(
        "",
        r#"(data (i32.const 100) "new.txt")
      (func (export "_start")
        (call $open (i32.const 4) (i32.const 100) (i32.const 7) (i32.const 1) (i64.const 64)))"#,
    );
    world.spec.workspace =
        Some(Workspace { path: world.root().join("work"), writes: Writes::Layer });
    let job = Job::staged(&world.spec, &world.guest()).unwrap();
    let code = compile(&write).unwrap();
    let spec = staged::run_spec(&world.spec, &job, Path::new(RUNNER), &code).unwrap();
    let mut running = start(&spec);
    let layer = running.take_layer();
    let report = staged::run_result(&running.wait().unwrap()).unwrap();
    assert_eq!(text(&report.stdout.bytes), "00\n", "{report:?}");
    assert!(!world.root().join("work/new.txt").exists());
    if let Some(layer) = layer {
        let changes: Vec<String> =
            layer.changes().unwrap().iter().map(sandbox::Change::shown).collect();
        assert_eq!(changes, ["new.txt"]);
    }
    // A manipulated job that lists more than the specification grants: the stage does not grant it.
    let mut wider = world.spec.clone();
    wider.read.push(world.root().join("beside"));
    let job = Job::staged(&wider, &world.guest()).unwrap();
    let spec = staged::run_spec(&world.spec, &job, Path::new(RUNNER), &code).unwrap();
    let error = staged::run_result(&start(&spec).wait().unwrap()).unwrap_err();
    assert!(error.to_string().contains("cannot open"), "{error}");
}

#[test]
fn sockets_reach_only_the_proxy() {
    let mut world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_eq!(run_staged(&world, &connects(port..=port)).ended, Ended::Exited(1));
    world.spec.network = Network::Proxy;
    assert_eq!(run_staged(&world, &connects(port..=port)).ended, Ended::Exited(1));
    // It can connect to exactly one of all ports: that of the proxy in its own network namespace.
    let report = run_staged(&world, &connects(1..=65535));
    assert_eq!(report.ended, Ended::Exited(0), "{report:?}");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}
