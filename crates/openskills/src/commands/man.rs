//! `openskills man`: writes manual pages.

use term::{HelpText, ManualArgs};

use crate::cli::Cli;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Writes one page for openskills and one for each of its commands, generated from the program.

Reads:  nothing
Writes: the pages in the folder",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or cannot write to the folder"),
    ],
    examples: &[
        "openskills man ~/.local/share/man/man1",
        "openskills man docs/commands --format markdown",
    ],
};

/// Write manual pages to a folder
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ManArgs {
    #[command(flatten)]
    pages: ManualArgs,
}

pub(crate) fn man(context: &mut Context, args: &ManArgs) -> anyhow::Result<ExitCode> {
    args.pages.write::<Cli>(context.cwd.as_path(), &mut context.ui)?;
    Ok(ExitCode::Done)
}
