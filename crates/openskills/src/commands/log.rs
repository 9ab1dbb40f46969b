//! `openskills log`: shows, verifies and exports the log.

mod archive;
mod detail;
mod export;
pub(crate) mod otlp;
mod show;
mod stats;
mod tail;
mod verify;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use openskills_runtime::log::{Entry, Key, LogError, Source};
use openskills_runtime::{OpenSkillRuntime, Places, RuntimeError};
use skill_fs::AbsPath;

use term::HelpText;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::when::TimeArg;

const HELP: HelpText = HelpText {
    text: "\
The log is a folder of JSON Lines files, ~/.local/state/openskills/log, that only you can read. Each
event contains the digest of the previous one, and head.json records the end of the log, so changed,
missing and truncated events are detected. Two attacks are not detected by default. Anyone who can
write to the folder could write a completely new log; to detect that, use a key that they cannot
read (see `log.key_file` in docs/reference.md). They could also restore an older copy of the folder;
to detect that, store checkpoints elsewhere (see `log.checkpoints` there, and `openskills log verify
--against`).",
    exit_codes: &[],
    examples: &[
        "openskills log show --since 1d",
        "openskills log tail --follow",
        "openskills log verify",
        "openskills log stats --json",
        "openskills log export --endpoint http://localhost:4318",
    ],
};

/// Help of the commands that only read the log, without examples.
const READS_LOG: HelpText = HelpText {
    text: "\
Reads:  the log
Writes: nothing",
    exit_codes: &[
        ExitCode::Done.usual(),
        ExitCode::Usage.usual(),
        ExitCode::Log.when("the log cannot be read"),
    ],
    examples: &[],
};

/// Show, verify and export the log of what skills did
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: LogCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LogCommand {
    Show(show::ShowArgs),
    Tail(tail::TailArgs),
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
    Stats(stats::StatsArgs),
    Archive(archive::ArchiveArgs),
}

pub(crate) fn log(context: &mut Context, args: &LogArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        LogCommand::Show(args) => show::show(context, args),
        LogCommand::Tail(args) => tail::tail(context, args),
        LogCommand::Verify(args) => verify::verify_log(context, args),
        LogCommand::Export(args) => export::export(context, args),
        LogCommand::Stats(args) => stats::show_stats(context, args),
        LogCommand::Archive(args) => archive::archive_log(context, args),
    }
}

/// The log to read.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LogLocation {
    /// Log folder or file to read [default: your own log]
    #[arg(value_name = "LOG")]
    pub(crate) log: Option<PathBuf>,
}

impl LogLocation {
    /// Returns the log. The user's own log may not exist yet.
    pub(crate) fn source(&self, context: &Context) -> Result<Source, RuntimeError> {
        match &self.log {
            Some(path) => Ok(Source::at(&absolute(context, path)?)?),
            None => {
                let log = OpenSkillRuntime::open_log(&Places::from_environment()?)?;
                Ok(Source::Folder(log.folder().clone()))
            }
        }
    }
}

/// Returns the key of a log: the given one, or for the user's own log the configured one.
pub(crate) fn key(
    context: &Context,
    file: Option<&Path>,
    location: &LogLocation,
) -> Result<Option<Key>, RuntimeError> {
    match (file, &location.log) {
        (Some(path), _) => Ok(Some(Key::load(&absolute(context, path)?)?)),
        (None, None) => {
            Ok(OpenSkillRuntime::open_log(&Places::from_environment()?)?.key().cloned())
        }
        (None, Some(_)) => Ok(None),
    }
}

fn absolute(context: &Context, path: &Path) -> Result<AbsPath, RuntimeError> {
    AbsPath::new(context.cwd.as_path().join(path))
        .map_err(|error| RuntimeError::Setup { message: error.to_string(), hint: None })
}

/// A log and a filter for its events.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct EventSelection {
    #[command(flatten)]
    log: LogLocation,
    #[command(flatten)]
    filter: EventFilter,
}

impl EventSelection {
    /// Returns the matching events, oldest first.
    pub(crate) fn entries(
        &self,
        context: &Context,
    ) -> Result<impl Iterator<Item = Result<Entry, LogError>> + use<>, RuntimeError> {
        Ok(self.filter.entries(&self.log.source(context)?)?)
    }
}

/// A filter for events.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
struct EventFilter {
    /// Only events of this skill (name or ID)
    #[arg(long, value_name = "NAME", add = term::names(crate::completion::skills))]
    skill: Option<String>,
    /// Only events of this type (skill.activated) or with this prefix (skill.)
    #[arg(long, value_name = "KIND")]
    event: Option<String>,
    /// Only events of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only events since this time: 2026-01-31, 2026-01-31T12:00:00Z, or 2d for two days ago
    #[arg(long, value_name = "TIME", value_parser = TimeArg::parse)]
    since: Option<TimeArg>,
    /// Only events before this time
    #[arg(long, value_name = "TIME", value_parser = TimeArg::parse)]
    until: Option<TimeArg>,
    /// Only events with this sequence number or higher
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    from: u64,
}

impl EventFilter {
    /// Returns the matching events of a log.
    fn entries(
        &self,
        source: &Source,
    ) -> Result<impl Iterator<Item = Result<Entry, LogError>> + use<>, LogError> {
        let (filter, now) = (self.clone(), Timestamp::now());
        let is_match = move |entry: &Result<Entry, LogError>| {
            entry.as_ref().map_or(true, |entry| filter.matches(entry, now))
        };
        Ok(source.entries(self.from)?.filter(is_match))
    }

    fn matches(&self, entry: &Entry, now: Timestamp) -> bool {
        let is_kind = |kind: &String| {
            let is = |name: &str| {
                name == kind || (kind.ends_with('.') && name.starts_with(kind.as_str()))
            };
            is(&entry.name) || is(entry.current_name())
        };
        // An event with an unreadable time always matches: it may be the one that the user looks for.
        let time = entry.timestamp();
        let is_since = |when: TimeArg| time.is_none_or(|time| time >= when.resolve(now));
        let is_before = |when: TimeArg| time.is_none_or(|time| time < when.resolve(now));
        self.skill.as_ref().is_none_or(|name| entry.is_about(name))
            && self.event.as_ref().is_none_or(is_kind)
            && self.session.as_ref().is_none_or(|id| entry.session_id() == Some(id))
            && self.since.is_none_or(is_since)
            && self.until.is_none_or(is_before)
    }
}
