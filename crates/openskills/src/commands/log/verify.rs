//! `openskills log verify`: whether the log is what was written.

use std::path::PathBuf;

use openskills_runtime::log::{Checkpoints, Key, LogReport, VerifyOptions, verify_with};
use openskills_runtime::{OpenSkillRuntime, Places, RuntimeError};
use term::{HelpText, counted, safe_line};

use super::{LogLocation, absolute, key};
use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::output::{LogVerifyJson, VERSION};

const HELP: HelpText = HelpText {
    text: "\
Checks every event: its number, the digest of the one before, and at the end head.json. An
event that was changed, removed, moved or cut off is named.

An older copy of the whole folder, put back, is a whole log: one folder alone cannot show that.
--against compares the log with checkpoints that were written elsewhere: the file that
`log.checkpoints` in config.json names, a syslog, or what a collector wrote. A log that is
shorter than a checkpoint of it, or differs from one, fails; so does a file without any.

Archives that the log follows are checked with it. One that is not in the folder any more is named
in a note; with --against it fails if it has signed checkpoints, unless --archive says where it is.
So does every other log with signed checkpoints that is gone.

Reads:  the log and its archives; the keys, if config.json or --key-file names them; the file of
        --against; the folders of --archive
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("the log is what was written"),
        ExitCode::Usage.usual(),
        ExitCode::Log.when("it is not, or it cannot be read"),
    ],
    examples: &[
        "openskills log verify",
        "openskills log verify --json",
        "openskills log verify --against /mnt/backup/openskills.checkpoints",
        "openskills log verify --against /mnt/backup/openskills.checkpoints --archive /mnt/backup/logs",
        "openskills log verify ./copy-of-a-log --key-file ~/keys/log.key",
    ],
};

/// Prove that nobody changed the log
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    log: LogLocation,
    /// The key of the log; by default the one that config.json names for the user's own. More of them are of archives
    #[arg(long, value_name = "FILE")]
    key_file: Vec<PathBuf>,
    /// Compare the log with the checkpoints in a file
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Where an archive was moved to: its folder, or one that holds it
    #[arg(long, value_name = "DIR")]
    archive: Vec<PathBuf>,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn verify_log(context: &mut Context, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let source = args.log.source(context)?;
    let first = args.key_file.first().map(PathBuf::as_path);
    let mut keys: Vec<Key> = key(context, first, &args.log)?.into_iter().collect();
    for file in args.key_file.iter().skip(1) {
        keys.push(Key::load(&absolute(context, file)?).map_err(RuntimeError::from)?);
    }
    let archives = args.archive.iter().map(|folder| absolute(context, folder));
    let archives = archives.collect::<Result<Vec<_>, _>>()?;
    let checkpoints = match &args.against {
        Some(file) => {
            let file = absolute(context, file)?;
            Some(Checkpoints::load(&file).map_err(RuntimeError::from)?)
        }
        None => None,
    };
    let must_exist = match &args.log.log {
        Some(_) => true,
        None => OpenSkillRuntime::open_log(&Places::from_environment()?)?.is_guarded(),
    };
    let checkpoints = checkpoints.as_ref();
    let options = VerifyOptions { keys: &keys, checkpoints, archives: &archives, must_exist };
    let report = verify_with(&source, &options).map_err(RuntimeError::from)?;
    if args.json {
        context.ui.json(&LogVerifyJson { version: VERSION, report: report.clone() })?;
    } else {
        for problem in &report.problems {
            let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
            let told = format!("{}{line}: {}", problem.file, problem.message);
            context.ui.error(&format!("error: {}\n", safe_line(&told)))?;
        }
        context.ui.out(&verdict(&report))?;
        context.ui.note(&limits(&report))?;
    }
    Ok(if report.valid { ExitCode::Done } else { ExitCode::Log })
}

fn verdict(report: &LogReport) -> String {
    let LogReport { valid, events, files, .. } = report;
    let events = counted(usize::try_from(*events).unwrap_or(usize::MAX), "event");
    let files = counted(*files, "file");
    let verdict = match (*valid, report.files) {
        (true, 0) => "there is no log yet",
        (true, _) => "the chain holds",
        (false, _) => "the log is not what was written",
    };
    let archives = match report.archives {
        0 => String::new(),
        count => format!(", with {}", counted(count, "archive")),
    };
    let compared = report.checkpoints.map_or_else(String::new, |compared| {
        format!(", {} compared", counted(compared, "checkpoint"))
    });
    format!("{events} in {files}{archives}: {verdict}{compared}\n")
}

/// Returns what the verdict cannot say.
fn limits(report: &LogReport) -> String {
    let LogReport { valid, keyed, end_checked, .. } = report;
    let mut text: String =
        report.notes.iter().map(|note| format!("note: {}\n", safe_line(note))).collect();
    if report.files == 0 {
        return text;
    }
    if !end_checked {
        text +=
            "note: there is no head beside it, so events cut off at the end would not be found\n";
    }
    if *valid && !keyed {
        text += "note: it has no key, so one who may write the folder could have written it anew\n";
    }
    if *valid && report.checkpoints.is_none() {
        text += "note: an older copy of the whole folder would verify as well; --against FILE compares with checkpoints\n";
    }
    text
}
