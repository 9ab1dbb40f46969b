//! `openskills`: finds, checks, shows and runs skills.

use std::process::ExitCode;

fn main() -> ExitCode {
    openskills::main()
}
