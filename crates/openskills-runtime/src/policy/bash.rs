//! Whether rules such as `Bash(git:*)` match a command line. Lines are taken apart by a grammar, never by their text.

use shell::{Certainty, Command, Line, Redirect, Refusal, Word};

use super::programs::{
    Doubt, doubt, is_launcher, is_only_exact, is_shell, runs_others, takes_code, without_wrappers,
};
use super::{Decision, Verdict, glob};

/// Variables that no program runs anything for, as long as they name no file.
const SAFE_VARIABLES: [&str; 12] = [
    "CARGO_TERM_COLOR",
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TZ",
];

/// Returns what rules make of a line: every part of it must match by itself.
pub(super) fn allows(
    specifiers: &[&str],
    line: &Result<Line, Refusal>,
    may_open: impl Fn(&Redirect) -> bool,
    is_there: impl Fn(&str) -> bool,
) -> Verdict {
    let line = match line {
        Ok(line) => line,
        Err(refusal) => {
            let reason = format!("it cannot be said for sure what would run: {refusal}");
            return Verdict::new(Decision::Deny, reason);
        }
    };
    let is_moved = moves(line);
    let verdicts = line.commands.iter().map(|command| {
        let verdict = one(specifiers, command, &may_open, &is_there);
        let is_git = command.words.iter().any(|word| base_name(&word.text) == "git");
        if is_moved && is_git {
            // Another folder is another configuration of git, which can name programs.
            let reason = "git in another folder does what that folder's configuration says";
            return verdict.stricter(Verdict::new(Decision::Ask, reason));
        }
        verdict
    });
    let first = Verdict::new(Decision::Allow, "every part of it is allowed");
    verdicts.fold(first, Verdict::stricter)
}

/// Returns true if a line goes to another folder.
pub(super) fn moves(line: &Line) -> bool {
    line.commands.iter().any(|command| {
        let program = without_wrappers(&command.words).first().map(|word| word.text.as_str());
        matches!(program, Some("cd" | "pushd" | "popd"))
    })
}

