//! The entry point of a program: parses arguments, runs the command and returns an exit code.

#![expect(clippy::disallowed_methods, reason = "the edge: the arguments of the process")]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::completions::complete_if_requested;
use crate::environment::with_environment;
use crate::report::is_broken_pipe;
use crate::usage::{print_usage, usage_report, version_if_requested};
use crate::{BROKEN_PIPE, ColorChoice, ErrorFormat, ErrorReport, Ui, safe_line};

/// The flags of every command of both programs.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct GlobalArgs {
    /// When to use color; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Global options"
    )]
    pub color: ColorChoice,
    /// Print only results, warnings and errors; no progress, notes or summaries
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

/// A command-line program.
pub trait Program: CommandFactory + FromArgMatches {
    /// The name of its executable.
    const NAME: &'static str;
    /// Its version.
    const VERSION: &'static str;
    /// The environment variable that a shell sets to request completions.
    const COMPLETION_VARIABLE: &'static str;
    /// Flags that can also be set by an environment variable, each with its variable.
    const ENVIRONMENT: &'static [(&'static str, &'static str)];
    /// Commands whose arguments belong to another program.
    const FOREIGN_ARGUMENTS: &'static [&'static str] = &[];

    /// Preprocesses the arguments before clap parses them.
    fn arguments(raw: Vec<OsString>) -> Vec<OsString> {
        raw
    }

    /// Returns the global flags.
    fn global(&self) -> GlobalArgs;

    /// Runs the command; returns the exit code.
    fn run(&self, ui: Ui) -> anyhow::Result<u8>;

    /// Returns the report for an error: message, hint and exit code.
    fn report(error: &anyhow::Error) -> ErrorReport;

    /// Returns a better hint for a usage error than clap's.
    fn usage_hint(_: &[OsString], _: &clap::Error) -> Option<String> {
        None
    }
}

/// Returns the clap command of a program, with the environment variables of its flags.
pub fn commands<P: Program>() -> clap::Command {
    with_environment(P::command(), P::ENVIRONMENT)
}

/// Parses the arguments, runs the command, prints its error if it fails, and returns the exit code.
pub fn main<P: Program>() -> ExitCode {
    if let Some(code) = complete_if_requested(P::NAME, P::COMPLETION_VARIABLE, commands::<P>) {
        return code;
    }
    let args = P::arguments(std::env::args_os().collect());
    if let Some(code) = version_if_requested(P::NAME, P::VERSION, &args) {
        return code;
    }
    let (program, format) = match parse::<P>(&args) {
        Ok(parsed) => parsed,
        Err(error) => return ExitCode::from(report_usage_error::<P>(&args, &error)),
    };
    let GlobalArgs { color, quiet } = program.global();
    let mut ui = Ui::new(color);
    ui.is_quiet = quiet;
    let code = match program.run(ui) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => BROKEN_PIPE,
        Err(error) => P::report(&error).print(&mut Ui::new(color), format),
    };
    ExitCode::from(code)
}

fn parse<P: Program>(args: &[OsString]) -> Result<(P, ErrorFormat), clap::Error> {
    let matches = commands::<P>().try_get_matches_from(args)?;
    let format = if has_json(&matches) { ErrorFormat::Json } else { ErrorFormat::Text };
    let program =
        P::from_arg_matches(&matches).map_err(|error| error.format(&mut commands::<P>()))?;
    Ok((program, format))
}

/// Returns true if JSON output was requested; errors are then printed as JSON too.
fn has_json(matches: &ArgMatches) -> bool {
    let has_flag = matches!(matches.try_get_one::<bool>("json"), Ok(Some(true)));
    let mut formats = matches.try_get_raw("format").ok().flatten().into_iter().flatten();
    let inner = matches.subcommand().map(|(_, inner)| inner);
    has_flag || formats.any(|format| format == "json") || inner.is_some_and(has_json)
}

/// Prints a usage error, or the help if it was requested. Returns the exit code.
fn report_usage_error<P: Program>(args: &[OsString], error: &clap::Error) -> u8 {
    let code = print_usage(error);
    if !error.use_stderr() {
        return code;
    }
    let mut ui = Ui::new(ColorChoice::Never);
    let hint = P::usage_hint(args, error);
    if let Some(hint) = &hint {
        let _ = ui.error(&format!("hint: {}\n", safe_line(hint)));
    }
    let is_ours = |word: &&OsString| {
        *word != "--" && !P::FOREIGN_ARGUMENTS.iter().any(|command| *word == command)
    };
    if args.iter().take_while(is_ours).any(|word| word == "--json") {
        let default = || format!("run `{} --help`", P::NAME);
        let report = usage_report(error, hint);
        let hint = report.hint.clone().unwrap_or_else(default);
        ErrorReport { hint: Some(hint), ..report }.print(&mut ui, ErrorFormat::Json);
    }
    code
}

/// Prints that the program is waiting for another process that holds a process lock.
pub fn note_waiting(program: &str, path: &str, pid: Option<u32>) {
    let pid = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    let text =
        format!("waiting for another {program} process{pid} to release {}\n", safe_line(path));
    // This is only a note: if it cannot be printed, the wait continues.
    let _ = Ui::new(ColorChoice::Never).error(&text);
}
