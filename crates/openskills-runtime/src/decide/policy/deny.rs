//! Deny rules for shell commands.
//!
//! `Bash(rm:*)` denies `rm` in any spelling: quoted, by path, behind a wrapper, with its options in any order and form,
//! and as an argument of a program that starts others. Anything that could run commands that cannot be analyzed here is
//! denied if it is text for a shell. Otherwise it needs approval: launchers, unknown programs, and unknown usages of
//! known programs.

use shell::{Certainty, Line, Refusal, Word};
use skill::programs::{ProgramKind, Usage, find};

use super::forms::NormalForm;
use super::programs::{
    CommandClass, Locations, base_name, canonical_options, classify, is_shell, runs_others,
    takes_code, without_wrappers,
};
use super::{Decision, glob};

/// Returns what a deny rule decides about a line; `None` if it does not apply.
pub(super) fn denies(
    specifier: &str,
    line: &Result<Line, Refusal>,
    at: &Locations<'_>,
) -> Option<Decision> {
    let Ok(line) = line else { return Some(Decision::Deny) };
    let rule = DenyRule::new(specifier);
    let commands = line.commands.iter().filter(|command| !command.words.is_empty());
    commands.filter_map(|command| rule.decision(&command.words, at)).min()
}

/// Returns true if a line may run something that cannot be analyzed here.
pub(super) fn may_run_more(line: &Line, at: &Locations<'_>) -> bool {
    let commands = line.commands.iter().filter(|command| !command.words.is_empty());
    commands.into_iter().any(|command| {
        let words = without_wrappers(&command.words);
        match classify(words, at) {
            CommandClass::Fits
            | CommandClass::SensitiveAccess(_)
            | CommandClass::ChangesTrust(_) => {
                runs_others(&words[0].text) || takes_code(words).is_some()
            }
            CommandClass::Launcher(_) | CommandClass::Undescribed(_) | CommandClass::Unknown => {
                true
            }
        }
    })
}

/// A parsed deny rule.
struct DenyRule<'a> {
    rule: &'a str,
    /// The program's name; empty if the rule names none.
    program: &'a str,
    /// The words after the program, if the rule has no `*` except at its end.
    words: Option<Vec<&'a str>>,
    /// Whether the rule matches only exactly these words.
    is_exact: bool,
}

impl<'a> DenyRule<'a> {
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

    /// Decides about one command.
    fn decision(&self, words: &[Word], at: &Locations<'_>) -> Option<Decision> {
        let words = without_wrappers(words);
        let program = words[0].text.as_str();
        if runs_others(program) || is_shell(base_name(program)) || takes_code(words).is_some() {
            // Their arguments are code, which is not analyzed here.
            return Some(Decision::Deny);
        }
        if self.is(words, at) {
            return Some(Decision::Deny);
        }
        let names_it = || words[1..].iter().any(|word| self.is_mentioned_in(&word.text));
        match classify(words, at) {
            CommandClass::Fits
            | CommandClass::SensitiveAccess(_)
            | CommandClass::ChangesTrust(_) => None,
            CommandClass::Undescribed(_) | CommandClass::Unknown => {
                Some(if names_it() { Decision::Deny } else { Decision::Ask })
            }
            CommandClass::Launcher(_) => {
                // The denied command may appear anywhere among a launcher's arguments, and an unknown word may expand
                // to it.
                let is_sure = words.iter().all(|word| word.certainty == Certainty::Exact);
                let runs_text = words[1..].iter().any(|word| is_shell(base_name(&word.text)));
                let is_inside = (1..words.len()).any(|from| self.is(&words[from..], at));
                let is_it = !is_sure || runs_text || names_it() || is_inside;
                Some(if is_it { Decision::Deny } else { Decision::Ask })
            }
        }
    }

    /// Returns true if the command starting at these words is denied.
    fn is(&self, words: &[Word], at: &Locations<'_>) -> bool {
        let name = base_name(&words[0].text);
        match &self.words {
            Some(wanted) => {
                name == self.program
                    && (self.has(&words[1..], wanted) || self.has_form(words, wanted, at))
            }
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

    /// Returns true if the wanted words appear in order, with only options and their values in between. An unknown word
    /// may expand to any of them.
    fn has(&self, words: &[Word], wanted: &[&str]) -> bool {
        let mut rest = wanted.iter().peekable();
        let mut may_be_value = false;
        for word in words {
            let Some(next) = rest.peek() else { break };
            let is_option = word.text.starts_with('-');
            if word.certainty == Certainty::Unknown
                || word.text == ***next
                || self.has_options(next, words)
            {
                rest.next();
                may_be_value = is_option;
            } else if is_option || may_be_value {
                may_be_value = is_option;
            } else {
                return false;
            }
        }
        let is_all = rest.all(|left| self.has_options(left, words));
        is_all && (!self.is_exact || words.len() == wanted.len())
    }

    /// Returns true if a call has the wanted options and operands, in any spelling and order. A rule that names only a
    /// program matches every call of it; without a `*` it matches only the bare call.
    fn has_form(&self, words: &[Word], wanted: &[&str], at: &Locations<'_>) -> bool {
        let exact = |text: &&str| Word { text: (*text).to_owned(), certainty: Certainty::Exact };
        let rule: Vec<Word> =
            std::iter::once(exact(&self.program)).chain(wanted.iter().map(exact)).collect();
        let (Some(rule), Some(call)) = (NormalForm::new(&rule), NormalForm::new(words)) else {
            return false;
        };
        !(self.is_exact && rule.is_bare()) && rule.denies(&call, at)
    }

    /// Returns true if the wanted options are present in any order and form: `-rf` is `-fr`, `-r -f` and `--recursive
    /// --force`.
    fn has_options(&self, wanted: &str, words: &[Word]) -> bool {
        if !wanted.starts_with('-') || wanted.len() < 2 {
            return false;
        }
        let usages = find(self.program).map_or_else(Vec::new, |program| usages(program.kind));
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let given = canonical_options(&usages, &texts);
        canonical_options(&usages, &[wanted]).iter().all(|option| given.contains(option))
    }

    /// Returns true if a text that may be executed mentions the program.
    fn is_mentioned_in(&self, text: &str) -> bool {
        let mut parts =
            text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
        self.program.is_empty() || parts.any(|part| part == self.program)
    }
}

/// Returns every usage of a program and its subcommands.
fn usages(kind: ProgramKind) -> Vec<Usage> {
    match kind {
        ProgramKind::Described(usages) => usages.to_vec(),
        ProgramKind::Commands(commands) => {
            let all = commands.commands.iter().flat_map(|command| usages(command.kind));
            commands.bare.iter().copied().chain(all).collect()
        }
        ProgramKind::Launcher(_) | ProgramKind::ChangesTrust(_) => Vec::new(),
    }
}
