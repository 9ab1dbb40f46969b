//! `openskills log verify`: checks the log for alterations.

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
Checks each event's sequence number and its digest of the previous event, and that the log ends
where head.json says it does. Reports every event that was changed, removed, moved or truncated.

An older copy of the whole folder cannot be detected from the folder alone. --against compares the
log with checkpoints stored elsewhere: the file set as `log.checkpoints` in config.json, a syslog,
or the output of a collector. Verification fails if the log has fewer events than a
checkpoint records, if it does not match a checkpoint, or if the file contains no checkpoints.

The log's archives are verified as well. A missing archive is reported as a note. With --against,
verification fails if a missing log or archive has signed checkpoints; use --archive if it was
moved.

Reads:  the log and its archives; the keys from config.json or --key-file; the --against file; the
        --archive folders
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.when("the log is intact"),
        ExitCode::Usage.usual(),
        ExitCode::Log.when("the log has been altered or cannot be read"),
    ],
    examples: &[
        "openskills log verify",
        "openskills log verify --json",
        "openskills log verify --against /mnt/backup/openskills.checkpoints",
        "openskills log verify --against /mnt/backup/openskills.checkpoints --archive /mnt/backup/logs",
        "openskills log verify ./copy-of-a-log --key-file ~/keys/log.key",
    ],
};

/// Verify that the log has not been altered
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    log: LogLocation,
    /// Log key file [default: for your own log, the one in config.json]; can be repeated for archives
    #[arg(long, value_name = "FILE")]
    key_file: Vec<PathBuf>,
    /// Compare the log with the checkpoints in this file
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// New location of a moved archive: its folder or the parent folder; can be repeated
    #[arg(long, value_name = "DIR")]
    archive: Vec<PathBuf>,
    /// Print the result as JSON
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
            let message = format!("{}{line}: {}", problem.file, problem.message);
            context.ui.error(&format!("error: {}\n", safe_line(&message)))?;
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
        (true, 0) => "no log yet",
        (true, _) => "the log is intact",
        (false, _) => "the log has been altered",
    };
    let archives = match report.archives {
        0 => String::new(),
        count => format!(", with {}", counted(count, "archive")),
    };
    let compared = report.checkpoints.map_or_else(String::new, |compared| {
        format!(", compared with {}", counted(compared, "checkpoint"))
    });
    format!("{events} in {files}{archives}: {verdict}{compared}\n")
}

/// Returns notes about what this verification cannot detect.
fn limits(report: &LogReport) -> String {
    let LogReport { valid, keyed, end_checked, .. } = report;
    let mut text: String =
        report.notes.iter().map(|note| format!("note: {}\n", safe_line(note))).collect();
    if report.files == 0 {
        return text;
    }
    if !end_checked {
        text += "note: the end of the log was not compared with head.json, so events removed at the end are not detected\n";
    }
    if *valid && !keyed {
        text += "note: the log has no key, so anyone who can write to the folder could have rewritten it\n";
    }
    if *valid && report.checkpoints.is_none() {
        text += "note: an older copy of the whole folder would also verify; use --against FILE to compare with checkpoints\n";
    }
    text
}
