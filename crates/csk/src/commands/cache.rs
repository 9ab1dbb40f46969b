//! `csk cache`: the cache of snapshots.

use std::time::Duration;

use csk_core::operations::{cache_folder, cache_size, clean_cache};
use csk_core::output::{CacheDirJson, CacheSizeJson, VERSION};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;

const GROUP: HelpText = HelpText {
    text: "\
Purpose: csk keeps the files of commits that it has installed, so that they need not be read from git again. All of it \
may be deleted at any time.",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage, or the cache cannot be read"),
        ExitCode::Locked.usual(),
    ],
    examples: &["csk cache size", "csk cache clean --older-than 30"],
};

const DIR: HelpText = HelpText {
    text: "\
Purpose: prints where the cache is.

Reads:  nothing
Writes: nothing",
    exit_codes: &[ExitCode::Done.usual()],
    examples: &["csk cache dir"],
};

const SIZE: HelpText = HelpText {
    text: "\
Purpose: prints how many snapshots there are, and how many bytes are in them.

Reads:  the cache
Writes: nothing",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.when("the cache cannot be read")],
    examples: &["csk cache size", "csk cache size --json"],
};

const CLEAN: HelpText = HelpText {
    text: "\
Purpose: removes snapshots, all or those that were made some days ago. Installed skills are not touched.

Reads:  the cache
Writes: the cache",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("the cache cannot be written"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk cache clean",
        "csk cache clean --older-than 30",
    ],
};

/// Show or empty the cache of snapshots
#[derive(Debug, clap::Args)]
#[command(after_help = GROUP)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CacheCommand {
    /// Print where the cache is
    #[command(after_help = DIR)]
    Dir {
        /// Write it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print how large it is
    #[command(after_help = SIZE)]
    Size {
        /// Write it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove snapshots
    #[command(after_help = CLEAN)]
    Clean {
        /// Only those that were made at least so many days ago
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
}

pub(crate) fn cache(context: &mut Context, args: &CacheArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        CacheCommand::Dir { json } => {
            let folder = cache_folder(&context.home);
            if json {
                let folder = folder.to_string();
                context.ui.json(&CacheDirJson { version: VERSION, folder })?;
                return Ok(ExitCode::Done);
            }
            context.ui.out(&format!("{}\n", safe_line(folder.as_str())))?;
        }
        CacheCommand::Size { json } => {
            let size = cache_size(&context.home)?;
            if json {
                let folder = cache_folder(&context.home).to_string();
                let (snapshots, bytes) = (size.snapshots, size.bytes);
                context.ui.json(&CacheSizeJson { version: VERSION, folder, snapshots, bytes })?;
                return Ok(ExitCode::Done);
            }
            let count =
                term::counted(usize::try_from(size.snapshots).unwrap_or(usize::MAX), "snapshot");
            context.ui.out(&format!("{count}, {} bytes\n", size.bytes))?;
        }
        CacheCommand::Clean { older_than } => {
            let _lock = context.lock()?;
            let age = older_than.map(|days| Duration::from_secs(u64::from(days) * 86_400));
            let size = clean_cache(&context.home, age)?;
            let count =
                term::counted(usize::try_from(size.snapshots).unwrap_or(usize::MAX), "snapshot");
            context.ui.done(&format!("removed {count}, {} bytes\n", size.bytes))?;
        }
    }
    Ok(ExitCode::Done)
}
