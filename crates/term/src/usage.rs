//! Help and usage errors, as both programs print them.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::{ColorChoice, ErrorReport, FailureKind, USAGE, Ui, safe_text};

/// Returns what is wrong with a call, on one line: also which arguments are missing, and which values there are.
fn usage_message(error: &Error) -> String {
    if is_help(error) {
        return "a command is missing".to_owned();
    }
    let text = error.render().to_string();
    let lines = text.lines().skip_while(|line| line.trim().is_empty());
    let said: Vec<&str> = lines.map(str::trim).take_while(|line| !line.is_empty()).collect();
    said.join(" ").trim_start_matches("error: ").to_owned()
}

/// Prints the version where nothing else is asked for: that needs to know no command.
pub(crate) fn version_if_asked(
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

/// Returns what to do about a wrong call: what was probably meant, or the usage.
fn usage_hint(error: &Error) -> Option<String> {
    let suggested =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let meant = suggested.into_iter().filter_map(|kind| error.get(kind)).find_map(nearest);
    if let Some(meant) = meant {
        return Some(format!("did you mean `{meant}`?"));
    }
    let usage = match error.get(ContextKind::Usage)? {
        ContextValue::StyledStr(usage) => usage.to_string(),
        _ => return None,
    };
    let line = usage.trim_start_matches("Usage:").trim().lines().next()?.to_owned();
    Some(format!("usage: {}", line.trim()))
}

/// Returns what clap suggests; of several the last is the nearest.
fn nearest(value: &ContextValue) -> Option<&String> {
    match value {
        ContextValue::String(one) => Some(one),
        ContextValue::Strings(all) => all.last(),
        _ => None,
    }
}

/// Whether the error is the help itself, since no command was named.
fn is_help(error: &Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// Prints help or a usage error and returns the exit code. An argument may be a stranger's file name, so
/// it is made safe to show.
pub(crate) fn print_usage(error: &Error) -> u8 {
    let mut ui = Ui::new(ColorChoice::Auto);
    let text = error.render().to_string();
    // If nobody reads any more, nobody needs to know.
    let _ = if error.use_stderr() {
        ui.error(&safe_text(&text))
    } else {
        ui.out(&text).and_then(|()| ui.flush())
    };
    u8::try_from(error.exit_code()).unwrap_or(USAGE)
}

/// Returns the report of a wrong call. `hint` is better advice than clap has.
pub(crate) fn usage_report(error: &Error, hint: Option<String>) -> ErrorReport {
    let hint = hint.or_else(|| usage_hint(error));
    ErrorReport { hint, ..ErrorReport::of_kind(FailureKind::Usage, usage_message(error)) }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, Command};

    use super::*;

    fn wrong(words: &[&str]) -> (String, Option<String>) {
        let command = Command::new("tool").subcommand_required(true).subcommand(
            Command::new("run")
                .arg(Arg::new("SKILL").required(true))
                .arg(Arg::new("FILE").required(true))
                .arg(Arg::new("json").long("json").action(ArgAction::SetTrue))
                .arg(Arg::new("format").long("format").value_parser(["xml", "markdown"])),
        );
        let error = command.try_get_matches_from(words).unwrap_err();
        (usage_message(&error), usage_hint(&error))
    }

    #[test]
    fn a_wrong_call_says_what_is_missing_and_what_was_meant() {
        for (words, message, hint) in [
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
            assert_eq!(wrong(words), (message.to_owned(), Some(hint.to_owned())), "{words:?}");
        }
    }
}
