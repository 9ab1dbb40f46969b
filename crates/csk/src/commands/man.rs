//! `csk man`: generates manual pages.

use term::{HelpText, ManualArgs};

use crate::cli::Cli;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Generates manual pages for csk and each of its commands, and writes them to a folder.

Reads:  nothing
Writes: the pages in DIR",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or cannot write to the folder"),
    ],
    examples: &["csk man ~/.local/share/man/man1", "csk man docs/commands --format markdown"],
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
