//! `csk gc`: throws away what no installed skill uses any more.

use csk_core::install::Mode;
use csk_core::operations::{Caller, collect};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Purpose: removes the runtimes of commands that no installed skill uses any more. Installs do it by themselves; this \
is for projects that were deleted, whose receipts and stamps go as well. In use is what a marker says in a configured project, in any other folder that \
skills were installed into, or in the global scope. Where a marker cannot be read, nothing of its skill is removed.

Reads:  config.json, consumers.json, the markers of installed skills
Writes: runtime/, receipts/, cache/ and consumers.json in csk's home",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a project cannot be read, so nothing was removed"),
        ExitCode::Usage.when("usage or configuration, or consumers.json cannot be read"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk gc",
        "csk gc --dry-run",
    ],
};

/// Remove what no installed skill uses any more
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct GcArgs {
    /// Show what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn gc(context: &mut Context, args: &GcArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let environment = context.environment(&config);
    let (mode, word) =
        if args.dry_run { (Mode::DryRun, "would be removed") } else { (Mode::Apply, "removed") };
    let _lock = environment.lock_for(mode)?;
    let garbage = collect(&environment.home, &environment.projects, mode, Caller::User)?;
    for why in &garbage.unreadable {
        context.ui.error(&format!("{}; nothing is removed\n", safe_line(why)))?;
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
        context.ui.done(&format!("{}: {word}\n", safe_line(runtime)))?;
    }
    for root in &garbage.consumers {
        context.ui.done(&format!("{}: has no skills any more\n", safe_line(root.as_str())))?;
    }
    for root in &garbage.forgotten {
        let root = safe_line(root.as_str());
        context.ui.done(&format!("{root}: is gone; what csk noted of it {word}\n"))?;
    }
    Ok(ExitCode::Done)
}
