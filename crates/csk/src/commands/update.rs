//! `csk update`: fetches skill repositories.

use csk_core::install::update as fetch_all;
use csk_core::{Config, Fetched};
use term::{Failure, HelpText, safe_line};

use crate::commands::install::InstallFlags;
use crate::context::Context;
use crate::exit_code::ExitCode;

const HELP: HelpText = HelpText {
    text: "\
Fetches the branches and tags of every git repository under skills_root, in parallel. It does not change projects; run \
`csk install` or `csk upgrade` to install what was fetched.

Reads:  config.json
Writes: the repositories under skills_root (remote branches and tags, never a working tree)",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Failed.when("a repository could not be fetched; the others were fetched"),
        ExitCode::Usage.when("usage or configuration error, or skills_root contains no repository"),
    ],
    examples: &[
        "csk update",
    ],
};

/// Fetch all skill repositories
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct UpdateArgs {
    /// Disable network access; this command then fails, because it only fetches
    #[arg(long, env = "CSK_OFFLINE", value_parser = clap::builder::FalseyValueParser::new(), hide_env_values = true)]
    pub(crate) offline: bool,
}

pub(crate) fn update(context: &mut Context, args: &UpdateArgs) -> anyhow::Result<ExitCode> {
    let config = context.config()?;
    if args.offline {
        return Err(no_network().into());
    }
    update_all(context, &config)
}

/// Returns the error for a fetch with the network disabled.
pub(crate) fn no_network() -> Failure {
    Failure::usage("cannot fetch: the network is disabled")
        .with_hint("remove --offline, and unset CSK_OFFLINE and CSK_FROZEN")
}

/// Same as [`update_all`] before an install. With `--json` it prints only errors, since standard output is for the JSON.
pub(crate) fn update_for(
    context: &mut Context,
    config: &Config,
    flags: &InstallFlags,
) -> anyhow::Result<ExitCode> {
    let is_quiet = context.ui.is_quiet;
    context.ui.is_quiet |= flags.json;
    let updated = update_all(context, config);
    context.ui.is_quiet = is_quiet;
    updated
}

pub(crate) fn update_all(context: &mut Context, config: &Config) -> anyhow::Result<ExitCode> {
    if context.is_frozen {
        return Err(no_network().into());
    }
    let fetched = fetch_all(&context.environment(config), &context.progress())?;
    let mut failed = false;
    for (name, result) in fetched {
        let name = safe_line(&name).into_owned();
        match result {
            Ok(Fetched::Done) => context.ui.done(&format!("{name}: fetched\n"))?,
            Ok(Fetched::NoRemote) => context.ui.done(&format!("{name}: no remote\n"))?,
            Err(error) => {
                failed = true;
                context.ui.error(&format!("{name}: {}\n", safe_line(&error.to_string())))?;
            }
        }
    }
    Ok(ExitCode::failed_if(failed))
}
