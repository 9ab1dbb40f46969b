//! Whether rules such as `Bash(git:*)` match a command line. Lines are taken apart by a grammar, never by their text.

use shell::{Certainty, Command, Line, Redirect, Refusal, Word};

use super::programs::{
    Doubt, doubt, is_launcher, is_only_exact, is_shell, runs_others, takes_code, without_wrappers,
};
use super::{Decision, Verdict, glob};

/// Variables that no program runs anything for, as long as they name no file.
const SAFE_VARIABLES: [&str; 9] =
    ["CI", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "TERM", "TZ"];

/// Returns what rules make of a line: every part of it must match by itself.
pub(super) fn allows(
    specifiers: &[&str],
    line: &Result<Line, Refusal>,
    may_write: impl Fn() -> bool,
) -> Verdict {
    let line = match line {
        Ok(line) => line,
        Err(refusal) => {
            let reason = format!("it cannot be said for sure what would run: {refusal}");
            return Verdict::new(Decision::Deny, reason);
        }
    };
    let moves = |command: &Command| {
        let program = command.words.first().map(|word| word.text.as_str());
        matches!(program, Some("cd" | "pushd" | "popd"))
    };
    let is_moved = line.commands.iter().any(moves);
    let verdicts = line.commands.iter().map(|command| {
        let verdict = one(specifiers, command, &may_write);
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

/// Returns the files that a line opens, but for the one that is nowhere.
pub(super) fn opens(line: &Line) -> impl Iterator<Item = &Redirect> {
    let redirects = line.commands.iter().flat_map(|command| &command.redirects);
    redirects.filter(|file| !file.is_copy && file.target.text != "/dev/null")
}

/// Returns true if a rule takes a line away: any part of it matches, wherever in a command it begins and by whatever path
/// the program is called, or nothing can be said for sure. `sudo rm` and `/bin/rm` are `rm`.
pub(super) fn denies(specifier: &str, line: &Result<Line, Refusal>) -> bool {
    let Ok(line) = line else { return true };
    let rule = Denied::new(specifier);
    line.commands.iter().filter(|command| !command.words.is_empty()).any(|command| {
        let words = &command.words;
        let names = || words.iter().map(|word| base_name(&word.text));
        let is_sure = words.iter().all(|word| word.certainty == Certainty::Exact);
        let runs_text = names().any(|name| is_shell(name) || runs_others(name));
        let launches = names().any(is_launcher);
        // A word that may become anything may become what is denied, and a shell runs what nobody reads here.
        runs_text
            || (launches && (!is_sure || words.iter().any(|word| rule.stands_in(&word.text))))
            || takes_code(words).is_some()
            || (!is_sure && rule.may_be(words))
            || (0..words.len()).any(|at| rule.is(&words[at..]))
    })
}

/// A rule that denies, in the ways in which its program may be named.
struct Denied<'a> {
    rule: &'a str,
    /// The rule with its program by name alone.
    by_name: String,
    /// The program's name; empty if the rule does not say.
    program: String,
}

impl<'a> Denied<'a> {
    fn new(rule: &'a str) -> Self {
        let end = rule.find([' ', ':', '*']).unwrap_or(rule.len());
        let program = base_name(&rule[..end]).to_owned();
        Self { rule, by_name: format!("{program}{}", &rule[end..]), program }
    }

    /// Returns true if a command that begins here is what is denied.
    fn is(&self, words: &[Word]) -> bool {
        let name = base_name(&words[0].text);
        if !self.program.is_empty() && name != self.program && !self.rule.contains('*') {
            return false;
        }
        // Most words are not it; only what may be is looked at closely.
        if !self.program.is_empty() && !name.starts_with(&self.program) {
            return false;
        }
        let mut named = words.to_vec();
        named[0].text = name.to_owned();
        // Options before a word such as `push` do not make it another one.
        let plain: Vec<Word> = named
            .iter()
            .enumerate()
            .filter(|(at, word)| *at == 0 || !word.text.starts_with('-'))
            .map(|(_, word)| word.clone())
            .collect();
        let without_values: Vec<Word> = plain
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != 1 || plain.len() < 3)
            .map(|(_, word)| word.clone())
            .collect();
        let matches = |words: &[Word]| {
            [self.rule, self.by_name.as_str()]
                .iter()
                .any(|rule| is_exactly(rule, words) || is_like(rule, words))
        };
        matches(words) || matches(&named) || matches(&plain) || matches(&without_values)
    }

    /// Returns true if words that are not known could become what is denied.
    fn may_be(&self, words: &[Word]) -> bool {
        words.iter().any(|word| {
            self.program.is_empty()
                || base_name(&word.text) == self.program
                || word.certainty == Certainty::Unknown
        })
    }

    /// Returns true if the program is named in a text that somebody may run.
    fn stands_in(&self, text: &str) -> bool {
        let mut parts =
            text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
        self.program.is_empty() || parts.any(|part| part == self.program)
    }
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
