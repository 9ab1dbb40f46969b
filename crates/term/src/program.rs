//! The frame of a program: from its arguments to a command, and from what comes of it to an exit code.

#![expect(clippy::disallowed_methods, reason = "the edge: the arguments of the process")]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::completions::complete_if_asked;
use crate::environment::with_environment;
use crate::report::is_broken_pipe;
use crate::usage::{print_usage, usage_report, version_if_asked};
use crate::{BROKEN_PIPE, ColorChoice, ErrorFormat, ErrorReport, Ui, safe_line};

/// The flags that every command of every program has.
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
    /// Write only data, warnings and errors
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

/// A program: what the frame has to know of it.
pub trait Program: CommandFactory + FromArgMatches {
    /// Its name, as it is typed.
    const NAME: &'static str;
    /// Its version.
    const VERSION: &'static str;
    /// The variable by which a shell asks it to complete.
    const COMPLETION_VARIABLE: &'static str;
    /// Flags that say how something is done, each with the variable that says it for every call.
    const ENVIRONMENT: &'static [(&'static str, &'static str)];
    /// Commands whose arguments are another program's.
    const FOREIGN_ARGUMENTS: &'static [&'static str] = &[];

    /// Returns the arguments as clap takes them.
    fn arguments(raw: Vec<OsString>) -> Vec<OsString> {
        raw
    }

    /// Returns the flags of every command.
    fn global(&self) -> GlobalArgs;

    /// Runs the command; returns the exit code.
    fn run(&self, ui: Ui) -> anyhow::Result<u8>;

    /// Says what kind of failure an error is, and what to do about it.
    fn report(error: &anyhow::Error) -> ErrorReport;

    /// Returns advice about a wrong call that clap does not have.
    fn usage_hint(_: &[OsString], _: &clap::Error) -> Option<String> {
        None
    }
}

/// Returns all commands of a program, with the variables of their flags.
pub fn commands<P: Program>() -> clap::Command {
    with_environment(P::command(), P::ENVIRONMENT)
}

/// Reads the arguments, runs the command, prints why it failed, and returns the exit code.
pub fn main<P: Program>() -> ExitCode {
    if let Some(code) = complete_if_asked(P::NAME, P::COMPLETION_VARIABLE, commands::<P>) {
        return code;
    }
    let args = P::arguments(std::env::args_os().collect());
    if let Some(code) = version_if_asked(P::NAME, P::VERSION, &args) {
        return code;
    }
    let (program, format) = match parse::<P>(&args) {
        Ok(parsed) => parsed,
        Err(error) => return ExitCode::from(wrong_call::<P>(&args, &error)),
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
    let format = if has_json(&matches) { ErrorFormat::Json } else { ErrorFormat::Words };
    let program =
        P::from_arg_matches(&matches).map_err(|error| error.format(&mut commands::<P>()))?;
    Ok((program, format))
}

/// Returns true if data was asked for: then a failure is data as well.
fn has_json(matches: &ArgMatches) -> bool {
    let has_flag = matches!(matches.try_get_one::<bool>("json"), Ok(Some(true)));
    let mut formats = matches.try_get_raw("format").ok().flatten().into_iter().flatten();
    let inner = matches.subcommand().map(|(_, inner)| inner);
    has_flag || formats.any(|format| format == "json") || inner.is_some_and(has_json)
}

/// Prints what is wrong with a call, or the help that was asked for; returns the exit code.
fn wrong_call<P: Program>(args: &[OsString], error: &clap::Error) -> u8 {
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
        let usual = || format!("run `{} --help`", P::NAME);
        let report = usage_report(error, hint);
        let hint = report.hint.clone().unwrap_or_else(usual);
        ErrorReport { hint: Some(hint), ..report }.print(&mut ui, ErrorFormat::Json);
    }
    code
}

/// Prints that the program waits for another process that holds a lock.
pub fn note_waiting(program: &str, path: &str, pid: Option<u32>) {
    let whose = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let text = format!("waiting for another {program}{whose} that holds {}\n", safe_line(path));
    // It is only a note; the wait goes on.
    let _ = Ui::new(ColorChoice::Never).error(&text);
}
