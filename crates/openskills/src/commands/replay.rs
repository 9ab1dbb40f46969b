//! `openskills replay`: whether what a log tells of is still so.

use std::path::PathBuf;
use std::process::ExitCode;

use openskills_runtime::{Fate, Replayed};
use term::table;

use crate::cli::INVALID;
use crate::commands::log::{Which, key};
use crate::context::Context;
use crate::look::Look;
use crate::output::{ReplayJson, VERSION};

const AFTER: &str = "\
Looks at every activation and execution in the log, and compares the digest that the skill had with the
one that it has today: same, drifted, or gone. A log that was changed is refused.

Reads:  the log, and all of every skill that it names
Writes: the index, to be faster the next time

Exit codes:
  0  every skill is what it was
  1  a skill has drifted or is gone
  2  the call or the configuration is wrong
  6  the log cannot be read, or is not what was written

Examples:
  openskills replay
  openskills replay ./log-of-the-build --dir ./skills
  openskills replay --json";

/// Compare what a log tells of with today's skills
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    which: Which,
    /// The key of the log; by default the one that config.json names for the user's own
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Show only what has drifted or is gone
    #[arg(long)]
    changed: bool,
    /// Write it as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    look: Look,
}

pub(crate) fn replay(context: &mut Context, args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let source = args.which.source(context)?;
    let key = key(context, args.key_file.as_deref(), &args.which)?;
    let runtime = args.look.discover(context)?;
    let all = runtime.replay(&source, key.as_ref())?;
    let count = |fate: Fate| all.iter().filter(|event| event.fate == fate).count();
    let (same, drifted, gone) = (count(Fate::Same), count(Fate::Drifted), count(Fate::Gone));
    let shown = all.iter().filter(|event| !args.changed || event.fate != Fate::Same);
    if args.json {
        let events: Vec<Replayed> = shown.cloned().collect();
        context.ui.json(&ReplayJson { version: VERSION, same, drifted, gone, events })?;
    } else {
        let rows: Vec<Vec<String>> = shown.map(row).collect();
        context.ui.out(&table(&rows, context.ui.width))?;
        context.ui.error(&format!("{same} same, {drifted} drifted, {gone} gone\n"))?;
    }
    Ok(if drifted + gone > 0 { ExitCode::from(INVALID) } else { ExitCode::SUCCESS })
}

fn row(event: &Replayed) -> Vec<String> {
    let fate = match event.fate {
        Fate::Same => "same",
        Fate::Drifted => "drifted",
        Fate::Gone => "gone",
    };
    let short = |digest: &str| digest.trim_start_matches("sha256:").chars().take(12).collect();
    let today = event.today.as_deref().map_or_else(|| "-".to_owned(), short);
    vec![
        event.seq.to_string(),
        fate.to_owned(),
        event.event.clone(),
        event.skill_id.clone(),
        short(&event.recorded),
        today,
    ]
}
