//! What rules that deny shell commands promise, and hold.
//!
//! `Bash(rm:*)` denies `rm` by any spelling: quoted, by a path, behind a wrapper, with its options in any order and form, and wherever a
//! program that starts others is given its name. What could run something that cannot be read here is denied if it is
//! text for a shell, and asked about otherwise: launchers, programs that are not known, and described programs in ways that are not described.

use shell::{Certainty, Line, Refusal, Word};
use skill::programs::{ProgramKind, Usage, find};

use super::forms::Form;
use super::programs::{
    Class, Locations, base_name, canonical_options, classify, is_shell, runs_others, takes_code,
    without_wrappers,
};
use super::{Decision, glob};

/// Returns what a rule takes away of a line.
pub(super) fn denies(
    specifier: &str,
    line: &Result<Line, Refusal>,
    at: &Locations<'_>,
) -> Option<Decision> {
    let Ok(line) = line else { return Some(Decision::Deny) };
    let rule = Denied::new(specifier);
    let commands = line.commands.iter().filter(|command| !command.words.is_empty());
    commands.filter_map(|command| rule.takes(&command.words, at)).min()
}

/// Returns true if a line may run something that is not read here.
pub(super) fn may_run_more(line: &Line, at: &Locations<'_>) -> bool {
    let commands = line.commands.iter().filter(|command| !command.words.is_empty());
    commands.into_iter().any(|command| {
        let words = without_wrappers(&command.words);
        match classify(words, at) {
            Class::Fits | Class::Reaches(_) | Class::ChangesTrust(_) => {
                runs_others(&words[0].text) || takes_code(words).is_some()
            }
            Class::Launcher(_) | Class::Undescribed(_) | Class::Unknown => true,
        }
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

    /// Returns what becomes of one command.
    fn takes(&self, words: &[Word], at: &Locations<'_>) -> Option<Decision> {
        let words = without_wrappers(words);
        let program = words[0].text.as_str();
        if runs_others(program) || is_shell(base_name(program)) || takes_code(words).is_some() {
            // What these run is not analyzed here.
            return Some(Decision::Deny);
        }
        if self.is(words, at) {
            return Some(Decision::Deny);
        }
        let names_it = || words[1..].iter().any(|word| self.stands_in(&word.text));
        match classify(words, at) {
            Class::Fits | Class::Reaches(_) | Class::ChangesTrust(_) => None,
            Class::Undescribed(_) | Class::Unknown => {
                Some(if names_it() { Decision::Deny } else { Decision::Ask })
            }
            Class::Launcher(_) => {
                // What a launcher starts may stand anywhere in it, and what is not known may be it.
                let is_sure = words.iter().all(|word| word.certainty == Certainty::Exact);
                let runs_text = words[1..].iter().any(|word| is_shell(base_name(&word.text)));
                let is_inside = (1..words.len()).any(|from| self.is(&words[from..], at));
                let is_it = !is_sure || runs_text || names_it() || is_inside;
                Some(if is_it { Decision::Deny } else { Decision::Ask })
            }
        }
    }

    /// Returns true if a command that begins here is what is denied.
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

    /// Returns true if a call has the wanted options and operands, by any name and in any order. A rule that names a program and no more
    /// is about every call of it or, without a `*`, about just that one.
    fn has_form(&self, words: &[Word], wanted: &[&str], at: &Locations<'_>) -> bool {
        let exact = |text: &&str| Word { text: (*text).to_owned(), certainty: Certainty::Exact };
        let rule: Vec<Word> =
            std::iter::once(exact(&self.program)).chain(wanted.iter().map(exact)).collect();
        let (Some(rule), Some(call)) = (Form::new(&rule), Form::new(words)) else { return false };
        !(self.is_exact && rule.is_bare()) && rule.denies(&call, at)
    }

    /// Returns true if options are the wanted ones, in any order and form: `-rf` is `-fr`, `-r -f` and `--recursive --force`.
    fn has_options(&self, wanted: &str, words: &[Word]) -> bool {
        if !wanted.starts_with('-') || wanted.len() < 2 {
            return false;
        }
        let usages = find(self.program).map_or_else(Vec::new, |program| usages(program.kind));
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let given = canonical_options(&usages, &texts);
        canonical_options(&usages, &[wanted]).iter().all(|option| given.contains(option))
    }

    /// Returns true if the program is named in a text that somebody may run.
    fn stands_in(&self, text: &str) -> bool {
        let mut parts =
            text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
        self.program.is_empty() || parts.any(|part| part == self.program)
    }
}

/// Returns every way to call a program or one of its commands.
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
