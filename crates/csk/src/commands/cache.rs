//! `csk cache`: shows or clears the snapshot cache.

use std::time::Duration;

use csk_core::operations::{cache_folder, cache_size, clean_cache};
use csk_core::output::{CacheDirJson, CacheSizeJson, VERSION};
use skill::ByteSize;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;

const GROUP: HelpText = HelpText {
    text: "\
Shows or clears the snapshot cache. csk caches the files of installed commits so that it does not have to read them \
from git again. You can delete the cache at any time.

Reads:  the cache
Writes: the cache, with `clean`",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or the cache cannot be read or written"),
        ExitCode::Locked.usual(),
    ],
    examples: &["csk cache size", "csk cache clean --older-than 30"],
};

const DIR: HelpText = HelpText {
    text: "\
Prints the path of the cache folder.

Reads:  nothing
Writes: nothing",
    exit_codes: &[ExitCode::Done.usual(), ExitCode::Usage.usual()],
    examples: &["csk cache dir", "csk cache dir --json"],
};

const SIZE: HelpText = HelpText {
    text: "\
Prints the number of cached snapshots and their total size.

Reads:  the cache
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or the cache cannot be read"),
    ],
    examples: &["csk cache size", "csk cache size --json"],
};

const CLEAN: HelpText = HelpText {
    text: "\
Removes all cached snapshots, or only those that are at least a given number of days old. Installed skills are not affected.

Reads:  the cache
Writes: the cache",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, or the cache cannot be written"),
        ExitCode::Locked.usual(),
    ],
    examples: &[
        "csk cache clean",
        "csk cache clean --older-than 30",
    ],
};

/// Show or clear the snapshot cache
#[derive(Debug, clap::Args)]
#[command(after_help = GROUP)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CacheCommand {
    /// Print the cache path
    #[command(after_help = DIR)]
    Dir {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the cache size
    #[command(after_help = SIZE)]
    Size {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove cached snapshots
    #[command(after_help = CLEAN)]
    Clean {
        /// Remove only snapshots that are at least this many days old
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
            context.ui.out(&format!("{count}, {}\n", ByteSize(size.bytes)))?;
        }
        CacheCommand::Clean { older_than } => {
            let _lock = context.lock()?;
            let age = older_than.map(|days| Duration::from_secs(u64::from(days) * 86_400));
            let size = clean_cache(&context.home, age)?;
            let count =
                term::counted(usize::try_from(size.snapshots).unwrap_or(usize::MAX), "snapshot");
            context.ui.done(&format!("removed {count}, {}\n", ByteSize(size.bytes)))?;
        }
    }
    Ok(ExitCode::Done)
}
