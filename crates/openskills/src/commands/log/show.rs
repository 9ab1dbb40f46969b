//! `openskills log show`: prints events, one per line.

use openskills_runtime::RuntimeError;
use term::{HelpText, table};

use super::detail::cells;
use super::{EventSelection, READS_LOG};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::EventLine;

/// Number of rows that share column widths.
const ROWS: usize = 1000;

const HELP: HelpText = HelpText {
    examples: &[
        "openskills log show",
        "openskills log show --skill pdf --since 2d",
        "openskills log show --event policy.decided --json",
        "openskills log show ./log-of-another-machine",
    ],
    ..READS_LOG
};

/// Show events, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    events: EventSelection,
    /// Print events as stored, plus `formatVersion`, one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn show(context: &mut Context, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    for entry in args.events.entries(context)? {
        let entry = entry.map_err(RuntimeError::from)?;
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
