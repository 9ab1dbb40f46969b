//! Whether rules such as `Bash(git:*)` match a command line. Lines are taken apart by a grammar, never by their text.

use shell::{Certainty, Command, Word, read};

use super::programs::{Doubt, doubt, is_only_exact, is_shell, runs_others, without_wrappers};
use super::{Decision, Verdict};

/// Variables that no program runs anything for.
const SAFE_VARIABLES: [&str; 9] =
    ["CI", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "TERM", "TZ"];

/// Returns what rules make of a line: every part of it must match by itself.
pub(super) fn allows(specifiers: &[&str], command: &str, may_write: impl Fn() -> bool) -> Verdict {
    let line = match read(command) {
        Ok(line) => line,
        Err(refusal) => {
            let reason = format!("it cannot be said for sure what would run: {refusal}");
            return Verdict::new(Decision::Deny, reason);
        }
    };
    let verdicts = line.commands.iter().map(|command| one(specifiers, command, &may_write));
    let first = Verdict::new(Decision::Allow, "every part of it is allowed");
    verdicts.fold(first, Verdict::stricter)
}

fn one(specifiers: &[&str], command: &Command, may_write: &impl Fn() -> bool) -> Verdict {
    let deny = |reason: String| Verdict::new(Decision::Deny, reason);
    for redirect in command.redirects.iter().filter(|redirect| !redirect.is_copy) {
        let target = &redirect.target;
        let is_known = target.certainty == Certainty::Exact;
        let is_harmless = is_known && target.text == "/dev/null";
        let may_be_opened = is_harmless || (is_known && !redirect.is_read && may_write());
        if !may_be_opened {
            return deny(format!("no rule lets the file `{}` be opened", target.text));
        }
    }
    for assignment in &command.assignments {
        let is_safe = SAFE_VARIABLES.contains(&assignment.name.as_str())
            || assignment.name.starts_with("LC_");
        if !is_safe || assignment.value.certainty != Certainty::Exact {
            return deny(format!("the variable `{}` is set", assignment.name));
        }
    }
    if command.words.is_empty() {
        // A variable that is set for nobody stays for the rest of the line.
        if let Some(assignment) = command.assignments.first() {
            return deny(format!("the variable `{}` is set", assignment.name));
        }
        return Verdict::new(Decision::Allow, "it starts nothing");
    }
    let words = without_wrappers(&command.words);
    let forms = [command.words.as_slice(), words];
    if specifiers.iter().any(|rule| forms.iter().any(|words| is_exactly(rule, words))) {
        return Verdict::new(Decision::Allow, format!("`{}` is allowed", command.text));
    }
    let program = &words[0].text;
    if runs_others(program) || is_only_exact(words) {
        return deny(format!("`{program}` runs other programs, so only an exact rule allows it"));
    }
    let Some(rule) = specifiers.iter().find(|rule| is_like(rule, words)) else {
        return deny(format!("no rule allows `{}`", command.text));
    };
    match doubt(words) {
        Doubt::None => Verdict::new(Decision::Allow, format!("`Bash({rule})` allows it")),
        Doubt::Runs(option) => {
            let reason = format!("`{program}` can run other programs by `{option}`");
            Verdict::new(Decision::Ask, reason)
        }
        Doubt::Unknown(word) => {
            let reason = format!("`{word}` may become an option of `{program}`");
            Verdict::new(Decision::Ask, reason)
        }
    }
}

/// Returns true if a line writes a file, or nothing can be said for sure.
pub(super) fn writes(command: &str) -> bool {
    let Ok(line) = read(command) else { return true };
    let mut redirects = line.commands.iter().flat_map(|command| &command.redirects);
    redirects.any(|file| !file.is_copy && !file.is_read && file.target.text != "/dev/null")
}

/// Returns true if a rule takes a line away: any part of it matches, wherever in a command it begins and by whatever path
/// the program is called, or nothing can be said for sure. `sudo rm` and `/bin/rm` are `rm`.
pub(super) fn denies(specifier: &str, command: &str) -> bool {
    let Ok(line) = read(command) else { return true };
    line.commands.iter().filter(|command| !command.words.is_empty()).any(|command| {
        let program = base_name(&command.words[0].text);
        let is_sure = command.words.iter().all(|word| word.certainty == Certainty::Exact);
        let is_it = |at: usize| {
            let words = called_by_name(&command.words[at..]);
            is_exactly(specifier, &words) || is_like(specifier, &words)
        };
        // A word that may become anything may become what is denied, and a shell runs what nobody reads here.
        (0..command.words.len()).any(is_it)
            || (!is_sure && may_be_like(specifier, &command.words))
            || runs_others(program)
            || is_shell(program)
    })
}

/// Returns a command with its program by name alone.
fn called_by_name(words: &[Word]) -> Vec<Word> {
    let mut words = words.to_vec();
    if let Some(first) = words.first_mut() {
        first.text = base_name(&first.text).to_owned();
    }
    words
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns the words of a rule without a `*`, if it is one.
fn is_exactly(rule: &str, words: &[Word]) -> bool {
    if rule.contains('*') {
        return false;
    }
    let wanted: Vec<&str> = rule.split_whitespace().collect();
    wanted.len() == words.len()
        && words
            .iter()
            .zip(wanted)
            .all(|(word, wanted)| word.certainty == Certainty::Exact && word.text == wanted)
}

/// Matches a rule with a `*`. At its end, after a blank or a colon, it stands for any arguments or none; elsewhere for any
/// characters.
fn is_like(rule: &str, words: &[Word]) -> bool {
    let rule = rule.strip_suffix(":*").map_or_else(|| rule.to_owned(), |rule| format!("{rule} *"));
    if let Some(start) = rule.strip_suffix(" *").filter(|start| !start.contains('*')) {
        let wanted: Vec<&str> = start.split_whitespace().collect();
        let is_same = |(word, wanted): (&Word, &str)| {
            word.certainty == Certainty::Exact && word.text == wanted
        };
        return !wanted.is_empty()
            && wanted.len() <= words.len()
            && words.iter().zip(wanted).all(is_same);
    }
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    match rule.strip_suffix(" *") {
        Some(start) => glob(start, &text) || glob(&format!("{start} *"), &text),
        None => rule.contains('*') && glob(&rule, &text),
    }
}

/// Returns true if words that are not known could become what a rule names.
fn may_be_like(rule: &str, words: &[Word]) -> bool {
    let program = rule.split([' ', ':', '*']).next().unwrap_or_default();
    words.iter().any(|word| {
        program.is_empty()
            || base_name(&word.text) == program
            || word.certainty == Certainty::Unknown
    })
}

/// `*` stands for any characters, blanks too.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    let mut rest = rest;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}
