//! `openskills log show`: events, one a line.

use super::detail::cells;
use super::{Filter, Which};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::EventLine;
use term::{HelpText, table};

/// How many rows are put into columns together.
const ROWS: usize = 1000;

const HELP: HelpText = HelpText {
    text: "\
Reads:  the log
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.usual(),
        ExitCode::Log.when("the log cannot be read"),
    ],
    examples: &[
        "openskills log show",
        "openskills log show --skill pdf --since 2d",
        "openskills log show --event policy.decided --json",
        "openskills log show ./log-of-another-machine",
    ],
};

/// Show events, the oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    filter: Filter,
    /// Write events as they are stored, with a `formatVersion`, one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn show(context: &mut Context, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let source = args.which.source(context)?;
    let mut rows = Vec::new();
    for entry in args.filter.entries(&source).map_err(openskills_runtime::RuntimeError::from)? {
        let entry = entry.map_err(openskills_runtime::RuntimeError::from)?;
        if args.json {
            context.ui.json_row(&EventLine::new(&entry))?;
            continue;
        }
        rows.push(cells(&entry));
        if rows.len() == ROWS {
            context.ui.out(&table(&rows, context.ui.width))?;
            rows.clear();
        }
    }
    context.ui.out(&table(&rows, context.ui.width))?;
    Ok(ExitCode::Done)
}
