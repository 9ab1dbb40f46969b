//! `openskills undo`: reverts the changes that the last run applied to a workspace.

use std::path::PathBuf;

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig};
use sandbox::undo::{PathState, ReplacedPath};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{UndoJson, UndonePathJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
`openskills run --workspace` backs up the files it replaces, up to 64 MiB. It keeps the backup for
30 days, or until the next run changes the same workspace. `undo` restores all of them, with
permissions and owners, if every file is still as the run left it. A run that replaced more than 64
MiB, or used --direct-writes, cannot be undone: `undo` fails rather than undoing an earlier run. If
`undo` is killed, run it again to complete it.

Reads:  the backup of the last run, the files it changed in the workspace
Writes: these files, the log; nothing with --dry-run",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Invalid.when("a file has changed since the run or cannot be written; nothing was reverted, unless the message lists reverted files"),
        ExitCode::Usage.when("usage error, nothing to undo, or the last run cannot be undone"),
        ExitCode::Log.when("the log cannot be written"),
    ],
    examples: &[
        "openskills undo",
        "openskills undo --dry-run",
        "openskills undo --workspace ~/work/app --json",
    ],
};

/// Undo the changes that the last run applied to a workspace
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct UndoArgs {
    /// Workspace folder [default: the current directory]
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    workspace: PathBuf,
    /// Check and show what would be reverted, without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn undo(context: &mut Context, args: &UndoArgs) -> anyhow::Result<ExitCode> {
    let mut runtime = OpenSkillRuntime::with_config(RuntimeConfig::default());
    let applied = runtime.last_applied(&args.workspace)?;
    let kept = if args.dry_run { runtime.check_undo(&applied)? } else { runtime.undo(&applied)? };
    let changed = || applied.replaced.iter().filter(|change| change.before != change.after);
    if args.json {
        let paths = changed().map(|change| UndonePathJson {
            path: change.path.display().to_string(),
            action: action(change).to_owned(),
        });
        context.ui.json(&UndoJson {
            version: VERSION,
            workspace: applied.workspace.display().to_string(),
            skill_id: applied.skill_id.clone(),
            execution_id: applied.execution_id.clone(),
            dry_run: args.dry_run,
            paths: paths.collect(),
            kept: kept.iter().map(|path| path.display().to_string()).collect(),
        })?;
        return Ok(ExitCode::Done);
    }
    let verb = if args.dry_run { "would revert" } else { "reverted" };
    let line = format!("{verb} the changes made by {}:", applied.skill_id);
    context.ui.done(&format!("{}\n", safe_line(&line)))?;
    for change in changed() {
        let line = format!("  {} {}", action(change), change.path.display());
        context.ui.done(&format!("{}\n", safe_line(&line)))?;
    }
    for path in kept {
        let line = format!("note: kept {}: not empty", path.display());
        context.ui.error(&format!("{}\n", safe_line(&line)))?;
    }
    Ok(ExitCode::Done)
}

/// Returns what undoing does to a path.
fn action(change: &ReplacedPath) -> &'static str {
    match (&change.before, &change.after) {
        (PathState::Nothing, _) => "removed",
        (_, PathState::Nothing) => "restored",
        _ => "reverted",
    }
}
