//! What a command is: one that fits its description, one that runs code, or one that nobody knows.

mod effects;
mod remote;
mod sed;
mod shell_words;
mod walk;

use shell::{Certainty, Word};
use skill::programs::{Commands, ProgramKind, Usage, find};

pub(super) use effects::{Files, Locations, Written, is_outside, steers};
pub(super) use shell_words::{is_shell, runs_others, takes_code, without_wrappers};
pub(super) use walk::{canonical_options, first_operand};

/// What a command is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Class {
    /// A described program, and the call fits its description.
    Fits,
    /// A described program that is called in a way that is not described; why.
    Undescribed(String),
    /// A described program that would write or send something that it should not without a question; what.
    Reaches(String),
    /// It runs code that it is given or finds; how.
    Launcher(String),
    /// It changes what the user trusts; how.
    ChangesTrust(String),
    /// Nothing is known about it.
    Unknown,
}

/// Why a call does not fit a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// A word that the description does not know.
    Undescribed(String),
    /// A file or an address that should be asked about.
    Reaches(String),
}

/// Returns what a command is, without its wrappers.
pub(super) fn classify(words: &[Word], at: &Locations<'_>) -> Class {
    let (program, arguments) = (words[0].text.as_str(), &words[1..]);
    if program == "command" {
        // It runs what follows, but for these.
        let asks = matches!(arguments.first().map(|word| word.text.as_str()), Some("-v" | "-V"));
        let is_known = arguments.iter().all(|word| word.certainty == Certainty::Exact);
        let how = "runs the program that it is given".to_owned();
        return if asks && is_known { Class::Fits } else { Class::Launcher(how) };
    }
    // csk and openskills count wherever they are, since what they change is the same.
    let name = base_name(program);
    let found = if is_own(name) { find(name) } else { find(program) };
    let Some(found) = found else { return Class::Unknown };
    if skill::programs::prints_version(program, &plain(arguments)) {
        return Class::Fits;
    }
    if matches!(name, "test" | "[") {
        // Of what expands, bash may evaluate what stands in brackets.
        let is_plain = |word: &Word| word.certainty == Certainty::Exact && !word.text.contains('[');
        if let Some(word) = arguments.iter().find(|word| !is_plain(word)) {
            return Class::Undescribed(format!("bash may evaluate what `{}` becomes", word.text));
        }
    }
    let modern = old_letters(name, arguments);
    let arguments = modern.as_deref().unwrap_or(arguments);
    let class = of_kind(found.kind, arguments, &At { program: name, locations: at });
    match class {
        Class::Launcher(_) if is_own(name) && grants(arguments) => {
            Class::ChangesTrust("grants what the user should grant".to_owned())
        }
        other => other,
    }
}

/// Returns true for a program that writes nothing in any of the ways to call it.
pub(super) fn only_prints(program: &str) -> bool {
    find(program).is_some_and(|found| match found.kind {
        ProgramKind::Described(usages) => usages.iter().all(|usage| usage.only_prints),
        ProgramKind::Commands(_) | ProgramKind::Launcher(_) | ProgramKind::ChangesTrust(_) => false,
    })
}

/// tar takes its first word for options, with a dash or without: `tar xzf a`. Without one, letters take their arguments in order, which is the same
/// only if just the last of them takes one.
fn old_letters(program: &str, arguments: &[Word]) -> Option<Vec<Word>> {
    let (first, rest) = arguments.split_first()?;
    let letters = first.text.as_str();
    if !matches!(program, "tar" | "gtar") || letters.starts_with('-') {
        return None;
    }
    let takes_one = |c: char| {
        matches!(c, 'f' | 'C' | 'b' | 'X' | 'T' | 'V' | 'I' | 'K' | 'L' | 'N' | 'g' | 'H' | 'F')
    };
    let inner = &letters[..letters.len() - letters.chars().next_back().map_or(0, char::len_utf8)];
    // A letter that no description knows.
    let text = if inner.contains(takes_one) { "-?".to_owned() } else { format!("-{letters}") };
    let first = Word { text, certainty: first.certainty };
    Some(std::iter::once(first).chain(rest.iter().cloned()).collect())
}

/// Returns true for the names of our own programs.
pub(super) fn is_own(name: &str) -> bool {
    matches!(name, "csk" | "openskills")
}

/// Options by which a run grants itself something, however the rest is written.
fn grants(arguments: &[Word]) -> bool {
    let is_grant = |text: &str| {
        let name = text.split('=').next().unwrap_or(text);
        matches!(name, "--yes" | "-y" | "--net" | "--env" | "--read" | "--write" | "--deletions")
            || ["--approve", "--allow", "--direct", "--no-sandbox"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    arguments.iter().any(|word| word.certainty != Certainty::Exact || is_grant(&word.text))
}

/// The texts of words, or nothing where one of them is not known.
fn plain(words: &[Word]) -> Vec<&str> {
    let is_known = words.iter().all(|word| word.certainty == Certainty::Exact);
    if is_known { words.iter().map(|word| word.text.as_str()).collect() } else { Vec::new() }
}

/// What is judged.
struct At<'a> {
    program: &'a str,
    locations: &'a Locations<'a>,
}

fn of_kind(kind: ProgramKind, arguments: &[Word], at: &At<'_>) -> Class {
    match kind {
        ProgramKind::Launcher(how) => Class::Launcher(how.to_owned()),
        ProgramKind::ChangesTrust(how) => Class::ChangesTrust(how.to_owned()),
        ProgramKind::Described(usages) => of_usages(usages, arguments, at),
        ProgramKind::Commands(commands) => of_commands(commands, arguments, at),
    }
}

/// A call has to fit one of several ways to call a program. Of those that it does not fit the first says why.
fn of_usages(usages: &[Usage], arguments: &[Word], at: &At<'_>) -> Class {
    let mut doubt = None;
    for usage in usages {
        let fit = walk::walk(usage, arguments)
            .and_then(|fit| effects::check(&fit, at.program, at.locations));
        match fit {
            Ok(()) => return Class::Fits,
            Err(first) => {
                doubt.get_or_insert(first);
            }
        }
    }
    match doubt {
        Some(Doubt::Undescribed(why)) => Class::Undescribed(why),
        Some(Doubt::Reaches(what)) => Class::Reaches(what),
        None => Class::Undescribed(format!("`{}` without a command is not described", at.program)),
    }
}

fn of_commands(commands: &'static Commands, arguments: &[Word], at: &At<'_>) -> Class {
    let Some(position) = first_operand(commands.options, arguments) else {
        return of_usages(commands.bare, arguments, at);
    };
    let (word, rest) = (&arguments[position], &arguments[position + 1..]);
    if word.certainty != Certainty::Exact {
        return Class::Undescribed(format!("`{}` may become any command", word.text));
    }
    // What stands before the command has effects as well: `docker compose -f FILE ps`.
    let before = Usage { options: std::slice::from_ref(&commands.options), ..Usage::NOTHING };
    match of_usages(&[before], &arguments[..position], at) {
        Class::Fits => {}
        other => return other,
    }
    match commands.commands.iter().find(|command| command.names.contains(&word.text.as_str())) {
        Some(command) => of_kind(command.kind, rest, at),
        None => {
            let why = format!("`{}` is not a described command of `{}`", word.text, at.program);
            Class::Undescribed(why)
        }
    }
}

/// Returns the last part of a path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
