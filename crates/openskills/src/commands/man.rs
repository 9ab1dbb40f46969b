//! `openskills man`: manual pages.

use std::process::ExitCode;

use openskills_runtime::RuntimeError;
use skill_fs::{AbsPath, write_file};
use term::{ManualArgs, counted, manual, safe_line};

use crate::context::Context;

const AFTER: &str = "\
Writes a page for openskills and for each of its commands into a folder, made from the program
itself.

Reads:  nothing
Writes: the folder

Exit codes:
  0  done
  2  the call is wrong, or the folder cannot be written

Examples:
  openskills man ~/.local/share/man/man1
  openskills man docs/commands --format markdown";

/// Write manual pages into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct ManArgs {
    #[command(flatten)]
    pages: ManualArgs,
}

#[expect(clippy::disallowed_methods, reason = "the edge: a folder that the user names")]
pub(crate) fn man(
    context: &mut Context,
    args: &ManArgs,
    command: clap::Command,
) -> anyhow::Result<ExitCode> {
    let folder = AbsPath::new(context.cwd.as_path().join(&args.pages.dir))?;
    std::fs::create_dir_all(folder.as_path()).map_err(|error| RuntimeError::Setup {
        message: format!("cannot make {folder}: {error}"),
        hint: None,
    })?;
    let pages = manual(command, args.pages.format);
    for (name, text) in &pages {
        write_file(&folder.join(name), text.as_bytes())?;
    }
    let told = format!("{} in {folder}", counted(pages.len(), "page"));
    context.ui.done(&format!("{}\n", safe_line(&told)))?;
    Ok(ExitCode::SUCCESS)
}
