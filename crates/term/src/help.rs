//! The help text of a command after its arguments: description, files, exit codes and examples.

use clap::builder::StyledStr;

use crate::{ExitCodeHelp, exit_code_section};

/// The help text of a command after its arguments.
#[derive(Debug, Clone, Copy)]
pub struct HelpText {
    /// What the command does, and the files it reads and writes.
    pub text: &'static str,
    /// The exit codes of the command; empty for a group whose subcommands list their own.
    pub exit_codes: &'static [ExitCodeHelp],
    /// Example invocations.
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
