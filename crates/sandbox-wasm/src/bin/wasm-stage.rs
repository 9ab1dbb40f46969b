//! The stage and the runner as a separate program, for programs that cannot call `init`, and for the tests of this
//! crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandbox::init();
    sandbox_wasm::init();
    // Reached only if the sandbox did not start this program.
    ExitCode::from(78)
}
