//! What the help of a command says after its arguments.

use clap::builder::StyledStr;

use crate::{ExitCodeHelp, exit_code_section};

/// The end of a command's help.
#[derive(Debug, Clone, Copy)]
pub struct HelpText {
    /// What the command does, reads and writes.
    pub text: &'static str,
    /// Every exit code that it ends with; none for a group of commands, which list their own.
    pub exit_codes: &'static [ExitCodeHelp],
    /// Calls that can be pasted.
    pub examples: &'static [&'static str],
}

impl From<HelpText> for StyledStr {
    fn from(help: HelpText) -> Self {
        let mut parts = Vec::new();
        if !help.text.is_empty() {
            parts.push(help.text.to_owned());
        }
        if !help.exit_codes.is_empty() {
            parts.push(exit_code_section(help.exit_codes));
        }
        if !help.examples.is_empty() {
            parts.push(format!("Examples:\n  {}", help.examples.join("\n  ")));
        }
        parts.join("\n\n").into()
    }
}
