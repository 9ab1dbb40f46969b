//! `csk gc`: removes command files and records that nothing uses anymore.

use csk_core::install::Mode;
use csk_core::operations::{Caller, collect};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Removes command files that no installed skill uses anymore. Installs do this automatically. Run `csk gc` after deleting a \
project to remove csk's records of the project as well. Command files are in use if they are referenced by an install \
marker in a configured project, in any other folder with installed skills, or in the global scope. If a skill's marker \
cannot be read, none of its command files are removed.

Reads:  config.json, consumers.json, the install markers of installed skills
Writes: runtime/, receipts/, cache/ and consumers.json in csk's home folder",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a project cannot be read; nothing was removed"),
        ExitCode::Usage.when("usage or configuration error, or consumers.json cannot be read"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk gc",
        "csk gc --dry-run",
    ],
};

/// Remove command files that no installed skill uses
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct GcArgs {
    /// Print what would be removed, without changing anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn gc(context: &mut Context, args: &GcArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let environment = context.environment(&config);
    let (mode, action) =
        if args.dry_run { (Mode::DryRun, "would be removed") } else { (Mode::Apply, "removed") };
    let _lock = environment.lock_for(mode)?;
    let garbage = collect(&environment.home, &environment.projects, mode, Caller::User)?;
    for reason in &garbage.unreadable {
        context.ui.error(&format!("{}; nothing was removed\n", safe_line(reason)))?;
    }
    if !garbage.unreadable.is_empty() {
        return Ok(ExitCode::Failed);
    }
    let is_nothing =
        garbage.runtimes.is_empty() && garbage.consumers.is_empty() && garbage.forgotten.is_empty();
    if is_nothing {
        context.ui.done("nothing to remove\n")?;
    }
    for runtime in &garbage.runtimes {
        context.ui.done(&format!("{}: {action}\n", safe_line(runtime)))?;
    }
    for root in &garbage.consumers {
        context.ui.done(&format!("{}: no skills installed anymore\n", safe_line(root.as_str())))?;
    }
    let remove = if args.dry_run { "would remove" } else { "removed" };
    for root in &garbage.forgotten {
        let root = safe_line(root.as_str());
        context
            .ui
            .done(&format!("{root}: folder no longer exists; {remove} csk's records of it\n"))?;
    }
    Ok(ExitCode::Done)
}
