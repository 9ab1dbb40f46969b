//! `openskills log archive`: archives the log and starts a new one.

use jiff::Timestamp;
use openskills_runtime::log::archive;
use openskills_runtime::{OpenSkillRuntime, Places, RuntimeError};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{LogArchiveJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Nothing is deleted. The files are moved to a folder next to the new log, whose first event records
that folder and where the archived log ended. Archive the log to recover from a damaged log, or to
start or stop using a key.

Reads:  the log
Writes: the log",
    exit_codes: &[
        ExitCode::Done.when("done, or there was no log"),
        ExitCode::Usage.usual(),
        ExitCode::Log.when("the files cannot be moved"),
    ],
    examples: &["openskills log archive"],
};

/// Archive the log, intact or damaged, and start a new one
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ArchiveArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn archive_log(context: &mut Context, args: &ArchiveArgs) -> anyhow::Result<ExitCode> {
    let log = OpenSkillRuntime::open_log(&Places::from_environment()?)?;
    let folder = archive(&log, Timestamp::now()).map_err(RuntimeError::from)?;
    if args.json {
        let folder = folder.map(|folder| folder.to_string());
        context.ui.json(&LogArchiveJson { version: VERSION, folder })?;
    } else {
        let line = match folder {
            Some(folder) => {
                format!("archived the log to {} and started a new one", safe_line(folder.as_str()))
            }
            None => "no log yet".to_owned(),
        };
        context.ui.done(&format!("{line}\n"))?;
    }
    Ok(ExitCode::Done)
}
