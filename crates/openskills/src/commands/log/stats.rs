//! `openskills log stats`: prints statistics for each skill.

use openskills_runtime::RuntimeError;
use openskills_runtime::log::stats;
use term::{HelpText, headed_table};

use super::{EventSelection, READS_LOG};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{LogStatsJson, VERSION};

const HELP: HelpText = HelpText {
    examples: &["openskills log stats", "openskills log stats --since 7d --json"],
    ..READS_LOG
};

/// Show statistics for each skill: activations, reads, runs, failures and decisions
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    events: EventSelection,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn show_stats(context: &mut Context, args: &StatsArgs) -> anyhow::Result<ExitCode> {
    let stats = stats(args.events.entries(context)?).map_err(RuntimeError::from)?;
    if args.json {
        context.ui.json(&LogStatsJson { version: VERSION, stats })?;
        return Ok(ExitCode::Done);
    }
    let heading =
        ["skill", "activated", "failed", "reads", "runs", "failed", "allow", "ask", "deny", "last"];
    let mut rows = Vec::new();
    for (id, skill) in stats.skills {
        let numbers = [
            skill.activations,
            skill.activation_failures,
            skill.resource_reads,
            skill.script_runs,
            skill.script_failures,
            skill.allowed,
            skill.asked,
            skill.denied,
        ];
        let numbers = numbers.map(|number| number.to_string());
        rows.push([vec![id], numbers.to_vec(), vec![skill.last]].concat());
    }
    context.ui.out(&headed_table(&heading, &rows, context.ui.width))?;
    Ok(ExitCode::Done)
}
