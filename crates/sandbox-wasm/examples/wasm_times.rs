//! Measures the engine for `bench/run`, and writes the measured module to a file.
//!
//! `wasm_times COUNT MODULE`: prints the minimum of COUNT runs in nanoseconds, one `name value` per line.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark program")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use sandbox::Spec;
use sandbox_wasm::{Artifact, CacheName, CompiledFor, Guest, Job, compile, run};

const HELLO: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "{\"hello\": 1}\n")
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 100))
    (i32.store (i32.const 4) (i32.const 13))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let runs: u32 = args.next().ok_or("usage: wasm_times COUNT MODULE")?.parse()?;
    let path = args.next().ok_or("usage: wasm_times COUNT MODULE")?;
    let wasm = wat::parse_str(HELLO)?;
    std::fs::write(&path, &wasm)?;
    let start = Instant::now();
    let code = compile(&wasm)?;
    println!("engine-and-first-compile {}", start.elapsed().as_nanos());
    let folder = std::path::Path::new(&path)
        .parent()
        .ok_or("the path of the module has no parent folder")?
        .canonicalize()?;
    let mut spec = Spec::new(&path);
    spec.read = vec![folder.clone()];
    let job = Job::in_process(&spec, &Guest { skill: folder, seed: None })?;
    let best = |work: &dyn Fn() -> Result<(), sandbox_wasm::WasmError>| {
        let mut least = Duration::MAX;
        for _ in 0..runs {
            let start = Instant::now();
            work()?;
            least = least.min(start.elapsed());
        }
        Ok::<_, sandbox_wasm::WasmError>(least.as_nanos())
    };
    println!("run {}", best(&|| run(&job, &code).map(|_| ()))?);
    let (key, large) = ([7; 32], wat::parse_str(large())?);
    let start = Instant::now();
    let code = compile(&large)?;
    println!("large-compile {}", start.elapsed().as_nanos());
    let name = CacheName::of("large", CompiledFor::ThisProcess)?;
    let entry = code.sealed(&key, &name);
    println!("large-bytes {}", large.len());
    let load = || {
        let code = Artifact::unsealed(&key, &name, &entry)
            .ok_or(sandbox_wasm::WasmError::Engine(String::new()))?;
        run(&job, &code).map(|_| ())
    };
    println!("large-from-cache {}", best(&load)?);
    Ok(())
}

/// Returns a large module that does nothing.
fn large() -> String {
    let mut text =
        String::from("(module (memory (export \"memory\") 1) (func (export \"_start\"))");
    for number in 0..20_000 {
        let _ = write!(
            text,
            "(func (param i32) (result i32) (i32.add (i32.mul (local.get 0) (i32.const {number}))
              (i32.load (i32.and (local.get 0) (i32.const {})))))",
            number % 60_000
        );
    }
    text + ")"
}
