//! With a seed, the same input gives the same output, whatever a program asks its host for.

use crate::components::component;
use crate::guests::{World, wat};

/// A module that writes everything that could differ between machines: random numbers, clocks, file metadata, and the
/// bits of NaN values.
fn nondeterministic() -> Vec<u8> {
    let imports = r#"
      (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
      (import "wasi_snapshot_preview1" "path_filestat_get"
        (func $stat (param i32 i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "fd_filestat_get" (func $fstat (param i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "fd_readdir" (func $list (param i32 i32 i32 i64 i32) (result i32)))"#;
    wat(
        imports,
        r#"(data (i32.const 100) "data.txt")
      (func (export "_start") (local $nan f64)
        (drop (call $random (i32.const 1000) (i32.const 64)))
        (drop (call $clock (i32.const 0) (i64.const 1) (i32.const 1064)))
        (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 1072)))
        (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 1080)))
        (if (call $stat (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 8) (i32.const 1088))
          (then unreachable))
        (if (call $fstat (i32.const 3) (i32.const 1152)) (then unreachable))
        (if (call $list (i32.const 3) (i32.const 1216) (i32.const 400) (i64.const 0) (i32.const 1616))
          (then unreachable))
        (local.set $nan (f64.div (f64.const 0) (f64.const 0)))
        (f64.store (i32.const 1624) (f64.neg (local.get $nan)))
        (f64.store (i32.const 1632) (f64.add (f64.const nan:0x123456789) (f64.sqrt (f64.const -1))))
        (call $put (i32.const 1) (i32.const 1000) (i32.const 640)))"#,
    )
}

fn runs(wasm: &[u8], seed: Option<u64>) -> (Vec<u8>, u64) {
    // Each run has a new skill folder, with different inode numbers and times.
    let report = World { seed, ..World::new() }.run(wasm);
    assert_eq!(report.ended, sandbox::Ended::Exited(0), "{report:?}");
    (report.stdout.bytes, report.fuel)
}

#[test]
fn the_same_seed_gives_the_same_output_a_hundred_times() {
    for wasm in [nondeterministic(), component(&nondeterministic())] {
        let first = runs(&wasm, Some(42));
        assert_eq!(first.0.len(), 640);
        for _ in 0..100 {
            assert_eq!(runs(&wasm, Some(42)), first);
        }
        assert_ne!(runs(&wasm, Some(43)).0, first.0);
        assert_ne!(runs(&wasm, None).0, runs(&wasm, None).0);
    }
}

#[test]
fn every_process_and_machine_gives_the_same_output() {
    // The expected digest of the output.
    use sha2::Digest;
    let hex = |bytes: &[u8]| {
        sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    // The folder listing is excluded, because its order depends on the file system.
    let mut bytes = runs(&nondeterministic(), Some(7)).0;
    bytes.drain(216..616);
    expect_test::expect!["0468f5a66af55661297521460a3313d7eb69db9b90dfcb186bb0bd93320534f1"]
        .assert_eq(&hex(&bytes));
}

#[test]
fn clocks_start_at_a_fixed_time_and_advance() {
    let bytes = runs(&nondeterministic(), Some(1)).0;
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(number(64), 1_704_067_200_000_000_000);
    assert_eq!((number(72), number(80)), (0, 1_000_000));
    // Of a file: its inode number, one link, its size, and three times. Of a folder: size 0.
    assert_eq!([8, 24, 32].map(|at| number(88 + at)), [1, 1, 12]);
    assert_eq!([8, 24, 32].map(|at| number(152 + at)), [2, 1, 0]);
    assert_eq!([40, 48, 56].map(|at| number(88 + at)), [1_704_067_200_000_000_000; 3]);
}
