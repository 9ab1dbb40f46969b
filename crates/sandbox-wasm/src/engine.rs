//! The engine of this process, and compiling with it.

use std::sync::LazyLock;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures};

use crate::artifact::Artifact;
use crate::error::{WasmError, describe};
use crate::kind::{WasmKind, detect_kind};
use crate::link;

/// The maximum stack size in bytes.
const MAX_STACK: usize = 512 << 10;
/// The maximum number of concurrent runs in one process; further runs are refused.
const MAX_CONCURRENT: u32 = 64;
/// The average number of memories, tables and instances per run: a component consists of several modules.
const PARTS_PER_RUN: u32 = 8;
/// The maximum size of a table, in elements.
const MAX_TABLE: usize = 1 << 20;

static ENGINE: LazyLock<Result<Engine, String>> = LazyLock::new(|| {
    let pooled = || Engine::new(&config(Some(pool())));
    // If the address space is too small for a pool, each run allocates its own memory.
    let engine = pooled().or_else(|_| Engine::new(&config(None)));
    engine.map_err(|error| describe(&error))
});

/// Returns the engine of this process.
pub(crate) fn engine() -> Result<&'static Engine, WasmError> {
    ENGINE.as_ref().map_err(|why| WasmError::Engine(why.clone()))
}

/// Compiles a module or a component; an error if it cannot run here.
pub fn compile(wasm: &[u8]) -> Result<Artifact, WasmError> {
    let engine = engine()?;
    match detect_kind(wasm)? {
        WasmKind::Module => {
            let module = wasmtime::Module::new(engine, wasm).map_err(malformed)?;
            link::module(&module)?;
            let bytes = module.serialize().map_err(|error| WasmError::Engine(describe(&error)))?;
            Ok(Artifact::compiled(bytes))
        }
        WasmKind::Component => {
            let component = wasmtime::component::Component::new(engine, wasm).map_err(malformed)?;
            link::component(&component)?;
            let bytes =
                component.serialize().map_err(|error| WasmError::Engine(describe(&error)))?;
            Ok(Artifact::compiled(bytes))
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err needs")]
fn malformed(error: wasmtime::Error) -> WasmError {
    WasmError::Malformed(describe(&error))
}

/// Returns the configuration. It is the same in every process, so that each can use code that another one compiled.
/// Floating point is always deterministic, so that runs with and without a seed use the same code.
fn config(pool: Option<PoolingAllocationConfig>) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .max_wasm_stack(MAX_STACK)
        .async_stack_size(MAX_STACK * 4)
        .wasm_features(WasmFeatures::THREADS | WasmFeatures::MEMORY64, false);
    if let Some(pool) = pool {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_stacks(MAX_CONCURRENT)
        .total_component_instances(MAX_CONCURRENT)
        .total_core_instances(MAX_CONCURRENT * PARTS_PER_RUN)
        .total_memories(MAX_CONCURRENT * 2)
        .total_tables(MAX_CONCURRENT * PARTS_PER_RUN)
        .max_core_instances_per_component(PARTS_PER_RUN * 8)
        .max_memories_per_component(PARTS_PER_RUN)
        .max_tables_per_component(PARTS_PER_RUN * 8)
        .max_tables_per_module(PARTS_PER_RUN)
        .max_memories_per_module(PARTS_PER_RUN)
        .table_elements(MAX_TABLE)
        .max_core_instance_size(16 << 20)
        .max_memory_size(4 << 30);
    pool
}
