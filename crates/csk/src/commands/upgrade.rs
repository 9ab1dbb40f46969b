//! `csk upgrade`: update, then install.

use csk_core::install::{LockUse, repositories};
use term::safe_line;

use crate::commands::install::{InstallFlags, install_into, network};
use crate::commands::update::update_for;
use crate::context::Context;
use crate::failure::Failure;
use crate::projects::{Selection, select};

const AFTER: &str = "\
Purpose: fetches all repositories of skills, then installs: this moves skills that follow a branch. \
A Skillfile.lock is written anew.

Reads and writes what `csk update` and `csk install` do. A repository that cannot be fetched is reported, and \
what is on this machine is installed.

With --dry-run nothing is fetched: the plan is for what is on this machine now.

Exit codes: as `csk install`; 1 also when a fetch failed.

Examples:
  csk upgrade
  csk upgrade demo-app
  csk upgrade --all --dry-run";

/// Fetch the repositories of skills, then install
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct UpgradeArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    flags: InstallFlags,
}

pub(crate) fn upgrade(context: &mut Context, args: &UpgradeArgs) -> Result<u8, Failure> {
    let config = context.config()?;
    let selected = select(context, &config, &args.selection)?;
    // A machine without repositories has nothing to fetch yet; the install clones them.
    let known = repositories(&config.skills_root);
    let updated = if args.flags.dry_run {
        for name in known.iter().filter(|_| !args.flags.json) {
            context.ui.done(&format!("{}: would be fetched (dry-run)\n", safe_line(name)))?;
        }
        0
    } else if known.is_empty() || args.flags.offline {
        0
    } else {
        update_for(context, &config, &args.flags)?
    };
    let usage = (LockUse::Refresh, network(args.flags.offline));
    let installed = install_into(context, &config, &selected, &args.flags, usage)?;
    Ok(updated.max(installed))
}
