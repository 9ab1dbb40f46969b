//! `openskills undo`: takes back what the last run committed to a workspace.

use std::path::PathBuf;

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig};
use sandbox::undo::{Replaced, State};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{UndoJson, UndonePathJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
`openskills run --workspace` keeps what it replaces, up to 64 MiB and for 30 days, until the next
run changes the same workspace. `undo` puts it back, with permissions and owners: all of it, and
only while every file is still as the run left it. A run that replaced more, or that wrote with
--direct-writes, cannot be taken back; then `undo` refuses, and does not take back a run before it.
If `undo` itself is killed, call it again: it completes what it began.

Reads:  what the last run committed, the files of the workspace that it changed
Writes: the same files, the log; nothing with --dry-run",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("something has been changed since, or cannot be written; nothing was touched, unless the message names what was taken back"),
        ExitCode::Usage.when("the call is wrong, there is nothing to take back, or the last run cannot be taken back"),
        ExitCode::Log.when("the log cannot be written"),
    ],
    examples: &[
        "openskills undo",
        "openskills undo --dry-run",
        "openskills undo --workspace ~/work/app --json",
    ],
};

/// Take back what the last run committed to a workspace
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct UndoArgs {
    /// The workspace; by default the working folder
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    workspace: PathBuf,
    /// Check and show what would be taken back, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn undo(context: &mut Context, args: &UndoArgs) -> anyhow::Result<ExitCode> {
    let mut runtime = OpenSkillRuntime::with_config(RuntimeConfig::default());
    let commit = runtime.last_commit(&args.workspace)?;
    let stay = if args.dry_run { runtime.check_undo(&commit)? } else { runtime.undo(&commit)? };
    let changed = || commit.replaced.iter().filter(|one| one.before != one.after);
    if args.json {
        let paths = changed().map(|one| UndonePathJson {
            path: one.path.display().to_string(),
            done: word(one).to_owned(),
        });
        context.ui.json(&UndoJson {
            version: VERSION,
            workspace: commit.workspace.display().to_string(),
            skill_id: commit.skill_id.clone(),
            execution_id: commit.execution_id.clone(),
            dry_run: args.dry_run,
            paths: paths.collect(),
            stay: stay.iter().map(|path| path.display().to_string()).collect(),
        })?;
        return Ok(ExitCode::Done);
    }
    let what = if args.dry_run { "would take back" } else { "took back" };
    let told = format!("{what} what a run of {} committed:", commit.skill_id);
    context.ui.done(&format!("{}\n", safe_line(&told)))?;
    for one in changed() {
        let line = format!("  {} {}", word(one), one.path.display());
        context.ui.done(&format!("{}\n", safe_line(&line)))?;
    }
    for path in stay {
        let line = format!("note: {} stays: it is not empty", path.display());
        context.ui.error(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(ExitCode::Done)
}

/// Returns what becomes of a path.
fn word(one: &Replaced) -> &'static str {
    match (&one.before, &one.after) {
        (State::Nothing, _) => "removed",
        (_, State::Nothing) => "restored",
        _ => "reverted",
    }
}
