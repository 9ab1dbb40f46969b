//! `openskills replay`: whether what a log tells of is still so.

use std::path::PathBuf;

use openskills_runtime::{Fate, Repeated, Repetition, Replayed};
use term::{HelpText, safe_line, table};

use crate::commands::log::{LogLocation, key};
use crate::context::Context;
use crate::discovery::DiscoveryArgs;
use crate::exit_code::ExitCode;
use crate::output::{RepeatedJson, ReplayJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Looks at every activation and execution in the log, and compares the digest that the skill had
with the one that it has today: same, drifted, or gone. A log that was changed is refused.

With --execute every module that was run with --seed is run again with the same input, and must
write the same bytes. Such a run needs the same leave as any other, and is logged. What cannot
be run again is named with the reason: it had a workspace, or the network, or no seed.

Reads:  the log, and all of every skill that it names
Writes: the index, to be faster the next time; with --execute the log",
    exit_codes: &[
        ExitCode::Done.when("every skill is what it was"),
        ExitCode::Invalid
            .when("a skill has drifted or is gone; or a module wrote something else than it did"),
        ExitCode::Usage.usual(),
        ExitCode::Log.when("the log cannot be read, or is not what was written"),
    ],
    examples: &[
        "openskills replay",
        "openskills replay ./log-of-the-build --dir ./skills",
        "openskills replay --execute",
        "openskills replay --json",
    ],
};

/// Compare what a log tells of with today's skills
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    log: LogLocation,
    /// The key of the log; by default the one that config.json names for the user's own
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Show only what has drifted or is gone, or wrote something else
    #[arg(long)]
    changed: bool,
    /// Run modules that had a seed again, and compare what they write
    #[arg(long)]
    execute: bool,
    /// Write it as JSON
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
    let count = |fate: Fate| all.iter().filter(|event| event.fate == fate).count();
    let (same, drifted, gone) = (count(Fate::Same), count(Fate::Drifted), count(Fate::Gone));
    let ran = |repetition: Repetition| {
        let is_it = |event: &&Replayed| {
            event.repeated.as_ref().is_some_and(|repeated| repeated.repetition == repetition)
        };
        all.iter().filter(is_it).count()
    };
    let (again, different) = (ran(Repetition::Same), ran(Repetition::Different));
    let is_other = |event: &Replayed| {
        let repeated = event.repeated.as_ref().map(|repeated| repeated.repetition);
        event.fate != Fate::Same || repeated == Some(Repetition::Different)
    };
    let shown = all.iter().filter(|event| !args.changed || is_other(event));
    if args.json {
        let events: Vec<Replayed> = shown.cloned().collect();
        let version = VERSION;
        let repeated = args.execute.then(|| RepeatedJson {
            same: again,
            different,
            not_run: ran(Repetition::NotRun),
        });
        context.ui.json(&ReplayJson { version, same, drifted, gone, repeated, events })?;
    } else {
        let rows: Vec<Vec<String>> = shown.map(row).collect();
        context.ui.out(&table(&rows, context.ui.width))?;
        context.ui.note(&format!("{same} same, {drifted} drifted, {gone} gone\n"))?;
        if args.execute {
            let not_run = ran(Repetition::NotRun);
            let told =
                format!("run again: {again} same, {different} different, {not_run} not run\n");
            context.ui.note(&told)?;
        }
    }
    Ok(if drifted + gone + different > 0 { ExitCode::Invalid } else { ExitCode::Done })
}

fn words(repeated: &Repeated) -> String {
    match (repeated.repetition, &repeated.because) {
        (Repetition::Same, _) => "wrote the same".to_owned(),
        (Repetition::Different, _) => "wrote something else".to_owned(),
        (Repetition::NotRun, Some(because)) => format!("not run: {}", safe_line(because)),
        (Repetition::NotRun, None) => "not run".to_owned(),
    }
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
        event.repeated.as_ref().map_or_else(String::new, words),
    ]
}
