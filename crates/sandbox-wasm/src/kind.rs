//! Detects from its first bytes what a WebAssembly file contains.

use wasmtime::Engine;

use crate::error::WasmError;

/// The maximum size of a module in bytes.
pub const MAX_MODULE: usize = 64 << 20;
const MAGIC: &[u8] = b"\0asm";
const MODULE_VERSION: [u8; 4] = [1, 0, 0, 0];
const COMPONENT_VERSION: [u8; 4] = [0x0d, 0, 1, 0];

/// What a WebAssembly file contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WasmKind {
    Module,
    Component,
}

/// Returns true if the first bytes are those of a WebAssembly file.
pub fn is_wasm(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Returns true if the first bytes are those of a component. Only components can reach the network: modules of WASI
/// preview 1 cannot open connections.
pub fn is_component(start: &[u8]) -> bool {
    start.strip_prefix(MAGIC).is_some_and(|version| version.starts_with(&COMPONENT_VERSION))
}

/// Returns what a file contains; an error if it cannot be compiled.
pub(crate) fn detect_kind(wasm: &[u8]) -> Result<WasmKind, WasmError> {
    if wasm.len() > MAX_MODULE {
        return Err(WasmError::TooLarge { size: wasm.len(), max: MAX_MODULE });
    }
    let not = |what: &str| WasmError::NotWasm(what.to_owned());
    if Engine::detect_precompiled(wasm).is_some() {
        return Err(not(
            "it is precompiled native code; openskills only runs modules that it compiles itself",
        ));
    }
    if wasm.is_empty() {
        return Err(not("the file is empty"));
    }
    if wasm.trim_ascii_start().starts_with(b"(") {
        return Err(not(
            "it is in the text format; convert it with wat2wasm or `wasm-tools parse`",
        ));
    }
    let Some(version) = wasm.strip_prefix(MAGIC) else {
        return Err(not("it does not start with `\\0asm`"));
    };
    match version.first_chunk::<4>() {
        Some(&MODULE_VERSION) => Ok(WasmKind::Module),
        Some(&COMPONENT_VERSION) => Ok(WasmKind::Component),
        Some(other) => Err(WasmError::Malformed(format!("unknown format version {other:02x?}"))),
        None => Err(WasmError::Malformed("the file ends within the 8-byte header".to_owned())),
    }
}
