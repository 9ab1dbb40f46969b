//! Reads the arguments of a command by the description of its program.
//!
//! A word that begins with a dash has to be an option that is described, wherever it stands: so it does no harm if the
//! description takes for an argument what the program takes for an option.

use shell::{Certainty, Word};
use skill::programs::{Arity, Count, OptionUsage, Role, Usage};

use super::Doubt;

/// A call that fits a description.
#[derive(Debug, Default)]
pub(super) struct Fit<'a> {
    /// The options that were given, by the first of their spellings.
    pub(super) options: Vec<&'static str>,
    /// Every argument and operand, with what it is.
    pub(super) arguments: Vec<Argument<'a>>,
    /// Whether no word does any harm, whatever it becomes.
    only_prints: bool,
    /// Whether an operand may be missing that names a folder which is made then.
    names_folder: bool,
}

impl Fit<'_> {
    /// Returns true for a call that makes a folder named after what it is given, unless it is told which.
    pub(super) fn is_cloned(&self) -> bool {
        self.names_folder
    }
}

/// An argument of an option, or an operand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Argument<'a> {
    /// What it is.
    pub(super) role: Role,
    /// Its text.
    pub(super) text: &'a str,
    /// How much of the text is for sure.
    pub(super) certainty: Certainty,
}

/// Reads arguments by a description.
pub(super) fn walk<'a>(usage: &Usage, arguments: &'a [Word]) -> Result<Fit<'a>, Doubt> {
    if usage.is_all_text {
        return Ok(Fit::default());
    }
    let options: Vec<OptionUsage> = usage.all_options().collect();
    let mut fit = Fit {
        only_prints: usage.only_prints,
        names_folder: usage.operands == "REPOSITORY WRITE?",
        ..Fit::default()
    };
    let mut operands: Vec<&Word> = Vec::new();
    let mut rest = arguments.iter();
    let mut is_over = false;
    while let Some(word) = rest.next() {
        if !is_known(word) {
            if usage.only_prints {
                continue;
            }
            return Err(undescribed(&word.text, "may become an option"));
        }
        let text = word.text.as_str();
        let is_late = !operands.is_empty()
            && usage.options_first.is_some_and(|but_for| {
                !but_for.split_whitespace().any(|option| text.starts_with(option))
            });
        if !is_dashed(text) {
            operands.push(word);
        } else if is_late {
            return Err(undescribed(text, "stands where options are not read"));
        } else if text == "--" && !is_over {
            is_over = true;
        } else if is_over {
            return Err(undescribed(text, "may be taken for an option"));
        } else {
            option(&options, word, &mut rest, &mut fit)?;
        }
    }
    needed(usage, &options, &fit)?;
    assign(usage, &operands, &mut fit)?;
    Ok(fit)
}

fn undescribed(text: &str, why: &str) -> Doubt {
    Doubt::Undescribed(format!("`{text}` {why}"))
}

