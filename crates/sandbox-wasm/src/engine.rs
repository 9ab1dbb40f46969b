//! The one engine of this process, and compiling with it.

use std::sync::LazyLock;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures};

use crate::artifact::Artifact;
use crate::error::{WasmError, words};
use crate::kind::{Kind, kind};
use crate::link;

/// How deep calls may go, in bytes of stack.
const STACK: usize = 512 << 10;
/// How many run at once in one process; one more is refused.
const AT_ONCE: u32 = 64;
/// How many memories, tables and instances all of them have: a component is made of several.
const PARTS: u32 = 8;
/// The largest table, in elements.
const TABLE: usize = 1 << 20;

static ENGINE: LazyLock<Result<Engine, String>> = LazyLock::new(|| {
    let pooled = || Engine::new(&config(Some(pool())));
    // Where addresses are short, each run asks the system for its own memory.
    let made = pooled().or_else(|_| Engine::new(&config(None)));
    made.map_err(|error| words(&error))
});

/// Returns the engine of this process.
pub(crate) fn engine() -> Result<&'static Engine, WasmError> {
    ENGINE.as_ref().map_err(|why| WasmError::Engine(why.clone()))
}

/// Compiles a module or a component, if it is one that can run here.
pub fn compile(wasm: &[u8]) -> Result<Artifact, WasmError> {
    let engine = engine()?;
    match kind(wasm)? {
        Kind::Module => {
            let module = wasmtime::Module::new(engine, wasm).map_err(malformed)?;
            link::module(&module)?;
            let bytes = module.serialize().map_err(|error| WasmError::Engine(words(&error)))?;
            Ok(Artifact::compiled(bytes))
        }
        Kind::Component => {
            let component = wasmtime::component::Component::new(engine, wasm).map_err(malformed)?;
            link::component(&component)?;
            let bytes = component.serialize().map_err(|error| WasmError::Engine(words(&error)))?;
            Ok(Artifact::compiled(bytes))
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn malformed(error: wasmtime::Error) -> WasmError {
    WasmError::Malformed(words(&error))
}

/// The same for every process, or what one compiled would be nothing to another. Floating point is always fixed, so that a run with a seed
/// and one without are the same code.
fn config(pool: Option<PoolingAllocationConfig>) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .max_wasm_stack(STACK)
        .async_stack_size(STACK * 4)
        .wasm_features(WasmFeatures::THREADS | WasmFeatures::MEMORY64, false);
    if let Some(pool) = pool {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_stacks(AT_ONCE)
        .total_component_instances(AT_ONCE)
        .total_core_instances(AT_ONCE * PARTS)
        .total_memories(AT_ONCE * 2)
        .total_tables(AT_ONCE * PARTS)
        .max_core_instances_per_component(PARTS * 8)
        .max_memories_per_component(PARTS)
        .max_tables_per_component(PARTS * 8)
        .max_tables_per_module(PARTS)
        .max_memories_per_module(PARTS)
        .table_elements(TABLE)
        .max_core_instance_size(16 << 20)
        .max_memory_size(4 << 30);
    pool
}
