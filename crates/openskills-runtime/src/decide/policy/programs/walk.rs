//! Parses the arguments of a command according to its program's description.
//!
//! Any word that starts with a dash must be a known option, wherever it appears. That way it is harmless if the
//! description treats a word as an argument that the program treats as an option.

use shell::{Certainty, Word};
use skill::programs::{Arity, Count, OptionUsage, Role, Usage};

use super::Mismatch;

/// A call that matches a description.
#[derive(Debug, Default)]
pub(super) struct MatchedCall<'a> {
    /// The options present, each by its primary name.
    pub(super) options: Vec<&'static str>,
    /// Every argument and operand with its role.
    pub(super) arguments: Vec<Argument<'a>>,
    /// Whether every word is harmless, whatever it expands to.
    only_prints: bool,
    /// Whether the call creates a folder whose name operand may be omitted.
    names_folder: bool,
}

impl MatchedCall<'_> {
    /// Returns true for a call that creates a folder named after its argument unless another name is given.
    pub(super) fn is_cloned(&self) -> bool {
        self.names_folder
    }
}

/// An argument of an option, or an operand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Argument<'a> {
    /// Its role.
    pub(super) role: Role,
    /// Its text.
    pub(super) text: &'a str,
    /// How much of the text is known.
    pub(super) certainty: Certainty,
}

/// Matches arguments against a usage.
pub(super) fn walk<'a>(usage: &Usage, arguments: &'a [Word]) -> Result<MatchedCall<'a>, Mismatch> {
    if usage.is_all_text {
        return Ok(MatchedCall::default());
    }
    let options: Vec<OptionUsage> = usage.all_options().collect();
    let mut fit = MatchedCall {
        only_prints: usage.only_prints,
        names_folder: usage.operands == "REPOSITORY WRITE?",
        ..MatchedCall::default()
    };
    let mut operands: Vec<&Word> = Vec::new();
    let mut rest = arguments.iter();
    let mut is_over = false;
    while let Some(word) = rest.next() {
        if !is_known(word) {
            if usage.only_prints {
                continue;
            }
            return Err(undescribed(&word.text, "may expand to an option"));
        }
        let text = word.text.as_str();
        let is_late = !operands.is_empty()
            && usage.options_first.is_some_and(|but_for| {
                !but_for.split_whitespace().any(|option| text.starts_with(option))
            });
        if !is_dashed(text) {
            operands.push(word);
        } else if is_late {
            return Err(undescribed(text, "appears where options are not parsed"));
        } else if text == "--" && !is_over {
            is_over = true;
        } else if is_over {
            return Err(undescribed(text, "may be parsed as an option"));
        } else {
            option(&options, word, &mut rest, &mut fit)?;
        }
    }
    needed(usage, &options, &fit)?;
    assign(usage, &operands, &mut fit)?;
    Ok(fit)
}

fn undescribed(text: &str, why: &str) -> Mismatch {
    Mismatch::Undescribed(format!("`{text}` {why}"))
}

/// Returns true for a word that looks like an option. A single dash is standard input.
fn is_dashed(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

/// Returns true if it is certain whether a word is an option, and which one.
fn is_known(word: &Word) -> bool {
    match word.certainty {
        Certainty::Exact => true,
        Certainty::Unknown => false,
        // Only the text before the first expansion is certain.
        Certainty::Prefix => {
            let sure = word.text.split(['*', '?', '[', '$']).next().unwrap_or_default();
            !word.text.starts_with('-') || (sure.starts_with("--") && sure.contains('='))
        }
    }
}

/// Parses one word that starts with a dash, and the words that are its arguments.
fn option<'a>(
    options: &[OptionUsage],
    word: &'a Word,
    rest: &mut std::slice::Iter<'a, Word>,
    fit: &mut MatchedCall<'a>,
) -> Result<(), Mismatch> {
    let text = word.text.as_str();
    let by_name = |name: &str| options.iter().find(|option| option.names.contains(&name));
    let (name, joined) = match text.split_once('=') {
        Some((name, joined)) if text.starts_with("--") => (name, Some(joined)),
        _ => (text, None),
    };
    if let Some(found) = by_name(name) {
        return match (&found.arity, joined) {
            (Arity::Flag, Some(_)) => Err(undescribed(text, "does not take a value")),
            (Arity::Flag | Arity::Optional(_), None) => {
                fit.options.push(found.names[0]);
                Ok(())
            }
            (Arity::Optional(role), Some(joined)) => {
                fit.options.push(found.names[0]);
                fit.arguments.push(argument(*role, joined, word.certainty));
                Ok(())
            }
            (Arity::Required(roles), joined) => {
                fit.options.push(found.names[0]);
                values(roles, joined.map(|text| (text, word.certainty)), rest, fit)
            }
        };
    }
    if text.starts_with("--") || word.certainty != Certainty::Exact {
        return Err(undescribed(name, "is not a known option"));
    }
    let is_number = text[1..].bytes().all(|byte| byte.is_ascii_digit());
    if is_number && by_name("-#").is_some() {
        return Ok(());
    }
    // Combined short options.
    for (at, letter) in text.char_indices().skip(1) {
        let name = format!("-{letter}");
        let Some(found) = by_name(&name) else {
            return Err(undescribed(text, "is not a known option"));
        };
        fit.options.push(found.names[0]);
        let joined = &text[at + letter.len_utf8()..];
        match &found.arity {
            Arity::Flag => {}
            Arity::Optional(role) => {
                if !joined.is_empty() {
                    fit.arguments.push(argument(*role, joined, word.certainty));
                }
                return Ok(());
            }
            Arity::Required(roles) => {
                let joined = (!joined.is_empty()).then_some((joined, word.certainty));
                return values(roles, joined, rest, fit);
            }
        }
    }
    Ok(())
}

