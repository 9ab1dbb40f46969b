//! `openskills trust`: manages the folders whose skills count as the user's own.

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
A project's skills are untrusted until you trust its folder: they never take precedence over your
own, and their links must not point outside the project. Trusting a folder also trusts all its
subfolders.

Reads:  trusted-folders.json in the state folder
Writes: trusted-folders.json; nothing with --list",
    exit_codes: &[
        ExitCode::Done.when("done, or nothing to change"),
        ExitCode::Usage.when("usage or configuration error, or no such folder"),
        ExitCode::NotAllowed
            .when("the folder is too broad to trust: your home folder or a parent of it"),
    ],
    examples: &[
        "openskills trust",
        "openskills trust ~/work/app",
        "openskills trust --list",
        "openskills trust --remove ~/work/app",
    ],
};

/// Trust a folder, so that its skills count as your own
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct TrustArgs {
    /// Folder to trust [default: the project, which is the enclosing git repository]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Stop trusting the folder
    #[arg(long)]
    remove: bool,
    /// List trusted folders
    #[arg(long, conflicts_with_all = ["remove", "folder"])]
    list: bool,
    /// Print the result as JSON
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
        // A deleted folder can still be removed from the list.
        Some(folder) if args.remove => AbsPath::new(context.cwd.as_path().join(folder))?,
        Some(folder) => check_folder(context, folder, "pass a project folder")?,
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
    let folder = safe_line(folder.as_str());
    let line = match (args.remove, changed) {
        (false, true) => format!("trusted {folder}\n"),
        (false, false) => format!("{folder} is already trusted\n"),
        (true, true) => format!("{folder} is no longer trusted\n"),
        (true, false) => format!("{folder} was not trusted\n"),
    };
    context.ui.done(&line)?;
    Ok(ExitCode::Done)
}
