//! `openskills sandbox check`: reports which sandbox guarantees this machine can provide.

use std::collections::BTreeMap;

use sandbox::{Guarantee, SandboxError, Tier, probe};
use term::{HelpText, safe_line, table};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{SandboxJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Tests both sandbox tiers by running a program in each. Your own, your organization's and built-in
skills need the core guarantees: fs_read, fs_write, net_none, unix_isolated, signals and tree_kill.
Untrusted skills need every guarantee except mem.

Reads:  nothing
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("every skill can run here, whatever its trust level"),
        ExitCode::SandboxUnavailable
            .when("some skills cannot run here; the output shows which, why, and how to fix it"),
    ],
    examples: &["openskills sandbox check", "openskills sandbox check --json"],
};

/// Check what the sandbox on this machine can enforce
#[derive(Debug, clap::Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SandboxCommand {
    /// Show which guarantees this machine can provide, and how to get the missing ones
    #[command(after_help = HELP)]
    Check {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn sandbox_check(context: &mut Context, args: &SandboxArgs) -> anyhow::Result<ExitCode> {
    let SandboxCommand::Check { json } = &args.command;
    let (strong, weak) = (probe(Tier::A), probe(Tier::B));
    let best = match (&strong, &weak) {
        (Ok(enforced), _) => Some((Tier::A, enforced)),
        (Err(_), Ok(enforced)) => Some((Tier::B, enforced)),
        (Err(_), Err(_)) => None,
    };
    let is_enforced =
        |guarantee: Guarantee| best.is_some_and(|(_, enforced)| enforced.contains(&guarantee));
    let for_all = Guarantee::ALL
        .into_iter()
        .filter(|guarantee| *guarantee != Guarantee::Mem)
        .all(is_enforced);
    let limitations = best.map_or(&[][..], |(tier, _)| tier.limitations());
    let (reason, fix) = match &strong {
        Err(SandboxError::Unavailable { reason, fix, .. }) => {
            (Some(reason.clone()), Some(fix.clone()))
        }
        Err(other) => (Some(other.to_string()), None),
        Ok(_) => (None, None),
    };
    if *json {
        let guarantees: BTreeMap<String, bool> = Guarantee::ALL
            .into_iter()
            .map(|guarantee| (guarantee.to_string(), is_enforced(guarantee)))
            .collect();
        let tier = best.map(|(tier, _)| letter(tier).to_owned());
        let limitations = limitations.iter().map(|&text| text.to_owned()).collect();
        let version = VERSION;
        context.ui.json(&SandboxJson { version, tier, guarantees, limitations, reason, fix })?;
    } else {
        let rows: Vec<Vec<String>> = Guarantee::ALL
            .into_iter()
            .map(|guarantee| {
                let state = if is_enforced(guarantee) { "yes" } else { "no" };
                vec![guarantee.to_string(), state.to_owned(), meaning(guarantee).to_owned()]
            })
            .collect();
        context.ui.out(&table(&rows, context.ui.width))?;
        if let Some((tier, _)) = best.filter(|_| !limitations.is_empty()) {
            context.ui.out(&format!("limitations of tier {}:\n", letter(tier)))?;
            for limitation in limitations {
                context.ui.out(&format!("  {limitation}\n"))?;
            }
        }
        let verdict = match (for_all, best.is_some()) {
            (true, _) => "every skill can run here, whatever its trust level",
            (false, true) => {
                "your own and your organization's skills can run here; untrusted skills cannot"
            }
            (false, false) => "no skill can run here",
        };
        context.ui.out(&format!("{verdict}\n"))?;
        if let Some(reason) = reason {
            context.ui.error(&format!("note: {}\n", safe_line(&reason)))?;
        }
        if let Some(fix) = fix {
            context.ui.error(&format!("hint: {}\n", safe_line(&fix)))?;
        }
    }
    Ok(if for_all { ExitCode::Done } else { ExitCode::SandboxUnavailable })
}

fn letter(tier: Tier) -> &'static str {
    match tier {
        Tier::A => "A",
        Tier::B => "B",
    }
}

fn meaning(guarantee: Guarantee) -> &'static str {
    match guarantee {
        Guarantee::FsRead => "only granted files can be read",
        Guarantee::FsWrite => "only granted files can be written",
        Guarantee::NetNone => "no network access except granted hosts",
        Guarantee::UnixIsolated => "other programs' sockets cannot be reached",
        Guarantee::Signals => "other processes cannot be signaled",
        Guarantee::TreeKill => "no process started by a script outlives it",
        Guarantee::MetadataHidden => "names, sizes and link targets of other files are hidden",
        Guarantee::PrivateTmp => "the script has a private /tmp",
        Guarantee::SubpathProtect => "protected names such as .git cannot be written",
        Guarantee::Mem => "the script's total memory is limited",
        Guarantee::Pids => "the script's process count is limited",
    }
}
