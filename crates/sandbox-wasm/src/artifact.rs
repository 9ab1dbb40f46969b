//! Compiled code. It always comes from this engine: just compiled, or from a cache that is sealed with a key that the
//! module's author does not have.

use std::hash::{Hash, Hasher};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Module, Precompiled};
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::engine::engine;
use crate::error::{WasmError, describe};
use crate::link;
use crate::run::State;

/// The length of a cache key in bytes.
pub const KEY_LENGTH: usize = 32;
const SEAL_LENGTH: usize = 32;

/// Which process compiled code may be loaded in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompiledFor {
    /// This process: the user trusts the module.
    ThisProcess,
    /// Only a process inside the sandbox: an untrusted module that exploits the compiler controls the code that it
    /// returns.
    Stage,
}

/// The name of a module's compiled code in the cache: the digest of the module, the engine version and settings that
/// the code depends on, and where the code may be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheName(String);

impl CacheName {
    /// Returns the name for a module with this digest, in hexadecimal.
    pub fn of(digest: &str, compiled_for: CompiledFor) -> Result<Self, WasmError> {
        let mut engine_hash = DigestHasher(Sha256::new());
        engine()?.precompile_compatibility_hash().hash(&mut engine_hash);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let engine = engine_hash.0.finalize();
        let suffix = match compiled_for {
            CompiledFor::ThisProcess => "",
            CompiledFor::Stage => "-stage",
        };
        Ok(Self(format!("{digest}-{}{suffix}", hex(&engine[..8]))))
    }

    /// Returns it as a file name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hashes with a digest that is the same in every process.
struct DigestHasher(Sha256);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }
}

/// Compiled code.
///
/// The engine executes these bytes without checking them, so an artifact only comes from:
/// * [`compile`](crate::compile),
/// * a process inside the sandbox that compiled it; then it only runs inside the sandbox, unless the user trusts the
///   module,
/// * a cache entry with a valid seal,
/// * inside the sandbox: the caller, which got it from one of the above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact(Vec<u8>);

impl Artifact {
    pub(crate) fn compiled(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to send to the stage.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns its cache entry: a seal over the name and the code, then the code.
    pub fn sealed(&self, key: &[u8; KEY_LENGTH], name: &CacheName) -> Vec<u8> {
        let seal = seal(key, name, &self.0).finalize().into_bytes();
        [seal.as_slice(), &self.0].concat()
    }

    /// Reads a cache entry; `None` if it was not sealed with this name and key.
    pub fn unsealed(key: &[u8; KEY_LENGTH], name: &CacheName, entry: &[u8]) -> Option<Self> {
        let (expected, code) = entry.split_at_checked(SEAL_LENGTH)?;
        seal(key, name, code).verify_slice(expected).ok()?;
        Some(Self(code.to_vec()))
    }
}

fn seal(key: &[u8; KEY_LENGTH], name: &CacheName, code: &[u8]) -> Hmac<Sha256> {
    let mut seal = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
    seal.update(name.as_str().as_bytes());
    seal.update(b"\0");
    seal.update(code);
    seal
}

/// Loaded and linked code.
pub(crate) enum Loaded {
    Module(wasmtime::InstancePre<State>),
    Component(CommandPre<State>),
}

/// Loads compiled code.
pub(crate) fn load(artifact: &Artifact) -> Result<Loaded, WasmError> {
    match Engine::detect_precompiled(&artifact.0) {
        Some(Precompiled::Module) => {
            link::module(&deserialize(artifact, Module::deserialize)?).map(Loaded::Module)
        }
        Some(Precompiled::Component) => {
            link::component(&deserialize(artifact, Component::deserialize)?).map(Loaded::Component)
        }
        None => Err(WasmError::Engine("it is not compiled code".to_owned())),
    }
}

/// Passes compiled code to the engine, which trusts it.
fn deserialize<'a, T>(
    artifact: &'a Artifact,
    load: unsafe fn(&Engine, &'a [u8]) -> wasmtime::Result<T>,
) -> Result<T, WasmError> {
    let engine = engine()?;
    // SAFETY: this engine wrote the bytes, in this process or for this user: see where an `Artifact` comes from. The
    // compiled code of an untrusted module is only loaded inside the sandbox, where it can do no more than the compiler
    // could. No other process can write to this memory.
    #[expect(unsafe_code, reason = "the only place where compiled code is trusted")]
    let loaded = unsafe { load(engine, &artifact.0) };
    loaded.map_err(|error| WasmError::Engine(describe(&error)))
}
