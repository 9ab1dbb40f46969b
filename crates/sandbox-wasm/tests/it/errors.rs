//! Modules that cannot run say why.

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
fn files_that_are_no_modules_are_named_for_what_they_are() {
    check(
        b"",
        &expect![[r#"
        it is no WebAssembly: the file is empty
        hint: build it for wasm32-wasip1 or wasm32-wasip2, and ship the .wasm file"#]],
    );
    check(
        b"#!/bin/sh\n",
        &expect![[r#"
        it is no WebAssembly: it does not begin with `\0asm`
        hint: build it for wasm32-wasip1 or wasm32-wasip2, and ship the .wasm file"#]],
    );
    check(
        b"\n  (module)",
        &expect![[r#"
        it is no WebAssembly: it is the text form; assemble it first, with wat2wasm or `wasm-tools parse`
        hint: build it for wasm32-wasip1 or wasm32-wasip2, and ship the .wasm file"#]],
    );
    check(
        b"\0asm",
        &expect![[r#"
        it cannot be compiled: it ends in its first eight bytes
        hint: build it again; threads and 64-bit memories are not taken"#]],
    );
    check(
        b"\0asm\x02\0\0\0",
        &expect![[r#"
        it cannot be compiled: version [02, 00, 00, 00] of the format is not known
        hint: build it again; threads and 64-bit memories are not taken"#]],
    );
    let hello = hello();
    check(
        &hello[..hello.len() / 2],
        &expect![[r#"
        it cannot be compiled: failed to parse WebAssembly module: unexpected end-of-file (at offset 0x109)
        hint: build it again; threads and 64-bit memories are not taken"#]],
    );
    let mut broken = hello.clone();
    broken[20] ^= 0xff;
    check(
        &broken,
        &expect![[r#"
        it cannot be compiled: failed to parse WebAssembly module: function params size is out of bounds (at offset 0x14)
        hint: build it again; threads and 64-bit memories are not taken"#]],
    );
    let mut large = b"\0asm\x01\0\0\0".to_vec();
    large.resize(MAX_MODULE + 1, 0);
    check(
        &large,
        &expect![[r#"
        it has 67108865 bytes, and at most 67108864 are taken
        hint: strip it, and build it for size"#]],
    );
}

#[test]
fn code_that_is_compiled_already_is_never_loaded() {
    let engine = wasmtime::Engine::default();
    let code = engine.precompile_module(&hello()).unwrap();
    check(
        &code,
        &expect![[r#"
        it is no WebAssembly: it is compiled already, by whoever wrote it; only what is compiled here runs
        hint: build it for wasm32-wasip1 or wasm32-wasip2, and ship the .wasm file"#]],
    );
}

#[test]
fn imports_that_nobody_gives_are_named() {
    check(
        &text(
            r#"(module (import "env" "system" (func (param i32))) (import "env" "open" (func)) (func (export "_start")))"#,
        ),
        &expect![[r#"
            it imports what is not there: `system` of `env`, `open` of `env`
            hint: a module is given `wasi_snapshot_preview1` and nothing else; build it for wasm32-wasip1"#]],
    );
    check(
        &text(
            r#"(module (import "wasi_snapshot_preview1" "sock_connect" (func (param i32))) (func (export "_start")))"#,
        ),
        &expect![[r#"
            it imports what is not there: unknown import: `wasi_snapshot_preview1::sock_connect` has not been defined
            hint: WASI's first preview has no such function; build it with a current toolchain"#]],
    );
    check(
        &text(
            r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i64))) (func (export "_start")))"#,
        ),
        &expect![[r#"
            it imports what is not there: incompatible import type for `wasi_snapshot_preview1::proc_exit`: types incompatible: expected type `(func (param i64))`, found type `(func (param i32))`
            hint: WASI's first preview has no such function; build it with a current toolchain"#]],
    );
    check(
        &text(
            r#"(module (import "wasi_unstable" "fd_write" (func (param i32))) (func (export "_start")))"#,
        ),
        &expect![[r#"
            it imports what is not there: `fd_write` of `wasi_unstable`
            hint: it is built for an old WASI; build it for wasm32-wasip1 again"#]],
    );
    check(
        &text(r#"(module (import "./a_bg.js" "__wbindgen_throw" (func (param i32))))"#),
        &expect![[r#"
            it imports what is not there: `__wbindgen_throw` of `./a_bg.js`
            hint: it is built for a browser; build it for wasm32-wasip1 instead"#]],
    );
}

#[test]
fn what_is_no_command_is_named() {
    check(
        &text("(module)"),
        &expect![[r#"
        it is no command: it has no `_start`; it exports nothing
        hint: build a program with a `main`, for wasm32-wasip1 or wasm32-wasip2"#]],
    );
    check(
        &text(r#"(module (func (export "_initialize")) (memory (export "memory") 1))"#),
        &expect![[r#"
        it is no command: it has no `_start`; it exports `_initialize`, `memory`
        hint: build a program with a `main`, for wasm32-wasip1 or wasm32-wasip2"#]],
    );
    check(
        &text(r#"(module (func (export "_start") (result i32) (i32.const 1)))"#),
        &expect![[r#"
        it is no command: its `_start` takes or returns something
        hint: build a program with a `main`, for wasm32-wasip1 or wasm32-wasip2"#]],
    );
}

#[test]
fn proposals_that_are_not_taken_are_named() {
    check(
        &text(r#"(module (memory i64 1) (func (export "_start")))"#),
        &expect![[r#"
        it cannot be compiled: failed to parse WebAssembly module: memory64 must be enabled for 64-bit memories (at offset 0x15)
        hint: build it again; threads and 64-bit memories are not taken"#]],
    );
    check(
        &text(r#"(module (memory 1 2 shared) (func (export "_start")))"#),
        &expect![[r#"
        it cannot be compiled: failed to parse WebAssembly module: threads must be enabled for shared memories (at offset 0x15)
        hint: build it again; threads and 64-bit memories are not taken"#]],
    );
}
