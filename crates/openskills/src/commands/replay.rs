//! `openskills replay`: compares the skills recorded in a log with the current ones.

use std::path::PathBuf;

use openskills_runtime::{RepeatResult, Repeated, ReplayStatus, Replayed};
use term::{HelpText, safe_line, table};

use crate::commands::log::{LogLocation, key};
use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{RepeatedJson, ReplayJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
For every activation and execution in the log, compares the recorded digest of the skill with its
current one, and reports `same`, `drifted` or `gone`. An altered log is rejected.

With --execute, reruns every module that was run with --seed, using the same input, and expects the
same output. A rerun needs the same approval as any other run and is logged. Runs with a workspace,
with network access or without a seed cannot be repeated; they are reported with the reason.

Reads:  the log, and all files of the skills recorded in it
Writes: the index cache; with --execute, the log",
    exit_codes: &[
        ExitCode::Done.when("every skill is unchanged"),
        ExitCode::Invalid.when("a skill has changed or is gone, or a module's output differs"),
        ExitCode::Usage.usual(),
        ExitCode::Log.when("the log cannot be read, or has been altered"),
    ],
    examples: &[
        "openskills replay",
        "openskills replay ./log-of-the-build --dir ./skills",
        "openskills replay --execute",
        "openskills replay --json",
    ],
};

/// Compare the skills recorded in a log with the current ones
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    log: LogLocation,
    /// Log key file [default: for your own log, the one in config.json]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Show only skills that have changed or are gone, and modules with different output
    #[arg(long)]
    changed: bool,
    /// Rerun modules that were run with a seed, and compare the output
    #[arg(long)]
    execute: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub(crate) fn replay(context: &mut Context, args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let source = args.log.source(context)?;
    let key = key(context, args.key_file.as_deref(), &args.log)?;
    let runtime = args.discovery.discover(context)?;
    let all = if args.execute {
        runtime.replay_executing(&source, key.as_ref())?
    } else {
        runtime.replay(&source, key.as_ref())?
    };
    let count = |status: ReplayStatus| all.iter().filter(|event| event.status == status).count();
    let (same, drifted, gone) =
        (count(ReplayStatus::Same), count(ReplayStatus::Drifted), count(ReplayStatus::Gone));
    let ran = |result: RepeatResult| {
        let is_match = |event: &&Replayed| {
            event.repeated.as_ref().is_some_and(|repeated| repeated.result == result)
        };
        all.iter().filter(is_match).count()
    };
    let (repeated_same, different) = (ran(RepeatResult::Same), ran(RepeatResult::Different));
    let is_changed = |event: &Replayed| {
        let repeated = event.repeated.as_ref().map(|repeated| repeated.result);
        event.status != ReplayStatus::Same || repeated == Some(RepeatResult::Different)
    };
    let shown = all.iter().filter(|event| !args.changed || is_changed(event));
    if args.json {
        let events: Vec<Replayed> = shown.cloned().collect();
        let version = VERSION;
        let repeated = args.execute.then(|| RepeatedJson {
            same: repeated_same,
            different,
            not_run: ran(RepeatResult::NotRun),
        });
        context.ui.json(&ReplayJson { version, same, drifted, gone, repeated, events })?;
    } else {
        let rows: Vec<Vec<String>> = shown.map(row).collect();
        context.ui.out(&table(&rows, context.ui.width))?;
        context.ui.note(&format!("{same} same, {drifted} drifted, {gone} gone\n"))?;
        if args.execute {
            let not_run = ran(RepeatResult::NotRun);
            let summary = format!(
                "repeated: {repeated_same} same, {different} different, {not_run} not run\n"
            );
            context.ui.note(&summary)?;
        }
    }
    Ok(if drifted + gone + different > 0 { ExitCode::Invalid } else { ExitCode::Done })
}

fn repeat_text(repeated: &Repeated) -> String {
    match (repeated.result, &repeated.reason) {
        (RepeatResult::Same, _) => "same output".to_owned(),
        (RepeatResult::Different, _) => "different output".to_owned(),
        (RepeatResult::NotRun, Some(reason)) => format!("not run: {}", safe_line(reason)),
        (RepeatResult::NotRun, None) => "not run".to_owned(),
    }
}

fn row(event: &Replayed) -> Vec<String> {
    let status = match event.status {
        ReplayStatus::Same => "same",
        ReplayStatus::Drifted => "drifted",
        ReplayStatus::Gone => "gone",
    };
    let short = |digest: &str| digest.trim_start_matches("sha256:").chars().take(12).collect();
    let current = event.current.as_deref().map_or_else(|| "-".to_owned(), short);
    vec![
        event.seq.to_string(),
        status.to_owned(),
        event.event.clone(),
        event.skill_id.clone(),
        short(&event.recorded),
        current,
        event.repeated.as_ref().map_or_else(String::new, repeat_text),
    ]
}
