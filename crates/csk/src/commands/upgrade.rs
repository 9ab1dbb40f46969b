//! `csk upgrade`: runs `update`, then `install`.

use csk_core::install::{LockfileMode, repositories};
use term::{HelpText, safe_line};

use crate::commands::install::{InstallFlags, install_into};
use crate::commands::update::update_for;
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::projects::{Selection, select};

const HELP: HelpText = HelpText {
    text: "\
Fetches all skill repositories, then installs. Skills that track a branch move to its newest commit. Skillfile.lock \
is rewritten if it exists. If a repository cannot be fetched, csk reports it and installs from the local clone. With \
--dry-run, nothing is fetched: the plan is based on the local clones.

Reads:  the same as `csk update` and `csk install`
Writes: the same as `csk update` and `csk install`",
    exit_codes: &[
        ExitCode::Done.when("success; projects without a Skillfile.json are skipped"),
        ExitCode::Failed.when("a fetch, a skill or a project failed; the others were processed"),
        ExitCode::Usage.when("usage or configuration error, or there is a single target and its Skillfile.json is malformed"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk upgrade",
        "csk upgrade demo-app",
        "csk upgrade --all --dry-run",
    ],
};

/// Fetch all skill repositories, then install
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
    // Without repositories there is nothing to fetch yet; the install clones them.
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
    let options = args.flags.options(LockfileMode::Refresh);
    let installed = install_into(context, &config, &selected, &args.flags, options)?;
    Ok(updated.max(installed))
}
