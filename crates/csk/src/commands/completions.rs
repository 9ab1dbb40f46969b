//! `csk completions`: scripts that complete in shells.

use term::{CompletionShell, HelpText, Ui};

use crate::cli::Cli;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Purpose: prints a script that completes commands, flags, projects and skills in a shell. The script asks csk itself.

Reads:  nothing; while it completes, config.json and Skillfile.json
Writes: nothing",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.when("usage")],
    examples: &[
        "csk completions bash > ~/.local/share/bash-completion/completions/csk",
        "csk completions zsh > ~/.zfunc/_csk",
        "csk completions fish > ~/.config/fish/completions/csk.fish",
    ],
};

/// Print a completion script
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: CompletionShell,
}

pub(crate) fn completions(ui: &mut Ui, args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    ui.out(&term::completions::<Cli>(args.shell))?;
    ui.flush()?;
    Ok(ExitCode::Done)
}
