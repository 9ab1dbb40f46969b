//! Braces that make several words of one: `{a,b}` and `{1..3}`, as bash expands them before anything else.

use crate::Refusal;

/// The most words that one word may become.
const MAX_WORDS: usize = 64;

/// Returns the words that braces make of one; `None` if no brace of it means anything. Braces inside of braces, and beside quotes or
/// expansions, are refused: what bash makes of those is not worth to be guessed.
pub(crate) fn expand(raw: &str) -> Result<Option<Vec<String>>, Refusal> {
    if !may_expand(raw) {
        return Ok(None);
    }
    if raw.contains(['\'', '"', '\\', '$', '`']) {
        return Err(Refusal::new("braces stand beside quotes in one word"));
    }
    let mut all = vec![String::new()];
    let mut rest = raw;
    while let Some(open) = rest.find('{') {
        let (before, after) = (&rest[..open], &rest[open + 1..]);
        let (choices, next) = match after.find(['{', '}']) {
            Some(end) if after[end..].starts_with('}') => {
                (choices(&after[..end])?, &after[end + 1..])
            }
            _ => return Err(Refusal::new("braces stand inside of braces")),
        };
        if all.len() * choices.len() > MAX_WORDS {
            return Err(Refusal::new("braces make too many words"));
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

/// Returns true if braces outside of quotes may make several words of one. True for more than need be.
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
            // `${NAME}` is an expansion, which is read as such.
            (None, '$') if characters.peek() == Some(&'{') => {
                characters.by_ref().find(|c| *c == '}');
            }
            (None, _) => plain.push(character),
            (Some(_), _) => {}
        }
    }
    let (Some(start), Some(end)) = (plain.find('{'), plain.rfind('}')) else { return false };
    start < end && (plain[start..end].contains(',') || plain[start..end].contains(".."))
}

/// Returns what stands for one pair of braces, with the braces themselves where they mean nothing.
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
                return Err(Refusal::new("braces make too many words"));
            }
            let range: Vec<i32> = if first <= last {
                (first..=last).collect()
            } else {
                (last..=first).rev().collect()
            };
            Ok(range.iter().map(ToString::to_string).collect())
        }
        // Letters, steps and padded numbers.
        _ => Err(Refusal::new(format!("`{{{inside}}}` is more than a plain row of numbers"))),
    }
}

/// Returns true for a number that is written as it is printed.
fn is_plain(number: &str) -> bool {
    number.parse::<i32>().is_ok_and(|value| value.to_string() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_make_the_words_that_bash_makes() {
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
