//! `openskills cache`: shows and clears the caches.

use anyhow::bail;
use openskills_runtime::{Cache, CacheKind, OpenSkillRuntime, RuntimeConfig, caches, clear_cache};
use skill::ByteSize;
use term::{HelpText, counted, safe_line, table};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{CacheJson, CacheKindJson, VERSION};

const GROUP: HelpText = HelpText {
    text: "\
What is cleared is made again when it is needed: index and index-strict (skill metadata), hashes
(skill folder digests), wasm (compiled modules) and served (skills fetched from MCP servers).
Compiled modules are sealed with a key stored elsewhere: a module that was modified, or copied from
another machine, is recompiled. `packages` are packages prepared with --with; after clearing them,
run the skill with --with again.

`runs` lists skill copies left behind by killed runs; the next run removes them too. Copies in use
are neither listed nor removed. `command-homes` are the home folders of command lines (`openskills
exec`), where package managers keep their caches; clear them while no command is running.

Reads:  the cache folder
Writes: the cache folder (clear only)",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.when("usage error, no cache folder, or a file cannot be read or removed"),
    ],
    examples: &[
        "openskills cache",
        "openskills cache show --json",
        "openskills cache clear wasm",
        "openskills cache clear",
    ],
};

/// Show or clear the caches
#[derive(Debug, clap::Args)]
#[command(after_help = GROUP)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    command: Option<CacheCommand>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum CacheCommand {
    /// Show the size of each cache
    #[command(after_help = GROUP)]
    Show,
    /// Clear the caches
    #[command(after_help = GROUP)]
    Clear {
        /// Caches to clear: index, index-strict, hashes, wasm, served, runs, command-homes or packages [default: all]
        #[arg(value_parser = kind)]
        kinds: Vec<CacheKind>,
    },
}

fn kind(text: &str) -> Result<CacheKind, String> {
    let all = CacheKind::ALL.map(CacheKind::as_str).join(", ");
    let found = CacheKind::ALL.into_iter().find(|kind| kind.as_str() == text);
    found.ok_or_else(|| format!("unknown cache `{text}`; available: {all}"))
}

pub(crate) fn cache(context: &mut Context, args: &CacheArgs) -> anyhow::Result<ExitCode> {
    let runtime = OpenSkillRuntime::with_config(RuntimeConfig::default());
    let places = runtime.places()?;
    if places.cache.is_none() {
        bail!("no cache folder: neither HOME nor XDG_CACHE_HOME is set");
    }
    let mut all = caches(places)?;
    let cleared = match &args.command {
        None | Some(CacheCommand::Show) => false,
        Some(CacheCommand::Clear { kinds }) => {
            all.retain(|cache| kinds.is_empty() || kinds.contains(&cache.kind));
            all.iter().try_for_each(clear_cache)?;
            true
        }
    };
    if args.json {
        let kind = |cache: &Cache| CacheKindJson {
            kind: cache.kind.as_str().to_owned(),
            folder: cache.folder.to_string(),
            files: cache.files.len(),
            bytes: cache.bytes(),
        };
        let caches = all.iter().map(kind).collect();
        context.ui.json(&CacheJson { version: VERSION, cleared, caches })?;
    } else if cleared {
        let files = all.iter().map(|cache| cache.files.len()).sum();
        let bytes: u64 = all.iter().map(Cache::bytes).sum();
        let (files, size) = (counted(files, "file"), ByteSize(bytes));
        context.ui.done(&format!("removed {files} ({size})\n"))?;
    } else {
        let row = |cache: &Cache| {
            vec![
                cache.kind.as_str().to_owned(),
                match cache.kind {
                    CacheKind::Runs | CacheKind::CommandHomes | CacheKind::Packages => {
                        counted(cache.files.len(), "folder")
                    }
                    _ => counted(cache.files.len(), "file"),
                },
                ByteSize(cache.bytes()).to_string(),
                safe_line(cache.folder.as_str()).into_owned(),
            ]
        };
        context.ui.out(&table(&all.iter().map(row).collect::<Vec<_>>(), context.ui.width))?;
    }
    Ok(ExitCode::Done)
}
