//! Prints help and usage errors.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::{ColorChoice, ErrorReport, FailureKind, USAGE, Ui, safe_text};

/// Returns a usage error on one line, including missing arguments and possible values.
fn usage_message(error: &Error) -> String {
    if is_help(error) {
        return "no command given".to_owned();
    }
    let text = error.render().to_string();
    let lines = text.lines().skip_while(|line| line.trim().is_empty());
    let message: Vec<&str> = lines.map(str::trim).take_while(|line| !line.is_empty()).collect();
    message.join(" ").trim_start_matches("error: ").to_owned()
}

/// Prints the version if that is the only argument. This avoids building all commands.
pub(crate) fn version_if_requested(
    program: &str,
    version: &str,
    args: &[OsString],
) -> Option<ExitCode> {
    let [_, flag] = args else { return None };
    if flag != "--version" && flag != "-V" {
        return None;
    }
    let written = writeln!(std::io::stdout(), "{program} {version}");
    Some(if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns a hint for a usage error: clap's suggestion, or the usage line.
fn usage_hint(error: &Error) -> Option<String> {
    let suggested =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let suggestion = suggested.into_iter().filter_map(|kind| error.get(kind)).find_map(nearest);
    if let Some(suggestion) = suggestion {
        return Some(format!("did you mean `{suggestion}`?"));
    }
    let usage = match error.get(ContextKind::Usage)? {
        ContextValue::StyledStr(usage) => usage.to_string(),
        _ => return None,
    };
    let line = usage.trim_start_matches("Usage:").trim().lines().next()?.to_owned();
    Some(format!("usage: {}", line.trim()))
}

/// Returns clap's best suggestion, which is the last of several.
fn nearest(value: &ContextValue) -> Option<&String> {
    match value {
        ContextValue::String(one) => Some(one),
        ContextValue::Strings(all) => all.last(),
        _ => None,
    }
}

/// Returns true if clap shows the help because no command was given.
fn is_help(error: &Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// Prints help or a usage error and returns the exit code. Arguments may be untrusted file names, so errors are made safe to
/// show.
pub(crate) fn print_usage(error: &Error) -> u8 {
    let mut ui = Ui::new(ColorChoice::Auto);
    let text = error.render().to_string();
    // Ignore write errors: the reader of the output is gone.
    let _ = if error.use_stderr() {
        ui.error(&safe_text(&text))
    } else {
        ui.out(&text).and_then(|()| ui.flush())
    };
    u8::try_from(error.exit_code()).unwrap_or(USAGE)
}

/// Returns the report of a usage error. `hint` replaces the one derived from clap's error.
pub(crate) fn usage_report(error: &Error, hint: Option<String>) -> ErrorReport {
    let hint = hint.or_else(|| usage_hint(error));
    ErrorReport { hint, ..ErrorReport::of_kind(FailureKind::Usage, usage_message(error)) }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, Command};

    use super::*;

    fn usage_error(args: &[&str]) -> (String, Option<String>) {
        let command = Command::new("tool").subcommand_required(true).subcommand(
            Command::new("run")
                .arg(Arg::new("SKILL").required(true))
                .arg(Arg::new("FILE").required(true))
                .arg(Arg::new("json").long("json").action(ArgAction::SetTrue))
                .arg(Arg::new("format").long("format").value_parser(["xml", "markdown"])),
        );
        let error = command.try_get_matches_from(args).unwrap_err();
        (usage_message(&error), usage_hint(&error))
    }

    #[test]
    fn usage_errors_have_a_message_and_a_hint() {
        for (args, message, hint) in [
            (
                &["tool", "run"][..],
                "the following required arguments were not provided: <SKILL> <FILE>",
                "usage: tool run <SKILL> <FILE>",
            ),
            (&["tool", "runn"], "unrecognized subcommand 'runn'", "did you mean `run`?"),
            (
                &["tool", "run", "a", "b", "--jsno"],
                "unexpected argument '--jsno' found",
                "did you mean `--json`?",
            ),
            (
                &["tool", "run", "a", "b", "--format", "xmll"],
                "invalid value 'xmll' for '--format <format>' [possible values: xml, markdown]",
                "did you mean `xml`?",
            ),
        ] {
            assert_eq!(usage_error(args), (message.to_owned(), Some(hint.to_owned())), "{args:?}");
        }
    }
}
