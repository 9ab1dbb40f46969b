//! Runs WebAssembly with exactly the capabilities of a sandbox's [`Spec`](sandbox::Spec).
//!
//! A WASI preview 1 module or a WASI preview 2 component is compiled once ([`compile`]), cached with a seal that needs
//! a key ([`Artifact`]), and run ([`run`]) with what a [`Job`] grants and nothing else. With a seed, its output depends
//! only on its input.
//!
//! The same works in a separate process inside the operating system's sandbox ([`staged`]), which protects against
//! flaws of the engine. A program that uses this calls [`init`] first thing in `main`.

mod artifact;
mod engine;
mod error;
mod files;
mod job;
mod kind;
mod link;
mod memory_limit;
mod run;
mod seeded;
pub mod staged;
mod stop;
mod streams;

pub use artifact::{Artifact, CacheName, CompiledFor, KEY_LENGTH};
pub use engine::compile;
pub use error::WasmError;
pub use job::{Guest, Job};
pub use kind::{MAX_MODULE, is_component, is_wasm};
pub use run::{Report, run, run_until};
pub use staged::init;
pub use stop::Stop;
