//! Runs WebAssembly under exactly the capabilities of a sandbox's [`Spec`](sandbox::Spec).
//!
//! A module of WASI's first preview or a component of its second is compiled once ([`compile`]), kept sealed by a key ([`Artifact`]), and
//! run with what a [`Job`] names and nothing else ([`run`]). What it computes follows from its input alone where a seed is given.
//!
//! The same can be done in a process of its own inside the operating system's sandbox ([`staged`]): a flaw of the engine then meets a second
//! wall. A program that wants this calls [`init`] first thing in `main`.

mod artifact;
mod bound;
mod engine;
mod error;
mod files;
mod fixed;
mod job;
mod kind;
mod link;
mod run;
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
