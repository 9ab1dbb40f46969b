//! `openskills log`: what the runtime did, and the proof that nobody changed the record.

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
use crate::when::When;

const HELP: HelpText = HelpText {
    text: "\
The log is a folder of JSON Lines in ~/.local/state/openskills/log, the user's alone. Each event
holds the digest of the one before, and head.json says where the log ends, so that a change, a
gap and a cut are found. Whoever may write the folder could write a whole new log; against that
helps a key that they cannot read, see `log.key_file` in docs/reference.md. They could also put
an older copy of the folder back; against that help checkpoints in a second place, see
`log.checkpoints` there and `openskills log verify --against`.",
    exit_codes: &[],
    examples: &[
        "openskills log show --since 1d",
        "openskills log tail --follow",
        "openskills log verify",
        "openskills log stats --json",
        "openskills log export --endpoint http://localhost:4318",
    ],
};

/// The help of a command that only reads the log, without its examples.
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

/// Show, check and export the record of what skills did
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

/// Where a log is.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LogLocation {
    /// Another log than the user's own: its folder, or one file of it
    #[arg(value_name = "LOG")]
    pub(crate) log: Option<PathBuf>,
}

impl LogLocation {
    /// Returns the log. The user's own may be empty still.
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

/// Returns the key of a log: the one that was named, or that of the user's own.
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

/// Events of a log, as several commands take them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct EventSelection {
    #[command(flatten)]
    log: LogLocation,
    #[command(flatten)]
    filter: EventFilter,
}

impl EventSelection {
    /// Returns the events, the oldest first.
    pub(crate) fn entries(
        &self,
        context: &Context,
    ) -> Result<impl Iterator<Item = Result<Entry, LogError>> + use<>, RuntimeError> {
        Ok(self.filter.entries(&self.log.source(context)?)?)
    }
}

/// Which events.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Which events")]
struct EventFilter {
    /// Only events of this skill: a name or an id
    #[arg(long, value_name = "NAME", add = term::names(crate::completion::skills))]
    skill: Option<String>,
    /// Only events of this kind, such as skill.activated, or of all kinds that start so, such as skill.
    #[arg(long, value_name = "KIND")]
    event: Option<String>,
    /// Only events of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only events since then: 2026-01-31, 2026-01-31T12:00:00Z, or 2d for two days ago
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    since: Option<When>,
    /// Only events before then
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    until: Option<When>,
    /// Only events from this number on
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    from: u64,
}

impl EventFilter {
    /// Returns the events of a log that are wanted.
    fn entries(
        &self,
        source: &Source,
    ) -> Result<impl Iterator<Item = Result<Entry, LogError>> + use<>, LogError> {
        let (filter, now) = (self.clone(), Timestamp::now());
        let wanted = move |entry: &Result<Entry, LogError>| {
            entry.as_ref().map_or(true, |entry| filter.takes(entry, now))
        };
        Ok(source.entries(self.from)?.filter(wanted))
    }

    fn takes(&self, entry: &Entry, now: Timestamp) -> bool {
        let is_kind = |kind: &String| {
            entry.name == *kind || (kind.ends_with('.') && entry.name.starts_with(kind.as_str()))
        };
        // An event whose time cannot be read is not left out: it may be the one that is looked for.
        let at = entry.timestamp();
        let is_since = |when: When| at.is_none_or(|at| at >= when.seen_from(now));
        let is_before = |when: When| at.is_none_or(|at| at < when.seen_from(now));
        self.skill.as_ref().is_none_or(|wanted| entry.is_about(wanted))
            && self.event.as_ref().is_none_or(is_kind)
            && self.session.as_ref().is_none_or(|id| entry.session_id() == Some(id))
            && self.since.is_none_or(is_since)
            && self.until.is_none_or(is_before)
    }
}