fn argument(role: Role, text: &str, certainty: Certainty) -> Argument<'_> {
    Argument { role, text, certainty }
}

/// Takes the arguments of an option: the part joined to it, and the words that follow.
fn values<'a>(
    roles: &[Role],
    mut joined: Option<(&'a str, Certainty)>,
    rest: &mut std::slice::Iter<'a, Word>,
    fit: &mut MatchedCall<'a>,
) -> Result<(), Mismatch> {
    for role in roles {
        let (text, certainty) = match joined.take() {
            Some(joined) => joined,
            None => {
                let Some(word) = rest.next() else {
                    return Err(Mismatch::Undescribed(
                        "an option is missing its argument".to_owned(),
                    ));
                };
                let is_unknown = word.certainty == Certainty::Unknown && !fit.only_prints;
                if is_unknown || may_be_option(&word.text) {
                    return Err(undescribed(&word.text, "may be parsed as an option"));
                }
                (word.text.as_str(), word.certainty)
            }
        };
        fit.arguments.push(argument(*role, text, certainty));
    }
    Ok(())
}

/// Returns true for an argument that a program could parse as an option if the description were wrong. Text with spaces
/// and numbers cannot be options.
fn may_be_option(text: &str) -> bool {
    is_dashed(text) && !text.contains(char::is_whitespace) && !is_number(text)
}

/// Returns true for a number, optionally with a sign and a unit.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '%'))
}

fn needed(usage: &Usage, options: &[OptionUsage], fit: &MatchedCall<'_>) -> Result<(), Mismatch> {
    for group in usage.needs.split_whitespace() {
        let is_there = group.split('|').any(|name| {
            let known = options.iter().find(|option| option.names.contains(&name));
            known.is_some_and(|option| fit.options.contains(&option.names[0]))
        });
        if !is_there {
            let missing = group.replace('|', "` or `");
            return Err(Mismatch::Undescribed(format!("missing option `{missing}`")));
        }
    }
    Ok(())
}

/// Assigns a role to each operand.
fn assign<'a>(
    usage: &Usage,
    operands: &[&'a Word],
    fit: &mut MatchedCall<'a>,
) -> Result<(), Mismatch> {
    let mut roles = usage.all_operands();
    // An operand that an option already supplied is omitted: `sed -e SCRIPT FILE`.
    let is_given = |role: Role| fit.arguments.iter().any(|argument| argument.role == role);
    if roles.first().is_some_and(|(role, _)| *role == Role::Sed && is_given(Role::Sed)) {
        roles.remove(0);
    }
    // With `cp -t FOLDER FILE`, all operands are files.
    if roles
        .last()
        .is_some_and(|(role, _)| *role == Role::Destination && is_given(Role::Destination))
    {
        roles.pop();
    }
    let turned = usage.writes_if.split_whitespace().any(|name| fit.options.contains(&name));
    let star = roles.iter().position(|(_, count)| *count == Count::Any);
    let after = star.map_or(0, |star| roles.len() - star - 1).min(operands.len());
    let is_written = |role: Role| {
        matches!(role, Role::Write | Role::Output | Role::Destination | Role::Folder)
            || (turned && role == Role::Read)
    };
    for (at, word) in operands.iter().enumerate() {
        let from_end = operands.len() - at;
        let role = match star {
            Some(_) if from_end <= after => roles.get(roles.len() - from_end),
            Some(star) => roles.get(at.min(star)),
            None => roles.get(at),
        };
        let Some((role, _)) = role else {
            return Err(undescribed(&word.text, "is an unexpected extra operand"));
        };
        // A pattern may expand to several words, and one of them may be the output file: `uniq src/*`.
        let is_shifting = star.is_none_or(|star| at < star);
        let may_write = roles.iter().any(|(role, _)| is_written(*role));
        if word.certainty != Certainty::Exact && is_shifting && may_write {
            return Err(undescribed(&word.text, "may expand to the output file"));
        }
        let role = if turned && *role == Role::Read { Role::Output } else { *role };
        let (text, certainty) = (word.text.as_str(), word.certainty);
        fit.arguments.push(argument(role, text, certainty));
    }
    Ok(())
}

/// Returns the position of the first word that is neither one of `options` nor an argument of one; `None` if there is
/// none, or if an unknown option comes before it.
pub(in crate::decide::policy) fn first_operand(
    options: &'static str,
    arguments: &[Word],
) -> Option<usize> {
    let options: Vec<OptionUsage> = Usage::options_of(options).collect();
    let mut fit = MatchedCall::default();
    let mut rest = arguments.iter();
    loop {
        let at = arguments.len() - rest.len();
        let word = rest.next()?;
        if word.certainty != Certainty::Exact || !is_dashed(&word.text) {
            return Some(at);
        }
        option(&options, word, &mut rest, &mut fit).ok()?;
    }
}

/// Returns the options among the words, each by its primary name if it is known.
pub(in crate::decide::policy) fn canonical_options(
    usages: &[Usage],
    words: &[&str],
) -> Vec<String> {
    let options: Vec<OptionUsage> = usages.iter().flat_map(Usage::all_options).collect();
    let first = |name: &str| {
        let known = options.iter().find(|option| option.names.contains(&name));
        known.map_or_else(|| name.to_owned(), |option| option.names[0].to_owned())
    };
    let mut all = Vec::new();
    for word in words.iter().filter(|word| is_dashed(word)) {
        if word.starts_with("--") {
            all.push(first(word.split('=').next().unwrap_or(word)));
        } else {
            all.extend(word.chars().skip(1).map(|letter| first(&format!("-{letter}"))));
        }
    }
    all
}
