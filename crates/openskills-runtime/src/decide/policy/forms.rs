//! Normalizes calls: the subcommand, each option under one name, and the operands.
//!
//! Deny rules are compared in this form. Words that the program's description does not cover stay as written.

use shell::{Certainty, Word};
use skill::programs::{Arity, OptionUsage, ProgramKind, Usage, find};

use super::path::plain;
use super::programs::{Locations, base_name, first_operand};

/// A normalized call.
#[derive(Debug, Default)]
pub(super) struct NormalForm {
    /// Subcommands, such as `push` of git.
    commands: Vec<String>,
    /// Options, each with its argument if it has one.
    options: Vec<(String, Option<Word>)>,
    operands: Vec<Word>,
    /// Whether a word may expand to any other words.
    is_open: bool,
}

/// Git commands with two names.
const SAME_COMMANDS: [(&str, &str); 2] = [("stage", "add"), ("annotate", "blame")];

impl NormalForm {
    /// Normalizes the words of a call; `None` for a program without a description.
    pub(super) fn new(words: &[Word]) -> Option<Self> {
        let (program, mut rest) = words.split_first()?;
        let program = base_name(&program.text);
        let mut form = Self::default();
        let mut kind = find(program)?.kind;
        let usages = loop {
            match kind {
                ProgramKind::Described(usages) => break usages,
                ProgramKind::Launcher(_) | ProgramKind::ChangesTrust(_) => return None,
                ProgramKind::Commands(commands) => {
                    let Some(at) = first_operand(commands.options, rest) else {
                        break commands.bare;
                    };
                    let (word, after) = (&rest[at], &rest[at + 1..]);
                    let found = commands
                        .commands
                        .iter()
                        .find(|command| command.names.contains(&word.text.as_str()));
                    // `git stash -u` has no further subcommand.
                    let Some(found) = found else { break commands.bare };
                    form.commands.push(word.text.clone());
                    (kind, rest) = (found.kind, after);
                }
            }
        };
        form.read(program, usages, rest);
        form.complete(program);
        Some(form)
    }

