//! Flags that can be given by variables of the environment as well.

#![expect(clippy::disallowed_methods, reason = "the edge: the environment")]

use clap::builder::FalseyValueParser;
use clap::{Arg, Command};

/// What a variable holds that turns a flag off.
const OFF: [&str; 6] = ["", "0", "n", "no", "f", "false"];

/// Gives each long flag that `table` names its variable, in `command` and every command below. A variable that is empty counts as one that is not
/// set, whatever flag it is of; so does one that turns a flag without a value off.
pub(crate) fn with_environment(command: Command, table: &[(&str, &'static str)]) -> Command {
    command
        .mut_args(|arg| with_variable(arg, table))
        .mut_subcommands(|inner| with_environment(inner, table))
}

fn with_variable(arg: Arg, table: &[(&str, &'static str)]) -> Arg {
    let takes_values = arg.get_action().takes_values();
    let named = table.iter().find(|(flag, _)| arg.get_long() == Some(flag));
    let arg = match named.filter(|_| arg.get_env().is_none()) {
        Some((_, variable)) => {
            let arg = arg.env(*variable).hide_env_values(true);
            if takes_values { arg } else { arg.value_parser(FalseyValueParser::new()) }
        }
        None => arg,
    };
    let value = arg.get_env().and_then(std::env::var_os);
    let is_off = value.is_some_and(|value| match value.to_str() {
        Some("") => true,
        Some(text) => !takes_values && OFF.contains(&text.to_lowercase().as_str()),
        None => false,
    });
    if is_off { arg.env(None) } else { arg }
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

    use super::*;

    #[test]
    fn flags_below_have_variables_and_others_have_none() {
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
