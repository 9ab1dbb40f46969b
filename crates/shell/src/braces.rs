//! Brace expansion: `{a,b}` and `{1..3}`, which bash performs before anything else.

use crate::{Refusal, slice};

/// Maximum number of words from one expansion.
const MAX_WORDS: usize = 64;

/// Returns the words that a word expands to; `None` if its braces have no special meaning. Nested braces, and braces
/// next to quotes or expansions, are refused instead of guessing what bash does with them.
pub(crate) fn expand(raw: &str) -> Result<Option<Vec<String>>, Refusal> {
    if !may_expand(raw) {
        return Ok(None);
    }
    if raw.contains(['\'', '"', '\\', '$', '`']) {
        return Err(Refusal::new("a word mixes braces with quotes or expansions"));
    }
    let mut all = vec![String::new()];
    let mut rest = raw;
    while let Some(open) = rest.find('{') {
        let (before, after) = (slice(rest, ..open), slice(rest, open + 1..));
        let (choices, next) = match after.find(['{', '}']) {
            Some(end) if slice(after, end..).starts_with('}') => {
                (choices(slice(after, ..end))?, slice(after, end + 1..))
            }
            _ => return Err(Refusal::new("nested braces are not supported")),
        };
        if all.len() * choices.len() > MAX_WORDS {
            return Err(Refusal::new("brace expansion produces too many words"));
        }
        let joined = all
            .iter()
            .flat_map(|start| choices.iter().map(move |choice| format!("{start}{before}{choice}")));
        all = joined.collect();
        rest = next;
    }
    all.iter_mut().for_each(|word| word.push_str(rest));
    Ok(Some(all))
}

/// Returns true if braces outside quotes may expand. May return true for words that do not.
fn may_expand(raw: &str) -> bool {
    let mut plain = String::new();
    let mut characters = raw.chars().peekable();
    let mut quote = None;
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '\\') => {
                characters.next();
            }
            (Some('"'), '\\') => {
                characters.next();
            }
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            // `${NAME}` is a parameter expansion, handled elsewhere.
            (None, '$') if characters.peek() == Some(&'{') => {
                characters.by_ref().find(|c| *c == '}');
            }
            (None, _) => plain.push(character),
            (Some(_), _) => {}
        }
    }
    let (Some(start), Some(end)) = (plain.find('{'), plain.rfind('}')) else { return false };
    start < end
        && (slice(&plain, start..end).contains(',') || slice(&plain, start..end).contains(".."))
}

/// Returns the alternatives of one pair of braces, or the literal braces if they have no special meaning.
fn choices(inside: &str) -> Result<Vec<String>, Refusal> {
    if inside.contains(',') {
        return Ok(inside.split(',').map(str::to_owned).collect());
    }
    let literal = || vec![format!("{{{inside}}}")];
    let Some((start, end)) = inside.split_once("..") else { return Ok(literal()) };
    match (start.parse::<i32>(), end.parse::<i32>()) {
        (Ok(first), Ok(last)) if is_plain(start) && is_plain(end) => {
            let count = first.abs_diff(last) as usize;
            if count >= MAX_WORDS {
                return Err(Refusal::new("brace expansion produces too many words"));
            }
            let range: Vec<i32> = if first <= last {
                (first..=last).collect()
            } else {
                (last..=first).rev().collect()
            };
            Ok(range.iter().map(ToString::to_string).collect())
        }
        // Letters, steps and padded numbers.
        _ => Err(Refusal::new(format!("`{{{inside}}}` is not a simple number range"))),
    }
}

/// Returns true for a number in its canonical spelling.
fn is_plain(number: &str) -> bool {
    number.parse::<i32>().is_ok_and(|value| value.to_string() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_expand_as_in_bash() {
        for (raw, words) in [
            ("a", None),
            ("stash@{0}", None),
            ("{}", None),
            ("'{a,b}'", None),
            ("\"{a,b}\"", None),
            ("\\{a,b\\}", None),
            ("${A}b", None),
            ("'{\"a\": 1, \"b\": 2}'", None),
            ("{a,b}", Some("a b")),
            ("x{a,b}y", Some("xay xby")),
            (".{env,x}", Some(".env .x")),
            ("{a,b}{c,d}", Some("ac ad bc bd")),
            ("{1..3}", Some("1 2 3")),
            ("{3..1}", Some("3 2 1")),
            ("HEAD@{1}..HEAD@{2}", Some("HEAD@{1}..HEAD@{2}")),
            ("{rm,-rf,x}", Some("rm -rf x")),
        ] {
            let words = words.map(|words| words.split(' ').map(str::to_owned).collect());
            assert_eq!(expand(raw).unwrap(), words, "{raw}");
        }
        for raw in
            ["{a,{b,c}}", "{'a',b}", "\"x\"{a,b}", "{a,$X}", "{1..1000}", "{a..c}", "{01..03}"]
        {
            assert!(expand(raw).is_err(), "{raw}");
        }
    }
}
