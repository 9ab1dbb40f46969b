//! Reads a value that lacks its quotes as the string that was meant (P2).

use std::ops::Range;

use super::{Problem, TAB_HINT, trimmed};
use crate::{Code, field};

/// Returns the value of `key`, in `text[range]`, as if it were quoted, with a diagnostic; or a more precise diagnostic
/// if it cannot be read as a string.
pub(super) fn quoted(
    text: &str,
    key: &str,
    range: &Range<usize>,
) -> Result<(String, Range<usize>, Problem), Option<Problem>> {
    let lead = range.start;
    let range = trimmed(text, range);
    let value = &text[range.clone()];
    if let Some(problem) = unclosed_quote(key, &range, value)
        .or_else(|| misplaced_line(key, lead, &text[lead..range.end]))
    {
        return Err(Some(problem));
    }
    // A value that starts on its own line was meant to be nested, unless it can only be a string.
    let is_below = text[lead..range.start].contains('\n');
    if !is_running_text(key, value) || (is_below && !field::is_free_text(key)) {
        return Err(None);
    }
    let (folded, length) = folded(value);
    let range = range.start..range.start + length;
    let message = format!("the value of `{key}` must be quoted: {}", reason(&folded));
    let problem =
        Problem::new(Code::UnquotedValue, range.clone(), message).with_hint(hint(key, &folded));
    Ok((folded, range, problem))
}

/// Returns true if a value was meant as prose.
fn is_running_text(key: &str, value: &str) -> bool {
    match value.chars().next() {
        None | Some('"' | '\'' | '|' | '>') => false,
        // A lone alias is always an alias.
        Some('*') if !value.contains(char::is_whitespace) => false,
        // In other fields these start a broken list, alias or tag, and not prose.
        Some('[' | '{' | '&' | '!' | '*' | '-') => field::is_free_text(key),
        Some(_) => true,
    }
}

/// Returns a more precise diagnostic for a value whose only quote is its first character.
fn unclosed_quote(key: &str, range: &Range<usize>, value: &str) -> Option<Problem> {
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    if value.matches(quote).count() > 1 {
        return None;
    }
    let message = format!("the opening quote in the value of `{key}` is never closed");
    Some(
        Problem::new(Code::YamlSyntax, range.start..range.start + 1, message)
            .with_hint("add the closing quote, or remove the opening one"),
    )
}

/// Returns a more precise diagnostic for a line that is indented with a tab, or that would be its own field if it were
/// not indented. `value` starts at `start`, right after the colon.
fn misplaced_line(key: &str, start: usize, value: &str) -> Option<Problem> {
    let mut at = start;
    for (number, line) in value.split_inclusive('\n').enumerate() {
        let content = line.trim_start();
        let place = at + line.len() - content.len();
        at += line.len();
        if number == 0 || content.is_empty() {
            continue;
        }
        if line[..line.len() - content.len()].contains('\t') {
            let problem =
                Problem::new(Code::YamlTab, place - 1..place, "this line is indented with a tab");
            return Some(problem.with_hint(TAB_HINT));
        }
        let name = content.split(':').next().unwrap_or_default();
        if content[name.len()..].starts_with(':') && field::owner(name).is_some() {
            let message = format!("this line is indented, so it is part of `{key}`");
            let hint = format!("remove the spaces before `{name}`");
            return Some(
                Problem::new(Code::YamlSyntax, place..place + name.len(), message).with_hint(hint),
            );
        }
    }
    None
}

fn reason(text: &str) -> String {
    match text.chars().next() {
        Some(first) if "@`%*&![]{},-?".contains(first) => {
            format!("it starts with `{first}`, which has a special meaning in YAML")
        }
        _ if text.contains(": ") || text.ends_with(':') => {
            "it contains a colon, which starts a new value in YAML".to_owned()
        }
        _ => "without quotes it is not valid YAML".to_owned(),
    }
}

fn hint(key: &str, text: &str) -> String {
    let quoted = format!("{key}: {}", single_quoted(text));
    if quoted.chars().count() <= 100 {
        return format!("write `{quoted}`");
    }
    let end: String = text.chars().skip(text.chars().count().saturating_sub(12)).collect();
    let start: String = text.chars().take(30).collect();
    format!("quote it: `{key}: '{start}…{end}'` (double any quote inside)")
}

/// Returns `text` in single quotes, escaped so that YAML reads it back unchanged.
pub(crate) fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Joins lines as YAML folds prose (a line break becomes a space, a blank line a line break) and drops comments.
/// Returns the text and the offset in `value` where it ends.
fn folded(value: &str) -> (String, usize) {
    let mut folded = String::new();
    let (mut breaks, mut at, mut end) = (0, 0, 0);
    for line in value.split_inclusive('\n') {
        let code = without_comment(line).trim_end();
        let content = code.trim_start();
        if !content.is_empty() {
            match (folded.is_empty(), breaks) {
                (true, _) => {}
                (false, 0) => folded.push(' '),
                (false, _) => folded.extend(std::iter::repeat_n('\n', breaks)),
            }
            folded.push_str(content);
            breaks = 0;
            end = at + code.len();
        } else if line.trim().is_empty() {
            breaks += 1;
        }
        at += line.len();
    }
    (folded, end)
}

/// Returns a line up to a `#` at its start or after a blank.
fn without_comment(line: &str) -> &str {
    let starts = line.match_indices('#').map(|(at, _)| at);
    let comment = starts
        .into_iter()
        .find(|&at| line[..at].trim().is_empty() || line[..at].ends_with([' ', '\t']));
    &line[..comment.unwrap_or(line.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_folded_without_its_comments() {
        for (value, text) in [
            ("Use when: asked", "Use when: asked"),
            ("Use when: asked # todo\n# internal\n", "Use when: asked"),
            ("one: two\n  three\n\n  four # x\n", "one: two three\nfour"),
            ("C#: a language", "C#: a language"),
        ] {
            let (folded, end) = folded(value);
            assert_eq!(folded, text, "{value:?}");
            assert!(!value[..end].contains("internal"));
        }
    }
}
