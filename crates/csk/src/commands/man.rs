//! `csk man`: manual pages.

use skill_fs::write_file;
use term::{ManualArgs, counted, manual, safe_line};

use crate::context::Context;
use crate::failure::Failure;

const AFTER: &str = "\
Purpose: writes a page for csk and for each of its commands into a folder, made from the program itself.

Reads:  nothing
Writes: the folder

Exit codes:
  0  done
  2  usage, or the folder cannot be written

Examples:
  csk man ~/.local/share/man/man1
  csk man docs/commands --format markdown";

/// Write manual pages into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct ManArgs {
    #[command(flatten)]
    pages: ManualArgs,
}

pub(crate) fn man(
    context: &mut Context,
    args: &ManArgs,
    command: clap::Command,
) -> Result<u8, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot write {}: {error}", args.pages.dir.display()))
    };
    let folder = context.cwd.join(args.pages.dir.to_string_lossy().as_ref());
    #[expect(clippy::disallowed_methods, reason = "the edge: a folder that the user names")]
    std::fs::create_dir_all(folder.as_path()).map_err(|error| failed(&error))?;
    let pages = manual(command, args.pages.format);
    for (name, text) in &pages {
        write_file(&folder.join(name), text.as_bytes()).map_err(|error| failed(&error))?;
    }
    let told = format!("{} in {folder}", counted(pages.len(), "page"));
    context.ui.done(&format!("{}\n", safe_line(&told)))?;
    Ok(0)
}
