//! `openskills log show`: events, one a line.

use std::process::ExitCode;

use openskills_runtime::RuntimeError;
use term::table;

use super::EventSelection;
use super::detail::cells;
use crate::context::Context;
use crate::output::EventLine;

/// How many rows are put into columns together.
const ROWS: usize = 1000;

const AFTER: &str = reads_log!(
    "openskills log show",
    "openskills log show --skill pdf --since 2d",
    "openskills log show --event policy.decided --json",
    "openskills log show ./log-of-another-machine",
);

/// Show events, the oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    events: EventSelection,
    /// Write events as they are stored, with a `formatVersion`, one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
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
    Ok(ExitCode::SUCCESS)
}
