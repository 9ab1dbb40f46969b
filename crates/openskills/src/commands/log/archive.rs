//! `openskills log archive`: puts the log aside and starts a new one.

use jiff::Timestamp;
use openskills_runtime::log::archive;
use openskills_runtime::{OpenSkillRuntime, Places, RuntimeError};
use term::{HelpText, safe_line};

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{LogArchiveJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Nothing is deleted: the files move into a folder beside the new log, whose first event names it and
holds its head. This is how to go on after a log broke, and how to begin or end the use of a key.

Reads:  the log
Writes: the log",
    exit_codes: &[
        ExitCode::Done.when("done, or there was no log"),
        ExitCode::Usage.usual(),
        ExitCode::Log.when("the files cannot be moved"),
    ],
    examples: &["openskills log archive"],
};

/// Put the log aside, whole or broken, and start a new one
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ArchiveArgs {
    /// Write it as JSON
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
        let told = match folder {
            Some(folder) => {
                format!("the log is in {} now; a new one has begun", safe_line(folder.as_str()))
            }
            None => "there is no log yet".to_owned(),
        };
        context.ui.done(&format!("{told}\n"))?;
    }
    Ok(ExitCode::Done)
}
