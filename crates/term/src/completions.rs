//! Completion scripts for shells, made from a program's own arguments.

use clap::Command;
use clap_complete::{Shell, generate};

/// The shells that a script can be made for.
pub use clap_complete::Shell as CompletionShell;

/// Returns the completion script of a program.
pub fn completions(shell: Shell, mut command: Command) -> String {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
