//! `openskills log tail`: prints the last events and follows the log.

#![expect(clippy::disallowed_methods, reason = "the edge: sleeping between polls")]

use std::time::Duration;

use openskills_runtime::RuntimeError;
use openskills_runtime::log::Entries;
use term::{HelpText, table};

use super::detail::cells;
use super::{LogLocation, READS_LOG};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::EventLine;

/// How often to poll for new events.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

const HELP: HelpText = HelpText {
    examples: &[
        "openskills log tail",
        "openskills log tail -n 100",
        "openskills log tail --follow --json",
    ],
    ..READS_LOG
};

/// Show the most recent events
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct TailArgs {
    #[command(flatten)]
    log: LogLocation,
    /// Number of events to show
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 10)]
    count: u64,
    /// Keep running and show new events as they are logged
    #[arg(long, short)]
    follow: bool,
    /// Print events as stored, plus `formatVersion`, one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn tail(context: &mut Context, args: &TailArgs) -> anyhow::Result<ExitCode> {
    let source = args.log.source(context)?;
    let mut entries = source.last_entries(args.count).map_err(RuntimeError::from)?;
    print(context, args, &mut entries)?;
    if !args.follow {
        return Ok(ExitCode::Done);
    }
    loop {
        std::thread::sleep(POLL_INTERVAL);
        entries.more().map_err(RuntimeError::from)?;
        print(context, args, &mut entries)?;
    }
}

fn print(context: &mut Context, args: &TailArgs, entries: &mut Entries) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for entry in entries {
        let entry = entry.map_err(RuntimeError::from)?;
        if args.json {
            context.ui.json_row(&EventLine::new(&entry))?;
        } else {
            rows.push(cells(&entry));
        }
    }
    context.ui.out(&table(&rows, context.ui.width))?;
    Ok(context.ui.flush()?)
}
