//! What a file holds, by how it begins.

use wasmtime::Engine;

use crate::error::WasmError;

/// The largest module that is compiled.
pub const MAX_MODULE: usize = 64 << 20;
const MAGIC: &[u8] = b"\0asm";
const MODULE: [u8; 4] = [1, 0, 0, 0];
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];

/// What a file of WebAssembly holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Module,
    Component,
}

/// Returns true if a file begins as WebAssembly does.
pub fn is_wasm(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Returns true if a file begins as a component does. Only components can reach the network: WASI's first preview opens no connection.
pub fn is_component(start: &[u8]) -> bool {
    start.strip_prefix(MAGIC).is_some_and(|version| version.starts_with(&COMPONENT))
}

/// Finds out what a file holds, by how it begins.
pub(crate) fn kind(wasm: &[u8]) -> Result<Kind, WasmError> {
    if wasm.len() > MAX_MODULE {
        return Err(WasmError::TooLarge { size: wasm.len(), most: MAX_MODULE });
    }
    let not = |what: &str| WasmError::NotWasm(what.to_owned());
    if Engine::detect_precompiled(wasm).is_some() {
        return Err(not(
            "it is compiled already, by whoever wrote it; only what is compiled here runs",
        ));
    }
    if wasm.is_empty() {
        return Err(not("the file is empty"));
    }
    if wasm.trim_ascii_start().starts_with(b"(") {
        return Err(not(
            "it is the text form; assemble it first, with wat2wasm or `wasm-tools parse`",
        ));
    }
    let Some(version) = wasm.strip_prefix(MAGIC) else {
        return Err(not("it does not begin with `\\0asm`"));
    };
    match version.first_chunk::<4>() {
        Some(&MODULE) => Ok(Kind::Module),
        Some(&COMPONENT) => Ok(Kind::Component),
        Some(other) => {
            Err(WasmError::Malformed(format!("version {other:02x?} of the format is not known")))
        }
        None => Err(WasmError::Malformed("it ends in its first eight bytes".to_owned())),
    }
}
