//! Classifies commands: matching their program's description, running code, or unknown.

mod effects;
mod remote;
mod sed;
mod shell_words;
mod walk;

use shell::{Certainty, Word};
use skill::programs::{Commands, ProgramKind, Usage, find};

pub(super) use effects::{Locations, OutputWrites, WriteMode, is_outside, steers};
pub(super) use shell_words::{is_shell, runs_others, takes_code, without_wrappers};
pub(super) use walk::{canonical_options, first_operand};

/// The class of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandClass {
    /// A known program, called as its description allows.
    Fits,
    /// A known program, called in a way that its description does not cover, with the reason.
    Undescribed(String),
    /// A known program that would write or send something that needs approval, with the reason.
    SensitiveAccess(String),
    /// A program that runs code from its arguments or from files, with an explanation.
    Launcher(String),
    /// A command that changes what the user trusts, with an explanation.
    ChangesTrust(String),
    /// A program without a description.
    Unknown,
}

/// Why a call does not match its program's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// A word that the description does not cover.
    Undescribed(String),
    /// A file or URL that needs approval.
    SensitiveAccess(String),
}

/// Classifies a command, given without its wrappers.
pub(super) fn classify(words: &[Word], at: &Locations<'_>) -> CommandClass {
    let (program, arguments) = (words[0].text.as_str(), &words[1..]);
    if program == "command" {
        // `command` runs its arguments, except with these options.
        let asks = matches!(arguments.first().map(|word| word.text.as_str()), Some("-v" | "-V"));
        let is_known = arguments.iter().all(|word| word.certainty == Certainty::Exact);
        let how = "runs the program passed to it".to_owned();
        return if asks && is_known { CommandClass::Fits } else { CommandClass::Launcher(how) };
    }
    // csk and openskills count under any path, because they change the same state.
    let name = base_name(program);
    let found = if is_own(name) { find(name) } else { find(program) };
    let Some(found) = found else { return CommandClass::Unknown };
    if skill::programs::prints_version(program, &plain(arguments)) {
        return CommandClass::Fits;
    }
    if matches!(name, "test" | "[") {
        // bash may evaluate brackets in words that expand.
        let is_plain = |word: &Word| word.certainty == Certainty::Exact && !word.text.contains('[');
        if let Some(word) = arguments.iter().find(|word| !is_plain(word)) {
            return CommandClass::Undescribed(format!(
                "bash may evaluate the expansion of `{}`",
                word.text
            ));
        }
    }
    let modern = old_letters(name, arguments);
    let arguments = modern.as_deref().unwrap_or(arguments);
    let class = of_kind(found.kind, arguments, &CommandContext { program: name, locations: at });
    match class {
        CommandClass::Launcher(_) if is_own(name) && grants(arguments) => {
            CommandClass::ChangesTrust("grants permissions that only the user may grant".to_owned())
        }
        other => other,
    }
}

/// Returns true for a program that never writes, however it is called.
pub(super) fn only_prints(program: &str) -> bool {
    find(program).is_some_and(|found| match found.kind {
        ProgramKind::Described(usages) => usages.iter().all(|usage| usage.only_prints),
        ProgramKind::Commands(_) | ProgramKind::Launcher(_) | ProgramKind::ChangesTrust(_) => false,
    })
}

/// Rewrites tar's old-style options: `tar xzf a` is `tar -xzf a`. Without a dash, the letters take their arguments in
/// order, which is equivalent only if just the last letter takes one.
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
    // `-?` is an option that no description contains.
    let text = if inner.contains(takes_one) { "-?".to_owned() } else { format!("-{letters}") };
    let first = Word { text, certainty: first.certainty };
    Some(std::iter::once(first).chain(rest.iter().cloned()).collect())
}

/// Returns true for csk and openskills.
pub(super) fn is_own(name: &str) -> bool {
    matches!(name, "csk" | "openskills")
}

/// Returns true if an option grants permissions.
fn grants(arguments: &[Word]) -> bool {
    let is_grant = |text: &str| {
        let name = text.split('=').next().unwrap_or(text);
        matches!(
            name,
            "--yes" | "-y" | "--net" | "--env" | "--read" | "--write" | "--deletions" | "--with"
        ) || ["--approve", "--allow", "--direct", "--no-sandbox"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    arguments.iter().any(|word| word.certainty != Certainty::Exact || is_grant(&word.text))
}

/// Returns the texts of the words, or nothing if one of them is not exact.
fn plain(words: &[Word]) -> Vec<&str> {
    let is_known = words.iter().all(|word| word.certainty == Certainty::Exact);
    if is_known { words.iter().map(|word| word.text.as_str()).collect() } else { Vec::new() }
}

/// The program being checked, and where its paths lead.
struct CommandContext<'a> {
    program: &'a str,
    locations: &'a Locations<'a>,
}

fn of_kind(kind: ProgramKind, arguments: &[Word], at: &CommandContext<'_>) -> CommandClass {
    match kind {
        ProgramKind::Launcher(how) => CommandClass::Launcher(how.to_owned()),
        ProgramKind::ChangesTrust(how) => CommandClass::ChangesTrust(how.to_owned()),
        ProgramKind::Described(usages) => of_usages(usages, arguments, at),
        ProgramKind::Commands(commands) => of_commands(commands, arguments, at),
    }
}

/// Checks a call against the usages of a program; one of them must match. Otherwise the first mismatch is reported.
fn of_usages(usages: &[Usage], arguments: &[Word], at: &CommandContext<'_>) -> CommandClass {
    let mut mismatch = None;
    for usage in usages {
        let fit = walk::walk(usage, arguments)
            .and_then(|fit| effects::check(&fit, at.program, at.locations));
        match fit {
            Ok(()) => return CommandClass::Fits,
            Err(first) => {
                mismatch.get_or_insert(first);
            }
        }
    }
    match mismatch {
        Some(Mismatch::Undescribed(why)) => CommandClass::Undescribed(why),
        Some(Mismatch::SensitiveAccess(what)) => CommandClass::SensitiveAccess(what),
        None => {
            CommandClass::Undescribed(format!("`{}` is called without a subcommand", at.program))
        }
    }
}

fn of_commands(
    commands: &'static Commands,
    arguments: &[Word],
    at: &CommandContext<'_>,
) -> CommandClass {
    let Some(position) = first_operand(commands.options, arguments) else {
        return of_usages(commands.bare, arguments, at);
    };
    let (word, rest) = (&arguments[position], &arguments[position + 1..]);
    if word.certainty != Certainty::Exact {
        return CommandClass::Undescribed(format!("`{}` may expand to any subcommand", word.text));
    }
    // Options before the subcommand have effects as well: `docker compose -f FILE ps`.
    let before = Usage { options: std::slice::from_ref(&commands.options), ..Usage::NOTHING };
    match of_usages(&[before], &arguments[..position], at) {
        CommandClass::Fits => {}
        other => return other,
    }
    match commands.commands.iter().find(|command| command.names.contains(&word.text.as_str())) {
        Some(command) => of_kind(command.kind, rest, at),
        None => {
            let why = format!("`{}` is not a known subcommand of `{}`", word.text, at.program);
            CommandClass::Undescribed(why)
        }
    }
}

/// Returns the last component of a path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
