//! Flags that can also be set by environment variables.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment")]

use clap::builder::FalseyValueParser;
use clap::{Arg, Command};

/// The values of a variable that leave a flag unset.
const FALSE_VALUES: [&str; 6] = ["", "0", "n", "no", "f", "false"];

/// Attaches its environment variable to each long flag in `table`, in `command` and all its subcommands.
///
/// An empty variable counts as not set. So does a variable with a false value, if the flag takes no value.
pub(crate) fn with_environment(command: Command, table: &[(&str, &'static str)]) -> Command {
    command
        .mut_args(|arg| with_variable(arg, table))
        .mut_subcommands(|inner| with_environment(inner, table))
}

fn with_variable(arg: Arg, table: &[(&str, &'static str)]) -> Arg {
    let takes_values = arg.get_action().takes_values();
    let entry = table.iter().find(|(flag, _)| arg.get_long() == Some(flag));
    let arg = match entry.filter(|_| arg.get_env().is_none()) {
        Some((_, variable)) => {
            let arg = arg.env(*variable).hide_env_values(true);
            if takes_values { arg } else { arg.value_parser(FalseyValueParser::new()) }
        }
        None => arg,
    };
    let value = arg.get_env().and_then(std::env::var_os);
    let is_unset = value.is_some_and(|value| match value.to_str() {
        Some("") => true,
        Some(text) => !takes_values && FALSE_VALUES.contains(&text.to_lowercase().as_str()),
        None => false,
    });
    if is_unset { arg.env(None) } else { arg }
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

    use super::*;

    #[test]
    fn only_listed_flags_of_subcommands_get_variables() {
        let flag = |name: &'static str| Arg::new(name).long(name);
        let deep = Command::new("deep").arg(flag("limit")).arg(flag("yes"));
        let inner =
            Command::new("inner").subcommand(deep).arg(flag("strict").action(ArgAction::SetTrue));
        let table = [("limit", "TERM_TEST_LIMIT"), ("strict", "TERM_TEST_STRICT")];
        let command = with_environment(Command::new("tool").subcommand(inner), &table);
        let inner = command.find_subcommand("inner").unwrap();
        let deep = inner.find_subcommand("deep").unwrap();
        let of = |command: &Command, name: &str| {
            let mut args = command.get_arguments();
            let arg = args.find(|arg| arg.get_id() == name).unwrap();
            arg.get_env().map(|name| name.to_string_lossy().into_owned())
        };
        assert_eq!(of(inner, "strict").as_deref(), Some("TERM_TEST_STRICT"));
        assert_eq!(of(deep, "limit").as_deref(), Some("TERM_TEST_LIMIT"));
        assert_eq!(of(deep, "yes"), None);
    }
}
