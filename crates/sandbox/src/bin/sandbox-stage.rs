//! The stage as a program of its own, for embedders that cannot call `sandbox::init` and for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandbox::init();
    // Whoever comes here was not started by the sandbox.
    ExitCode::from(78)
}
