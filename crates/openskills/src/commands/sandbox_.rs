//! `openskills sandbox check`: what this machine can guarantee.

use std::collections::BTreeMap;

use sandbox::{Guarantee, SandboxError, Tier, probe};
use term::{HelpText, safe_line, table};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{SandboxJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Tries both kinds of sandbox by running a program in each. Skills of yours, of the organisation
and builtin ones need the core: fs_read, fs_write, net_none, unix_isolated, signals and
tree_kill. A stranger's needs all but mem.

Reads:  nothing
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("skills of every trust level can run here"),
        ExitCode::SandboxUnavailable.when("some cannot; it says which, why, and what would help"),
    ],
    examples: &["openskills sandbox check", "openskills sandbox check --json"],
};

/// Look at the sandbox of this machine
#[derive(Debug, clap::Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SandboxCommand {
    /// Say what this machine can guarantee, and how to get what it cannot
    #[command(after_help = HELP)]
    Check {
        /// Write it as JSON
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
    let holds =
        |guarantee: Guarantee| best.is_some_and(|(_, enforced)| enforced.contains(&guarantee));
    let for_all =
        Guarantee::ALL.into_iter().filter(|guarantee| *guarantee != Guarantee::Mem).all(holds);
    let limitations = best.map_or(&[][..], |(tier, _)| tier.limitations());
    let (why, fix) = match &strong {
        Err(SandboxError::Unavailable { why, fix, .. }) => (Some(why.clone()), Some(fix.clone())),
        Err(other) => (Some(other.to_string()), None),
        Ok(_) => (None, None),
    };
    if *json {
        let guarantees: BTreeMap<String, bool> = Guarantee::ALL
            .into_iter()
            .map(|guarantee| (guarantee.to_string(), holds(guarantee)))
            .collect();
        let tier = best.map(|(tier, _)| letter(tier).to_owned());
        let limitations = limitations.iter().map(|&text| text.to_owned()).collect();
        let version = VERSION;
        context.ui.json(&SandboxJson { version, tier, guarantees, limitations, why, fix })?;
    } else {
        let rows: Vec<Vec<String>> = Guarantee::ALL
            .into_iter()
            .map(|guarantee| {
                let state = if holds(guarantee) { "yes" } else { "no" };
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
            (true, _) => "skills of every trust level can run here",
            (false, true) => {
                "your own skills and the organisation's can run here, a stranger's cannot"
            }
            (false, false) => "no skill can run here",
        };
        context.ui.out(&format!("{verdict}\n"))?;
        if let Some(why) = why {
            context.ui.error(&format!("note: {}\n", safe_line(&why)))?;
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
        Guarantee::FsRead => "files that were not granted cannot be read",
        Guarantee::FsWrite => "files that were not granted cannot be written",
        Guarantee::NetNone => "there is no network but what was granted",
        Guarantee::UnixIsolated => "no socket of another program can be reached",
        Guarantee::Signals => "no other process can be signalled",
        Guarantee::TreeKill => "nothing that a script starts outlives it",
        Guarantee::MetadataHidden => "names, sizes and link targets of other files are hidden",
        Guarantee::PrivateTmp => "temporary files are the script's own",
        Guarantee::SubpathProtect => "names such as .git cannot be written",
        Guarantee::Mem => "the memory of all its processes together is bounded",
        Guarantee::Pids => "the number of its processes is bounded",
    }
}
