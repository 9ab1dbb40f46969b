//! Collects the help of a program in one text.

use crate::Run;

/// Returns the help of a program and all its subcommands. `run` runs the program with arguments.
pub fn whole_help(run: &dyn Fn(&str) -> Run) -> String {
    let mut all = String::new();
    add(run, "", &mut all);
    all
}

fn add(run: &dyn Fn(&str) -> Run, command: &str, all: &mut String) {
    let help = run(&format!("{command} --help"));
    *all += &format!("=== {command} --help\n{}\n", help.transcript());
    for inner in commands(&help.stdout) {
        add(run, format!("{command} {inner}").trim(), all);
    }
}

/// Returns the subcommands listed in a help text.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // Continuation lines are indented further.
    let names =
        listed.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}
