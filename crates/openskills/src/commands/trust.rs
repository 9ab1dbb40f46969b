//! `openskills trust`: folders whose skills count as the user's own.

use std::path::PathBuf;
use std::process::ExitCode;

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, TrustedFolders};
use skill_fs::AbsPath;
use term::safe_line;

use crate::context::Context;
use crate::output::{TrustJson, VERSION};

const AFTER: &str = "\
Skills of a project count as a stranger's until its folder is trusted: they never come before yours, and no link of theirs
may lead out of the project. Trusting a folder trusts every folder in it.

Reads:  trusted-folders.json in the state folder
Writes: the same, and nothing with --list

Exit codes:
  0  done, or it was so already
  1  the folder does not exist
  2  the call or the configuration is wrong
  4  the folder is too large to be trusted: the home folder, or one around it

Examples:
  openskills trust
  openskills trust ~/work/app
  openskills trust --list
  openskills trust --remove ~/work/app";

/// Trust a folder: its skills count as yours
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct TrustArgs {
    /// The folder
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,
    /// Trust it no longer
    #[arg(long)]
    remove: bool,
    /// Show the folders that are trusted
    #[arg(long, conflicts_with_all = ["remove", "folder"])]
    list: bool,
    /// Write the list as JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}

pub(crate) fn trust(context: &mut Context, args: &TrustArgs) -> anyhow::Result<ExitCode> {
    let runtime = OpenSkillRuntime::with_config(RuntimeConfig::default());
    if args.list {
        let trusted = TrustedFolders::load(runtime.places()?.state.as_ref())?;
        if args.json {
            let folders = trusted.iter().map(str::to_owned).collect();
            context.ui.json(&TrustJson { version: VERSION, folders })?;
        } else {
            for folder in trusted.iter() {
                context.ui.out(&format!("{}\n", safe_line(folder)))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let folder = AbsPath::new(context.cwd.as_path().join(&args.folder))?;
    let told = if args.remove {
        let (folder, is_news) = runtime.distrust_folder(&folder)?;
        (folder, if is_news { "is not trusted any more" } else { "was not trusted" })
    } else {
        let (folder, is_new) = runtime.trust_folder(&folder)?;
        (folder, if is_new { "is trusted" } else { "was trusted already" })
    };
    context.ui.out(&format!("{} {}\n", safe_line(told.0.as_str()), told.1))?;
    Ok(ExitCode::SUCCESS)
}