/// A dash alone is standard input.
fn is_dashed(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

/// Returns true if it is known whether a word is an option, and which.
fn is_known(word: &Word) -> bool {
    match word.certainty {
        Certainty::Exact => true,
        Certainty::Unknown => false,
        // Only what stands before the first thing that expands is for sure.
        Certainty::Begins => {
            let sure = word.text.split(['*', '?', '[', '$']).next().unwrap_or_default();
            !word.text.starts_with('-') || (sure.starts_with("--") && sure.contains('='))
        }
    }
}

/// Reads one word that begins with a dash, and the words that are its arguments.
fn option<'a>(
    options: &[OptionUsage],
    word: &'a Word,
    rest: &mut std::slice::Iter<'a, Word>,
    fit: &mut Fit<'a>,
) -> Result<(), Doubt> {
    let text = word.text.as_str();
    let by_name = |name: &str| options.iter().find(|option| option.names.contains(&name));
    let (name, joined) = match text.split_once('=') {
        Some((name, joined)) if text.starts_with("--") => (name, Some(joined)),
        _ => (text, None),
    };
    if let Some(found) = by_name(name) {
        return match (&found.arity, joined) {
            (Arity::Flag, Some(_)) => Err(undescribed(text, "is not described with a value")),
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
        return Err(undescribed(name, "is not a described option"));
    }
    let is_number = text[1..].bytes().all(|byte| byte.is_ascii_digit());
    if is_number && by_name("-#").is_some() {
        return Ok(());
    }
    // Short options that are written together.
    for (at, letter) in text.char_indices().skip(1) {
        let name = format!("-{letter}");
        let Some(found) = by_name(&name) else {
            return Err(undescribed(text, "is not a described option"));
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

/// Takes the arguments of an option: what is joined to it, and the words that follow.
fn values<'a>(
    roles: &[Role],
    mut joined: Option<(&'a str, Certainty)>,
    rest: &mut std::slice::Iter<'a, Word>,
    fit: &mut Fit<'a>,
) -> Result<(), Doubt> {
    for role in roles {
        let (text, certainty) = match joined.take() {
            Some(joined) => joined,
            None => {
                let Some(word) = rest.next() else {
                    return Err(Doubt::Undescribed("an option lacks its argument".to_owned()));
                };
                let is_unknown = word.certainty == Certainty::Unknown && !fit.only_prints;
                if is_unknown || may_be_option(&word.text) {
                    return Err(undescribed(&word.text, "may be taken for an option"));
                }
                (word.text.as_str(), word.certainty)
            }
        };
        fit.arguments.push(argument(*role, text, certainty));
    }
    Ok(())
}

/// Returns true for an argument that a program could take for an option, should the description be wrong. Text with blanks and
/// numbers are none.
fn may_be_option(text: &str) -> bool {
    is_dashed(text) && !text.contains(char::is_whitespace) && !is_number(text)
}

/// Returns true for a number, with a sign and a unit perhaps.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '%'))
}

fn needed(usage: &Usage, options: &[OptionUsage], fit: &Fit<'_>) -> Result<(), Doubt> {
    for group in usage.needs.split_whitespace() {
        let is_there = group.split('|').any(|name| {
            let known = options.iter().find(|option| option.names.contains(&name));
            known.is_some_and(|option| fit.options.contains(&option.names[0]))
        });
        if !is_there {
            let one = group.replace('|', "`, `");
            return Err(Doubt::Undescribed(format!("it is described only with `{one}`")));
        }
    }
    Ok(())
}

/// Says what each operand is.
fn assign<'a>(usage: &Usage, operands: &[&'a Word], fit: &mut Fit<'a>) -> Result<(), Doubt> {
    let mut roles = usage.all_operands();
    // What an option has given already is no operand: `sed -e SCRIPT FILE`.
    let is_given = |role: Role| fit.arguments.iter().any(|argument| argument.role == role);
    if roles.first().is_some_and(|(role, _)| *role == Role::Sed && is_given(Role::Sed)) {
        roles.remove(0);
    }
    // `cp -t FOLDER FILE`: all operands are files then.
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
            return Err(undescribed(&word.text, "is one operand too many"));
        };
        // A pattern may become several words, and one of them what is written: `uniq src/*`.
        let is_shifting = star.is_none_or(|star| at < star);
        let may_write = roles.iter().any(|(role, _)| is_written(*role));
        if word.certainty != Certainty::Exact && is_shifting && may_write {
            return Err(undescribed(&word.text, "may become the file that is written"));
        }
        let role = if turned && *role == Role::Read { Role::Output } else { *role };
        let (text, certainty) = (word.text.as_str(), word.certainty);
        fit.arguments.push(argument(role, text, certainty));
    }
    Ok(())
}

/// Returns where the first word stands that is no option of `options` and no argument of one; `None` if there is none, or an option
/// that is not known stands before it.
pub(in crate::decide::policy) fn first_operand(
    options: &'static str,
    arguments: &[Word],
) -> Option<usize> {
    let options: Vec<OptionUsage> = Usage::options_of(options).collect();
    let mut fit = Fit::default();
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

/// Returns the options in words, each by the first of its spellings, as far as they are described.
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
