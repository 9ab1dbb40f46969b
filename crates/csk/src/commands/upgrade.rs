//! `csk upgrade`: update, then install.

use csk_core::install::{LockUse, repositories};
use term::{HelpText, safe_line};

use crate::commands::install::{InstallFlags, install_into};
use crate::commands::update::update_for;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, select};

const HELP: HelpText = HelpText {
    text: "\
Purpose: fetches all repositories of skills, then installs: this moves skills that follow a branch. \
A Skillfile.lock is written anew.

Reads and writes what `csk update` and `csk install` do. A repository that cannot be fetched is reported, and \
what is on this machine is installed.

With --dry-run nothing is fetched: the plan is for what is on this machine now.",
    exit_codes: &[
        ExitCode::Done.when("done; projects without a Skillfile.json are skipped"),
        ExitCode::Failed.when("a fetch, a skill or a project failed, the others are done"),
        ExitCode::Usage.when("usage or configuration, or the one target's Skillfile.json is malformed"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk upgrade",
        "csk upgrade demo-app",
        "csk upgrade --all --dry-run",
    ],
};

/// Fetch the repositories of skills, then install
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct UpgradeArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    flags: InstallFlags,
}

pub(crate) fn upgrade(context: &mut Context, args: &UpgradeArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    let selected = select(context, &config, &args.selection)?;
    // A machine without repositories has nothing to fetch yet; the install clones them.
    let known = repositories(&config.skills_root);
    let updated = if args.flags.dry_run {
        for name in known.iter().filter(|_| !args.flags.json) {
            context.ui.done(&format!("{}: would be fetched (dry-run)\n", safe_line(name)))?;
        }
        ExitCode::Done
    } else if known.is_empty() || args.flags.offline {
        ExitCode::Done
    } else {
        update_for(context, &config, &args.flags)?
    };
    let options = args.flags.options(LockUse::Refresh);
    let installed = install_into(context, &config, &selected, &args.flags, options)?;
    Ok(updated.max(installed))
}
