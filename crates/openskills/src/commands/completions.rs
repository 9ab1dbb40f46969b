//! `openskills completions`: prints shell completion scripts.

use term::{CompletionShell, HelpText};

use crate::cli::Cli;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.when("usage error")],
    examples: &[
        "openskills completions bash > ~/.local/share/bash-completion/completions/openskills",
        "openskills completions zsh > ~/.zfunc/_openskills",
        "openskills completions fish > ~/.config/fish/completions/openskills.fish",
    ],
};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate completions for
    shell: CompletionShell,
}

pub(crate) fn completions(
    context: &mut Context,
    args: &CompletionsArgs,
) -> anyhow::Result<ExitCode> {
    context.ui.out(&term::completions::<Cli>(args.shell))?;
    Ok(ExitCode::Done)
}
