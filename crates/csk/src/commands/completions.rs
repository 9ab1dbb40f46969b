//! `csk completions`: prints shell completion scripts.

use term::{CompletionShell, HelpText, Ui};

use crate::cli::Cli;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Prints a completion script for a shell. The script calls csk to complete commands, flags, projects and skills.

Reads:  nothing; during completion, config.json and Skillfile.json
Writes: nothing",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.when("usage error")],
    examples: &[
        "csk completions bash > ~/.local/share/bash-completion/completions/csk",
        "csk completions zsh > ~/.zfunc/_csk",
        "csk completions fish > ~/.config/fish/completions/csk.fish",
    ],
};

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate the script for
    shell: CompletionShell,
}

pub(crate) fn completions(ui: &mut Ui, args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    ui.out(&term::completions::<Cli>(args.shell))?;
    ui.flush()?;
    Ok(ExitCode::Done)
}