    fn read(&mut self, program: &str, usages: &[Usage], words: &[Word]) {
        let options: Vec<OptionUsage> = usages.iter().flat_map(Usage::all_options).collect();
        let mut rest = words.iter();
        if matches!(program, "tar" | "gtar")
            && let Some((first, after)) = words.split_first()
            && !first.text.starts_with('-')
        {
            // Letters without a dash; their arguments follow in order.
            let names = first.text.chars().map(|letter| known(&options, &format!("-{letter}")));
            self.options.extend(names.map(|name| (name, None)));
            rest = after.iter();
        }
        let mut is_over = false;
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if word.certainty == Certainty::Unknown {
                self.is_open = true;
            } else if is_over || text.len() < 2 || !text.starts_with('-') {
                self.operands.push(word.clone());
            } else if text == "--" {
                is_over = true;
            } else {
                self.option(&options, word, &mut rest);
            }
        }
    }

    fn option(
        &mut self,
        options: &[OptionUsage],
        word: &Word,
        rest: &mut std::slice::Iter<'_, Word>,
    ) {
        let text = word.text.as_str();
        let by_name = |name: &str| options.iter().find(|option| option.names.contains(&name));
        let part = |text: &str| Word { text: text.to_owned(), certainty: word.certainty };
        let (name, joined) = match text.split_once('=') {
            Some((name, joined)) if text.starts_with("--") => (name, Some(part(joined))),
            _ => (text, None),
        };
        if text.starts_with("--") || by_name(text).is_some() {
            let takes_one =
                by_name(name).is_some_and(|found| matches!(found.arity, Arity::Required(_)));
            let value = joined.or_else(|| takes_one.then(|| rest.next().cloned()).flatten());
            self.options.push((known(options, name), value));
            return;
        }
        for (at, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let joined = &text[at + letter.len_utf8()..];
            let takes = by_name(&name).map(|found| &found.arity);
            let value = match takes {
                Some(Arity::Required(_)) if joined.is_empty() => rest.next().cloned(),
                Some(Arity::Required(_) | Arity::Optional(_)) => {
                    (!joined.is_empty()).then(|| part(joined))
                }
                Some(Arity::Flag) | None => None,
            };
            let is_last = matches!(takes, Some(Arity::Required(_) | Arity::Optional(_)));
            self.options.push((known(options, &name), value));
            if is_last {
                return;
            }
        }
    }

    /// Adds the options that other git options or operands imply.
    fn complete(&mut self, program: &str) {
        if program != "git" {
            return;
        }
        for command in &mut self.commands {
            if let Some((_, same)) = SAME_COMMANDS.iter().find(|(name, _)| name == command) {
                *command = (*same).to_owned();
            }
        }
        // `git remote rm` is `remove`; `git rm` is another command.
        if let [first, second] = self.commands.as_mut_slice()
            && first == "remote"
            && second == "rm"
        {
            *second = "remove".to_owned();
        }
        let command = self.commands.first().map(String::as_str);
        let has = |options: &[(String, Option<Word>)], name: &str| {
            options.iter().any(|(known, _)| known == name)
        };
        let mut more: Vec<&str> = Vec::new();
        match command {
            Some("branch") => {
                for (strong, weak) in [("-D", "-d"), ("-M", "-m"), ("-C", "-c")] {
                    if has(&self.options, strong) {
                        more.extend([weak, "-f"]);
                    }
                    if has(&self.options, weak) && has(&self.options, "-f") {
                        more.push(strong);
                    }
                }
            }
            Some("push") => {
                if self.operands.iter().any(|word| word.text.starts_with('+')) {
                    more.push("-f");
                }
                if self.operands.iter().any(|word| word.text.starts_with(':')) {
                    more.push("-d");
                }
                if has(&self.options, "--mirror") {
                    more.push("-f");
                }
                // These push every branch, or all branches that exist on both sides.
                let pushes_all = ["--all", "--branches", "--mirror"];
                let is_all = pushes_all.iter().any(|name| has(&self.options, name));
                if is_all
                    || self.operands.iter().any(|word| matches!(word.text.as_str(), ":" | "+:"))
                {
                    let text = "refs/heads/*".to_owned();
                    self.operands.push(Word { text, certainty: Certainty::Exact });
                }
            }
            _ => {}
        }
        self.options.extend(more.into_iter().map(|name| (name.to_owned(), None)));
    }

    /// Returns true if this rule denies a call: the call has the rule's subcommand, options and operands, in any order.
    pub(super) fn denies(&self, call: &Self, at: &Locations<'_>) -> bool {
        let is_command = call.commands.starts_with(&self.commands);
        let is_option = |(name, value): &(String, Option<Word>)| {
            call.options.iter().any(|(given, has)| {
                given == name
                    && value
                        .as_ref()
                        .is_none_or(|value| has.as_ref().is_none_or(|has| is_same(value, has, at)))
            })
        };
        let is_operand = |wanted: &Word| call.operands.iter().any(|word| is_same(wanted, word, at));
        is_command
            && (call.is_open
                || (self.options.iter().all(is_option) && self.operands.iter().all(is_operand)))
    }

    /// Returns true for a rule that names only a program and its subcommand.
    pub(super) fn is_bare(&self) -> bool {
        self.options.is_empty() && self.operands.is_empty()
    }
}

/// Returns the primary name of an option.
fn known(options: &[OptionUsage], name: &str) -> String {
    let found = options.iter().find(|option| option.names.contains(&name));
    found.map_or_else(|| name.to_owned(), |option| option.names[0].to_owned())
}

/// Returns true if a word of a call may match a word of a rule: the same text, the same file, or another name of the
/// same branch.
fn is_same(wanted: &Word, word: &Word, at: &Locations<'_>) -> bool {
    if word.certainty != Certainty::Exact {
        let sure = word.text.split(['*', '?', '[', '$']).next().unwrap_or_default();
        let sure = sure.strip_prefix("./").unwrap_or(sure);
        // In `HEAD:$X` the branch is unknown.
        let branch = sure.rsplit([':', '+']).next().unwrap_or_default();
        let branch = branch.trim_start_matches("refs/").trim_start_matches("heads/");
        let may_be = |sure: &str| wanted.text.starts_with(sure) || sure.starts_with(['~', '/']);
        return may_be(sure) || may_be(branch);
    }
    let wanted = wanted.text.as_str();
    let branches = word.text.trim_start_matches('+').split(':').map(|side| {
        let side = side.strip_prefix("refs/").unwrap_or(side);
        side.strip_prefix("heads/").or_else(|| side.strip_prefix("tags/")).unwrap_or(side)
    });
    let place = |text: &str| {
        let paths = at.context.plain_paths(text);
        paths.into_iter().flatten().map(|path| plain(&path)).collect::<Vec<_>>()
    };
    let is_there = |real: &std::path::PathBuf| place(wanted).contains(real);
    wanted == word.text
        || branches
            .into_iter()
            .any(|branch| branch == wanted || (branch.contains('*') && super::glob(branch, wanted)))
        || place(wanted).iter().any(|path| place(&word.text).contains(path))
        || at.lookup.found.get(&word.text).is_some_and(is_there)
}
