//! What a rule about shell commands permits: one known program, or arbitrary code.

use super::launchers::PRINT_VERSION;
use super::{Commands, ProgramKind, find, plain_name};
use crate::{AllowedTools, ToolRule, interpreters};

/// What a rule about shell commands permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleMeaning {
    /// One program, within its description, or exactly the arguments in the rule.
    Program(String),
    /// Arbitrary code, and the reason.
    AnyCode(String),
}

/// Tools whose rules are about shell commands.
const SHELL_TOOLS: [&str; 3] = ["Bash", "Terminal", "PowerShell"];

/// Returns what `Bash(specifier)` permits; without a specifier, any command.
pub fn meaning(specifier: Option<&str>) -> RuleMeaning {
    let any = |why: &str| RuleMeaning::AnyCode(why.to_owned());
    let specifier = specifier.map(str::trim).filter(|text| !matches!(*text, "*" | ":*"));
    let Some(specifier) = specifier else { return any("it allows any command") };
    let spread = specifier.strip_suffix(":*").map(|start| format!("{start} *"));
    let text = spread.as_deref().unwrap_or(specifier);
    let words: Vec<&str> = text.split_whitespace().collect();
    let has_star = text.contains('*');
    let Some((program, rest)) = words.split_first() else { return any("it allows any command") };
    if program.contains('*') {
        return any("its pattern matches any program");
    }
    let name = plain_name(program).unwrap_or(program);
    let known = || RuleMeaning::Program(name.to_owned());
    match find(program) {
        Some(found) if prints_version(program, rest) => {
            RuleMeaning::Program(found.names.first().copied().unwrap_or(name).to_owned())
        }
        Some(found) => match runs_code(found.kind, rest) {
            Some(how) => RuleMeaning::AnyCode(format!("`{program}` {how}")),
            None => known(),
        },
        None if has_star => any(&format!("`{program}` is not a program that openskills knows")),
        None => known(),
    }
}

/// Returns true for a launcher that is only asked for its version.
pub fn prints_version(program: &str, arguments: &[&str]) -> bool {
    let Some(name) = plain_name(program) else { return false };
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let [argument] = arguments else { return false };
    match interpreters::named(name).or_else(|| interpreters::named(base)) {
        Some(interpreter) => interpreter.version_flags.contains(argument),
        None => {
            let is_known = PRINT_VERSION.contains(&name) || PRINT_VERSION.contains(&base);
            is_known && *argument == "--version"
        }
    }
}

/// Returns how a program runs arbitrary code when it is called with arguments that start with `words`.
fn runs_code(kind: ProgramKind, words: &[&str]) -> Option<&'static str> {
    match kind {
        ProgramKind::Launcher(how) => Some(how),
        ProgramKind::Described(_) | ProgramKind::ChangesTrust(_) => None,
        ProgramKind::Commands(commands) => {
            let command = words.iter().position(|word| !word.starts_with('-'));
            let Some((name, rest)) = command.and_then(|at| words[at..].split_first()) else {
                return any_launcher(commands);
            };
            if name.contains('*') {
                return any_launcher(commands);
            }
            let known = commands.commands.iter().find(|command| command.names.contains(name));
            known.and_then(|command| runs_code(command.kind, rest))
        }
    }
}

/// Returns how one of several subcommands runs arbitrary code. A subcommand that is not described, such as `git
/// difftool`, needs approval each time, so it does not make a mostly described program a launcher.
fn any_launcher(commands: &Commands) -> Option<&'static str> {
    let launcher = |command: &super::Command| match command.kind {
        ProgramKind::Launcher(how) => Some(how),
        ProgramKind::Commands(_) | ProgramKind::Described(_) | ProgramKind::ChangesTrust(_) => None,
    };
    commands.commands.iter().find_map(launcher)
}

/// Returns the rules in a list that permit arbitrary code, each with the reason.
pub fn launcher_rules(tools: &AllowedTools) -> impl Iterator<Item = (String, String)> {
    tools.rules.iter().filter_map(|rule| match rule {
        ToolRule::Rule { tool, specifier } if SHELL_TOOLS.contains(&tool.as_str()) => {
            match meaning(specifier.as_deref()) {
                RuleMeaning::AnyCode(why) => Some((rule.to_string(), why)),
                RuleMeaning::Program(_) => None,
            }
        }
        ToolRule::Rule { .. } | ToolRule::Malformed(_) => None,
    })
}
