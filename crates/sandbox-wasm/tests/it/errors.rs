//! Errors for files that cannot run.

use expect_test::{Expect, expect};
use sandbox_wasm::{MAX_MODULE, compile};

use crate::guests::hello;

fn check(wasm: &[u8], expected: &Expect) {
    let error = compile(wasm).unwrap_err();
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    expected.assert_eq(&format!("{error}{hint}"));
}

fn text(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

#[test]
fn files_that_are_not_modules_are_refused() {
    check(
        b"",
        &expect![[r#"
        not a WebAssembly file: the file is empty
        hint: build it for wasm32-wasip1 or wasm32-wasip2 and use the .wasm file"#]],
    );
    check(
        b"#!/bin/sh\n",
        &expect![[r#"
        not a WebAssembly file: it does not start with `\0asm`
        hint: build it for wasm32-wasip1 or wasm32-wasip2 and use the .wasm file"#]],
    );
    check(
        b"\n  (module)",
        &expect![[r#"
        not a WebAssembly file: it is in the text format; convert it with wat2wasm or `wasm-tools parse`
        hint: build it for wasm32-wasip1 or wasm32-wasip2 and use the .wasm file"#]],
    );
    check(
        b"\0asm",
        &expect![[r#"
        it cannot be compiled: the file ends within the 8-byte header
        hint: rebuild it; threads and 64-bit memories are not supported"#]],
    );
    check(
        b"\0asm\x02\0\0\0",
        &expect![[r#"
        it cannot be compiled: unknown format version [02, 00, 00, 00]
        hint: rebuild it; threads and 64-bit memories are not supported"#]],
    );
    let hello = hello();
    check(
        &hello[..hello.len() / 2],
        &expect![[r#"
        it cannot be compiled: failed to parse WebAssembly module: unexpected end-of-file (at offset 0x109)
        hint: rebuild it; threads and 64-bit memories are not supported"#]],
    );
    let mut broken = hello.clone();
    broken[20] ^= 0xff;
    check(
        &broken,
        &expect![[r#"
        it cannot be compiled: failed to parse WebAssembly module: function params size is out of bounds (at offset 0x14)
        hint: rebuild it; threads and 64-bit memories are not supported"#]],
    );
    let mut large = b"\0asm\x01\0\0\0".to_vec();
    large.resize(MAX_MODULE + 1, 0);
    check(
        &large,
        &expect![[r#"
        larger than 64 MiB
        hint: strip it and optimize it for size"#]],
    );
}

#[test]
fn precompiled_code_is_never_loaded() {
    let engine = wasmtime::Engine::default();
    let code = engine.precompile_module(&hello()).unwrap();
    check(
        &code,
        &expect![[r#"
        not a WebAssembly file: it is precompiled native code; openskills only runs modules that it compiles itself
        hint: build it for wasm32-wasip1 or wasm32-wasip2 and use the .wasm file"#]],
    );
}

#[test]
fn missing_imports_are_listed() {
    check(
        &text(
            r#"(module (import "env" "system" (func (param i32))) (import "env" "open" (func)) (func (export "_start")))"#,
        ),
        &expect![[r#"
            it imports unknown functions or interfaces: `system` from `env`, `open` from `env`
            hint: modules can only import `wasi_snapshot_preview1`; build it for wasm32-wasip1"#]],
    );
    check(
        &text(
            r#"(module (import "wasi_snapshot_preview1" "sock_connect" (func (param i32))) (func (export "_start")))"#,
        ),
        &expect![[r#"
            it imports unknown functions or interfaces: unknown import: `wasi_snapshot_preview1::sock_connect` has not been defined
            hint: WASI preview 1 has no such function; build it with a current toolchain"#]],
    );
    check(
        &text(
            r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i64))) (func (export "_start")))"#,
        ),
        &expect![[r#"
            it imports unknown functions or interfaces: incompatible import type for `wasi_snapshot_preview1::proc_exit`: types incompatible: expected type `(func (param i64))`, found type `(func (param i32))`
            hint: WASI preview 1 has no such function; build it with a current toolchain"#]],
    );
    check(
        &text(
            r#"(module (import "wasi_unstable" "fd_write" (func (param i32))) (func (export "_start")))"#,
        ),
        &expect![[r#"
            it imports unknown functions or interfaces: `fd_write` from `wasi_unstable`
            hint: it was built for an old version of WASI; rebuild it for wasm32-wasip1"#]],
    );
    check(
        &text(r#"(module (import "./a_bg.js" "__wbindgen_throw" (func (param i32))))"#),
        &expect![[r#"
            it imports unknown functions or interfaces: `__wbindgen_throw` from `./a_bg.js`
            hint: it was built for browsers; build it for wasm32-wasip1 instead"#]],
    );
}

#[test]
fn modules_that_are_not_commands_are_refused() {
    check(
        &text("(module)"),
        &expect![[r#"
        it is not a command: it does not export `_start`; it exports nothing
        hint: build a program with a `main` function for wasm32-wasip1 or wasm32-wasip2"#]],
    );
    check(
        &text(r#"(module (func (export "_initialize")) (memory (export "memory") 1))"#),
        &expect![[r#"
        it is not a command: it does not export `_start`; it exports `_initialize`, `memory`
        hint: build a program with a `main` function for wasm32-wasip1 or wasm32-wasip2"#]],
    );
    check(
        &text(r#"(module (func (export "_start") (result i32) (i32.const 1)))"#),
        &expect![[r#"
        it is not a command: its `_start` function has parameters or results
        hint: build a program with a `main` function for wasm32-wasip1 or wasm32-wasip2"#]],
    );
}

#[test]
fn unsupported_proposals_are_refused() {
    check(
        &text(r#"(module (memory i64 1) (func (export "_start")))"#),
        &expect![[r#"
        it cannot be compiled: failed to parse WebAssembly module: memory64 must be enabled for 64-bit memories (at offset 0x15)
        hint: rebuild it; threads and 64-bit memories are not supported"#]],
    );
    check(
        &text(r#"(module (memory 1 2 shared) (func (export "_start")))"#),
        &expect![[r#"
        it cannot be compiled: failed to parse WebAssembly module: threads must be enabled for shared memories (at offset 0x15)
        hint: rebuild it; threads and 64-bit memories are not supported"#]],
    );
}
