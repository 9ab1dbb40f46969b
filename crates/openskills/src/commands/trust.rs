//! `openskills trust`: folders whose skills count as the user's own.

use std::path::PathBuf;

use openskills_runtime::{OpenSkillRuntime, RuntimeConfig, TrustedFolders};
use skill_fs::AbsPath;
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::discovery::check_folder;
use crate::exit_code::ExitCode;
use crate::output::{TrustJson, TrustListJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Skills of a project count as a stranger's until its folder is trusted: they never come before
yours, and no link of theirs may lead out of the project. Trusting a folder trusts every folder
in it.

Reads:  trusted-folders.json in the state folder
Writes: the same, and nothing with --list",
    exit_codes: &[
        ExitCode::Done.when("done, or it was so already"),
        ExitCode::Usage.when("the call or the configuration is wrong, or there is no such folder"),
        ExitCode::NotAllowed
            .when("the folder is too large to be trusted: the home folder, or one around it"),
    ],
    examples: &[
        "openskills trust",
        "openskills trust ~/work/app",
        "openskills trust --list",
        "openskills trust --remove ~/work/app",
    ],
};

/// Trust a folder: its skills count as yours
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct TrustArgs {
    /// The folder; by default the project, which is the git repository around the working folder
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long)]
    remove: bool,
    /// Show the folders that are trusted
    #[arg(long, conflicts_with_all = ["remove", "folder"])]
    list: bool,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn trust(context: &mut Context, args: &TrustArgs) -> anyhow::Result<ExitCode> {
    let runtime = OpenSkillRuntime::with_config(RuntimeConfig::default());
    if args.list {
        let trusted = TrustedFolders::load(runtime.places()?.state.as_ref())?;
        if args.json {
            let folders = trusted.iter().map(str::to_owned).collect();
            context.ui.json(&TrustListJson { version: VERSION, folders })?;
        } else {
            for folder in trusted.iter() {
                context.ui.out(&format!("{}\n", safe_line(folder)))?;
            }
        }
        return Ok(ExitCode::Done);
    }
    let folder = match &args.folder {
        // One that is gone can still be trusted no longer.
        Some(folder) if args.remove => AbsPath::new(context.cwd.as_path().join(folder))?,
        Some(folder) => check_folder(context, folder, "name the folder of a project")?,
        None => runtime.project_root()?,
    };
    let (folder, changed) = if args.remove {
        runtime.distrust_folder(&folder)?
    } else {
        runtime.trust_folder(&folder)?
    };
    if args.json {
        let (folder, trusted) = (folder.to_string(), !args.remove);
        context.ui.json(&TrustJson { version: VERSION, folder, trusted, changed })?;
        return Ok(ExitCode::Done);
    }
    let told = match (args.remove, changed) {
        (false, true) => "is trusted",
        (false, false) => "was trusted already",
        (true, true) => "is not trusted any more",
        (true, false) => "was not trusted",
    };
    context.ui.done(&format!("{} {told}\n", safe_line(folder.as_str())))?;
    Ok(ExitCode::Done)
}