fn one(
    specifiers: &[&str],
    command: &Command,
    may_open: &impl Fn(&Redirect) -> bool,
    is_there: &impl Fn(&str) -> bool,
) -> Verdict {
    let deny = |reason: String| Verdict::new(Decision::Deny, reason);
    for redirect in command.redirects.iter().filter(|redirect| !redirect.is_copy) {
        let target = &redirect.target;
        let is_known = target.certainty == Certainty::Exact;
        let is_harmless = is_known && target.text == "/dev/null";
        let may_be_opened = is_harmless || (is_known && may_open(redirect));
        if !may_be_opened {
            return deny(format!("no rule lets the file `{}` be opened", target.text));
        }
    }
    for assignment in &command.assignments {
        let is_safe = SAFE_VARIABLES.contains(&assignment.name.as_str())
            || assignment.name.starts_with("LC_");
        let is_plain =
            assignment.value.certainty == Certainty::Exact && !assignment.value.text.contains('/');
        if !is_safe || !is_plain {
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
    if let Some(word) = takes_code(words) {
        return deny(format!("the shell may run what stands in `{word}`"));
    }
    let Some(rule) = specifiers.iter().find(|rule| is_like(rule, words)) else {
        return deny(format!("no rule allows `{}`", command.text));
    };
    if rule.starts_with('*') && is_shell(base_name(program)) {
        return Verdict::new(Decision::Ask, format!("`{program}` runs what it is given"));
    }
    match doubt(words, is_there) {
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

/// Returns the files that a line opens, but for the one that is nowhere.
pub(super) fn opens(line: &Line) -> impl Iterator<Item = &Redirect> {
    let redirects = line.commands.iter().flat_map(|command| &command.redirects);
    redirects.filter(|file| !file.is_copy && file.target.text != "/dev/null")
}

/// Returns true if a rule takes a line away: any command of it is what the rule names, by whatever path the program is called and
/// whatever wraps it, or nothing can be said for sure. `sudo rm` and `/bin/rm` are `rm`.
pub(super) fn denies(specifier: &str, line: &Result<Line, Refusal>) -> bool {
    let Ok(line) = line else { return true };
    let rule = Denied::new(specifier);
    line.commands.iter().filter(|command| !command.words.is_empty()).any(|command| {
        let words = without_wrappers(&command.words);
        let program = words[0].text.as_str();
        if runs_others(program) || is_shell(base_name(program)) || takes_code(words).is_some() {
            // What these run nobody reads here.
            return true;
        }
        if !is_launcher(base_name(program)) {
            // One that runs others only by an option is as good as what the option says.
            let names_it = || words[1..].iter().any(|word| rule.stands_in(&word.text));
            return rule.is(words) || (doubt(words, |_| false) != Doubt::None && names_it());
        }
        // What a launcher starts may stand anywhere in it, and what is not known may be it.
        let is_sure = words.iter().all(|word| word.certainty == Certainty::Exact);
        let runs_text = words[1..].iter().any(|word| is_shell(base_name(&word.text)));
        !is_sure
            || runs_text
            || words[1..].iter().any(|word| rule.stands_in(&word.text))
            || (0..words.len()).any(|at| rule.is(&words[at..]))
    })
}

/// A rule that denies.
struct Denied<'a> {
    rule: &'a str,
    /// The program's name; empty if the rule does not say.
    program: &'a str,
    /// The words after the program, where the rule has no `*` but at its end.
    words: Option<Vec<&'a str>>,
    /// Whether nothing else may follow.
    is_exact: bool,
}

impl<'a> Denied<'a> {
    fn new(rule: &'a str) -> Self {
        let start = rule.strip_suffix(":*").or_else(|| rule.strip_suffix(" *"));
        let plain = start.unwrap_or(rule);
        let mut words = plain.split_whitespace();
        let program = base_name(words.next().unwrap_or_default());
        let is_plain = !plain.contains('*') && !program.is_empty();
        let program =
            if is_plain { program } else { program.split('*').next().unwrap_or_default() };
        let words = is_plain.then(|| words.collect());
        Self { rule, program, words, is_exact: start.is_none() }
    }

    /// Returns true if a command that begins here is what is denied.
    fn is(&self, words: &[Word]) -> bool {
        let name = base_name(&words[0].text);
        match &self.words {
            Some(wanted) => name == self.program && self.has(&words[1..], wanted),
            None if !name.starts_with(self.program) => false,
            None => {
                let rest = words[1..].iter().map(|word| word.text.as_str());
                let text = std::iter::once(name).chain(rest).collect::<Vec<_>>().join(" ");
                let own = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
                let rule = self.rule.strip_suffix(":*").unwrap_or(self.rule);
                let longer = format!("{rule} *");
                [rule, &longer].iter().any(|rule| glob(rule, &text) || glob(rule, &own))
            }
        }
    }

    /// Returns true if the wanted words stand in their order, with nothing but options and their values between. A word that is
    /// not known may be the one.
    fn has(&self, words: &[Word], wanted: &[&str]) -> bool {
        let mut rest = wanted.iter().peekable();
        let mut may_be_value = false;
        for word in words {
            let Some(next) = rest.peek() else { break };
            let is_option = word.text.starts_with('-');
            if word.certainty == Certainty::Unknown
                || word.text == ***next
                || is_cluster(&word.text, next, words)
            {
                rest.next();
                may_be_value = is_option;
            } else if is_option || may_be_value {
                may_be_value = is_option;
            } else {
                return false;
            }
        }
        let is_all = rest.all(|left| words.iter().any(|word| is_cluster(&word.text, left, words)));
        is_all && (!self.is_exact || words.len() == wanted.len())
    }

    /// Returns true if the program is named in a text that somebody may run.
    fn stands_in(&self, text: &str) -> bool {
        let mut parts =
            text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
        self.program.is_empty() || parts.any(|part| part == self.program)
    }
}

/// Returns true if short options are the wanted ones, in any order and however they are split up: `-rf` is `-fr` and `-r -f`.
fn is_cluster(text: &str, wanted: &str, words: &[Word]) -> bool {
    let letters = |text: &str| {
        text.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && !rest.is_empty())
    };
    let has =
        |letter: char| words.iter().any(|word| letters(&word.text) && word.text.contains(letter));
    letters(text) && letters(wanted) && wanted.chars().skip(1).all(has)
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns true if a rule without a `*` is this command.
fn is_exactly(rule: &str, words: &[Word]) -> bool {
    if rule.contains('*') {
        return false;
    }
    let wanted: Vec<&str> = rule.split_whitespace().collect();
    wanted.len() == words.len() && start_with(words, &wanted)
}

/// Returns true if a command starts with exactly these words.
fn start_with(words: &[Word], wanted: &[&str]) -> bool {
    wanted.len() <= words.len()
        && words
            .iter()
            .zip(wanted)
            .all(|(word, wanted)| word.certainty == Certainty::Exact && word.text == *wanted)
}

/// Matches a rule with a `*`. At its end, after a blank or a colon, it stands for any arguments or none; elsewhere for any
/// characters.
fn is_like(rule: &str, words: &[Word]) -> bool {
    let rule = rule.strip_suffix(":*").map_or_else(|| rule.to_owned(), |rule| format!("{rule} *"));
    if let Some(start) = rule.strip_suffix(" *").filter(|start| !start.contains('*')) {
        let wanted: Vec<&str> = start.split_whitespace().collect();
        return !wanted.is_empty() && start_with(words, &wanted);
    }
    // A word with a blank in it would look like two.
    if !rule.contains('*') || words.iter().any(|word| word.text.contains(char::is_whitespace)) {
        return false;
    }
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    match rule.strip_suffix(" *") {
        Some(start) => glob(start, &text) || glob(&format!("{start} *"), &text),
        None => glob(&rule, &text),
    }
}
