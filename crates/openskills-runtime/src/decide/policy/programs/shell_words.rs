//! Shell builtins, and programs that only wrap others.

use shell::{Certainty, Word};
use skill::interpreters::{self, InterpreterLanguage};

/// Wrappers that only start the rest of the line.
const WRAPPERS: [&str; 5] = ["nice", "nohup", "stdbuf", "time", "timeout"];
/// Builtins that run their arguments or change what later words mean; see bash(1), SHELL BUILTIN COMMANDS.
const RUNNERS: [&str; 33] = [
    ".",
    "alias",
    "bind",
    "builtin",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "declare",
    "dirs",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "getopts",
    "hash",
    "history",
    "jobs",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "trap",
    "typeset",
    "ulimit",
    "unalias",
    "unset",
];
/// Builtins that evaluate names in their arguments, including `a[$(x)]`.
const EVALUATORS: [&str; 4] = ["[", "printf", "test", "wait"];
/// Returns true for builtins that run their arguments.
pub(in crate::decide::policy) fn runs_others(program: &str) -> bool {
    RUNNERS.contains(&program)
}

/// Returns true for shells.
pub(in crate::decide::policy) fn is_shell(program: &str) -> bool {
    interpreters::named(program).is_some_and(|interpreter| match interpreter.language {
        InterpreterLanguage::Shell
        | InterpreterLanguage::PowerShell
        | InterpreterLanguage::Batch => true,
        InterpreterLanguage::Python
        | InterpreterLanguage::JavaScript
        | InterpreterLanguage::Awk
        | InterpreterLanguage::Other => false,
    })
}

/// Returns the argument that bash itself would evaluate as code, if there is one.
pub(in crate::decide::policy) fn takes_code(words: &[Word]) -> Option<&str> {
    let program = words.first()?.text.as_str();
    if !EVALUATORS.contains(&program) {
        return None;
    }
    let is_code = |word: &&Word| {
        word.text.contains('[')
            && (word.text.contains(['$', '`']) || word.certainty != Certainty::Exact)
    };
    let format = words[1..].iter().find(|word| word.text != "--");
    let sets = format.filter(|word| program == "printf" && sets_a_variable(word));
    sets.or_else(|| words[1..].iter().find(is_code)).map(|word| word.text.as_str())
}

/// Returns true for a `printf` format that may contain `%n`, with which bash sets the variable named by an argument.
fn sets_a_variable(format: &Word) -> bool {
    let mut rest = format.text.as_str();
    while let Some((_, after)) = rest.split_once('%') {
        let conversion =
            after.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.*lhjztLq".contains(c));
        if conversion.starts_with('n') {
            return true;
        }
        rest = after.strip_prefix('%').unwrap_or(after);
    }
    format.certainty != Certainty::Exact
}

/// Strips wrappers from a command. A wrapper with unknown options is not stripped.
pub(in crate::decide::policy) fn without_wrappers(words: &[Word]) -> &[Word] {
    let mut rest = words;
    while let [first, after @ ..] = rest {
        if !WRAPPERS.contains(&first.text.as_str()) {
            return rest;
        }
        let Some(inner) = unwrapped(&first.text, after) else { return rest };
        rest = inner;
    }
    words
}

fn unwrapped<'a>(wrapper: &str, words: &'a [Word]) -> Option<&'a [Word]> {
    let is_number = |text: &str| {
        let digits = text.trim_end_matches(['s', 'm', 'h', 'd']);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let mut rest = words;
    let mut needs_time = wrapper == "timeout";
    loop {
        let (word, after) = rest.split_first()?;
        if word.certainty != Certainty::Exact {
            return None;
        }
        match (wrapper, word.text.as_str()) {
            ("time", "-p") | ("timeout", "--foreground" | "--preserve-status" | "-v") => {
                rest = after;
            }
            ("nice", "-n") => {
                let (number, after) = after.split_first()?;
                is_number(number.text.trim_start_matches('-')).then_some(())?;
                rest = after;
            }
            ("stdbuf", option)
                if ["-i", "-o", "-e"]
                    .iter()
                    .any(|name| option.len() > 2 && option.starts_with(name)) =>
            {
                rest = after;
            }
            (_, option) if option.starts_with('-') => return None,
            ("timeout", time) if needs_time => {
                is_number(time).then_some(())?;
                needs_time = false;
                rest = after;
            }
            _ => return Some(rest),
        }
    }
}
