//! `openskills`: find, check, show and run skills.

use std::process::ExitCode;

fn main() -> ExitCode {
    openskills::main()
}
