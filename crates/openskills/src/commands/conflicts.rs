//! `openskills conflicts`: decides about changes that were not applied because something else changed the same files.

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, Side};
use term::{HelpText, counted, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{ConflictsJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
If a sandboxed command writes a file that something else changes while the command is running, none
of the command's changes are applied. They are kept until you resolve the conflict: `apply`
overwrites the project's version, and `drop` discards the command's changes.

Reads:  kept changes in ~/.cache/openskills
Writes: the project (`apply`); `apply` and `drop` remove the changes from ~/.cache/openskills",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or there are no kept changes with this ID"),
    ],
    examples: &[
        "openskills conflicts",
        "openskills conflicts apply 3f2a91c0",
        "openskills conflicts drop 3f2a91c0",
    ],
};

/// List or resolve conflicts between a command's changes and the project
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ConflictsArgs {
    #[command(subcommand)]
    command: Option<ConflictsCommand>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum ConflictsCommand {
    /// List kept changes (the default)
    #[command(after_help = HELP)]
    List,
    /// Apply the command's changes, overwriting the project's version
    #[command(after_help = HELP)]
    Apply {
        /// ID of the kept changes, or a unique prefix of it
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Discard the command's changes
    #[command(after_help = HELP)]
    Drop {
        /// ID of the kept changes, or a unique prefix of it
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(crate) fn conflicts(context: &mut Context, args: &ConflictsArgs) -> anyhow::Result<ExitCode> {
    let mut runtime = OpenSkillRuntime::with_config(RuntimeConfig::default());
    let (id, side) = match &args.command {
        None | Some(ConflictsCommand::List) => {
            let kept = runtime.kept_changes()?;
            if args.json {
                context.ui.json(&ConflictsJson { version: VERSION, kept })?;
                return Ok(ExitCode::Done);
            }
            if kept.is_empty() {
                context.ui.note("no conflicts\n")?;
            }
            for one in kept {
                let changes = counted(one.change_count, "change");
                let workspace = one.workspace.display();
                let line = format!("{}  {changes} in {workspace}: {}", &one.id[..8], one.command);
                context.ui.out(&format!("{}\n", safe_line(&line)))?;
                for conflict in &one.conflicts {
                    context.ui.out(&format!("  {}\n", safe_line(conflict)))?;
                }
            }
            return Ok(ExitCode::Done);
        }
        Some(ConflictsCommand::Apply { id }) => (id, Side::Command),
        Some(ConflictsCommand::Drop { id }) => (id, Side::Workspace),
    };
    let kept = runtime.resolve_kept(id, side)?;
    let done = match side {
        Side::Command => "applied",
        Side::Workspace => "dropped",
    };
    if args.json {
        context.ui.json(&ConflictsJson { version: VERSION, kept: vec![kept] })?;
    } else {
        let changes = counted(kept.change_count, "change");
        context.ui.done(&format!("{done} {changes} from {}\n", safe_line(&kept.command)))?;
    }
    Ok(ExitCode::Done)
}
