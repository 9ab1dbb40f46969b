//! The stage and the runner as a program of its own, for embedders that cannot call `init` and for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandbox::init();
    sandbox_wasm::init();
    // Whoever comes here was not started by the sandbox.
    ExitCode::from(78)
}
