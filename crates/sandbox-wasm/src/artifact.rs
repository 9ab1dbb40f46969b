//! Compiled code, which is only ever what this engine compiled: fresh, or kept under a key that the writer of a module does not have.

use std::hash::{Hash, Hasher};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Module, Precompiled};
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::engine::engine;
use crate::error::{WasmError, words};
use crate::link;
use crate::run::State;

/// How long the key of a cache is.
pub const KEY_LENGTH: usize = 32;
const TAG: usize = 32;

/// Whom a module was compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompiledFor {
    /// For this process: the user vouches for the module.
    Us,
    /// For a process inside the sandbox, and to be loaded in there alone: a compiler that a stranger's module got the better of returns what
    /// that stranger likes.
    Stage,
}

/// What a module's compiled code is kept under: the digest of the module, what of the engine the code depends on, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheName(String);

impl CacheName {
    /// Returns the name for a module, by the digits of its digest.
    pub fn of(digest: &str, whom: CompiledFor) -> Result<Self, WasmError> {
        let mut engine_hash = Hashed(Sha256::new());
        engine()?.precompile_compatibility_hash().hash(&mut engine_hash);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let engine = engine_hash.0.finalize();
        let whom = match whom {
            CompiledFor::Us => "",
            CompiledFor::Stage => "-stage",
        };
        Ok(Self(format!("{digest}-{}{whom}", hex(&engine[..8]))))
    }

    /// Returns it as the name of a file.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hands what is hashed to a digest that is the same everywhere.
struct Hashed(Sha256);

impl Hasher for Hashed {
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
/// The engine runs whatever stands in such bytes, so there are few ways to one: from [`compile`](crate::compile); from a process inside the
/// sandbox that compiled it, and then it runs in there alone unless the user vouches for the module; from a cache whose seal holds; and, in
/// there, from the caller, who had it from one of those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact(Vec<u8>);

impl Artifact {
    pub(crate) fn compiled(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for the stage.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns it as it is kept: a seal over the name and the code, then the code.
    pub fn sealed(&self, key: &[u8; KEY_LENGTH], name: &CacheName) -> Vec<u8> {
        let tag = seal(key, name, &self.0).finalize().into_bytes();
        [tag.as_slice(), &self.0].concat()
    }

    /// Reads what was kept; `None` if it is not what was kept under this name with this key.
    pub fn unsealed(key: &[u8; KEY_LENGTH], name: &CacheName, kept: &[u8]) -> Option<Self> {
        let (tag, code) = kept.split_at_checked(TAG)?;
        seal(key, name, code).verify_slice(tag).ok()?;
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

/// Code that is loaded and linked.
pub(crate) enum Loaded {
    Module(wasmtime::InstancePre<State>),
    Component(CommandPre<State>),
}

/// Loads compiled code.
pub(crate) fn load(artifact: &Artifact) -> Result<Loaded, WasmError> {
    match Engine::detect_precompiled(&artifact.0) {
        Some(Precompiled::Module) => {
            link::module(&trusted(artifact, Module::deserialize)?).map(Loaded::Module)
        }
        Some(Precompiled::Component) => {
            link::component(&trusted(artifact, Component::deserialize)?).map(Loaded::Component)
        }
        None => Err(WasmError::Engine("what was compiled is no code".to_owned())),
    }
}

/// Hands compiled code to the engine, which believes it.
fn trusted<'a, T>(
    artifact: &'a Artifact,
    deserialize: unsafe fn(&Engine, &'a [u8]) -> wasmtime::Result<T>,
) -> Result<T, WasmError> {
    let engine = engine()?;
    // SAFETY: this engine wrote the bytes, in this process or for this user: see how an `Artifact` comes to be. What was compiled of a stranger's
    // module is loaded inside the sandbox alone, where it can do no more than the compiler could. Nobody else can write the memory.
    #[expect(unsafe_code, reason = "the one place where compiled code is believed")]
    let loaded = unsafe { deserialize(engine, &artifact.0) };
    loaded.map_err(|error| WasmError::Engine(words(&error)))
}
