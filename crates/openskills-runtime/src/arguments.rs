//! What stands for something else in the instructions of a skill: arguments and places.
//!
//! One pass over the text: what is put in is never looked at again, so an argument cannot bring another substitution.

use std::borrow::Cow;

/// What is known when a skill is activated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    /// The arguments as they were given; `None` if there are none.
    pub(crate) arguments: Option<&'a str>,
    /// The names of positional arguments.
    pub(crate) names: &'a [String],
    /// The skill's folder.
    pub(crate) skill_dir: &'a str,
    pub(crate) session_id: &'a str,
}

/// Returns the instructions with `$ARGUMENTS`, `$ARGUMENTS[n]`, `$n`, `$name` and `${SKILL_DIR}` replaced.
///
/// A text that uses `$0` counts from 0, as `$ARGUMENTS[n]` does; any other counts its first argument as `$1`. What has
/// no value stays as it is. Arguments that the text has no place for are added at its end.
pub(crate) fn substitute(body: &str, values: &Values<'_>) -> String {
    let list = values.arguments.map(split).unwrap_or_default();
    let first = if has_zero(body) { 0 } else { 1 };
    let mut text = String::with_capacity(body.len());
    let mut is_used = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (length, value) = placeholder(rest, values, &list, first);
        match value {
            Some(Value::Argument(value)) => {
                is_used = true;
                text.push_str(&value);
            }
            Some(Value::Place(value)) => text.push_str(value),
            None => text.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    text.push_str(rest);
    if let Some(arguments) = values.arguments.filter(|arguments| !is_used && !arguments.is_empty())
    {
        text.push_str("\n\nARGUMENTS: ");
        text.push_str(arguments);
    }
    text
}

enum Value<'a> {
    Argument(Cow<'a, str>),
    Place(&'a str),
}

/// Returns how long the placeholder at the start of `text` is, and what stands for it.
fn placeholder<'a>(
    text: &str,
    values: &Values<'a>,
    list: &[String],
    first: usize,
) -> (usize, Option<Value<'a>>) {
    let item = |at: Option<usize>| {
        at.and_then(|at| list.get(at)).map(|item| Value::Argument(Cow::Owned(item.clone())))
    };
    if let Some(inner) =
        text.strip_prefix("${").and_then(|rest| rest.split_once('}')).map(|(name, _)| name)
    {
        let value = match inner {
            "SKILL_DIR" | "CLAUDE_SKILL_DIR" => Some(Value::Place(values.skill_dir)),
            "SESSION_ID" | "CLAUDE_SESSION_ID" => Some(Value::Place(values.session_id)),
            "ARGUMENTS" => Some(Value::Argument(values.arguments.unwrap_or_default().into())),
            _ => return (1, None),
        };
        return (inner.len() + 3, value);
    }
    let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let number = text[1..=digits].parse::<usize>().ok();
        return (digits + 1, item(number.and_then(|number| number.checked_sub(first))));
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word: &str = text[1..].split(|c| !is_word(c)).next().unwrap_or_default();
    let length = word.len() + 1;
    if word == "ARGUMENTS" {
        let index = text[length..].strip_prefix('[').and_then(|rest| rest.split_once(']'));
        return match index.and_then(|(index, _)| Some((index, index.parse::<usize>().ok()?))) {
            Some((index, number)) => (length + index.len() + 2, item(Some(number))),
            None => (length, Some(Value::Argument(values.arguments.unwrap_or_default().into()))),
        };
    }
    // A name may have hyphens, which end a word elsewhere: the longest name that fits is meant.
    let is_end = |name: &str| !text[1 + name.len()..].starts_with(is_word);
    let named = values
        .names
        .iter()
        .enumerate()
        .filter(|(_, name)| {
            !name.is_empty() && text[1..].starts_with(name.as_str()) && is_end(name)
        })
        .max_by_key(|(_, name)| name.len());
    match named {
        Some((at, name)) => (name.len() + 1, item(Some(at))),
        None => (length, None),
    }
}

/// Returns true if the text counts its arguments from 0.
fn has_zero(body: &str) -> bool {
    body.match_indices("$0")
        .any(|(at, _)| !body[at + 2..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Splits arguments as a shell would: at white space, outside quotes.
fn split(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None | Some('"'), '\\') => {
                current.get_or_insert_default().extend(characters.next());
            }
            (Some(_), _) => current.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                current.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => all.extend(current.take()),
            (None, _) => current.get_or_insert_default().push(character),
        }
    }
    all.extend(current);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, arguments: Option<&str>, expected: &str) {
        let names = ["issue".to_owned(), "issue-number".to_owned(), "branch".to_owned()];
        let values = Values { arguments, names: &names, skill_dir: "/s/pdf", session_id: "s1" };
        assert_eq!(substitute(body, &values), expected, "{body} {arguments:?}");
    }

    #[test]
    fn every_form_is_replaced() {
        check("Fix $ARGUMENTS now", Some("a 'b c'"), "Fix a 'b c' now");
        check("$1 and $2", Some("a 'b c'"), "a and b c");
        check("$0 and $1", Some("a 'b c'"), "a and b c");
        check("$ARGUMENTS[0] and $ARGUMENTS[1]", Some("a \"b c\""), "a and b c");
        check("$issue on $branch: $issue-number", Some("7 8 main"), "7 on main: 8");
        check(
            "${SKILL_DIR}/x ${CLAUDE_SKILL_DIR} ${CLAUDE_SESSION_ID}",
            None,
            "/s/pdf/x /s/pdf s1",
        );
    }

    #[test]
    fn what_has_no_value_stays() {
        check(
            "$3 $HOME ${HOME} $ $$ $issues",
            Some("a"),
            "$3 $HOME ${HOME} $ $$ $issues\n\nARGUMENTS: a",
        );
        check("costs $5", None, "costs $5");
        check("$10", Some("a"), "$10\n\nARGUMENTS: a");
        check("[$ARGUMENTS]", None, "[]");
        check("$99999999999999999999999", Some("a"), "$99999999999999999999999\n\nARGUMENTS: a");
        check("${SKILL_DIR", None, "${SKILL_DIR");
    }

    #[test]
    fn an_argument_brings_no_further_substitution() {
        check("$1|$2", Some("$2 ${SKILL_DIR}"), "$2|${SKILL_DIR}");
        check("$ARGUMENTS", Some("$ARGUMENTS"), "$ARGUMENTS");
    }

    #[test]
    fn arguments_without_a_place_are_added() {
        check("Do it.", Some("a b"), "Do it.\n\nARGUMENTS: a b");
        check("Do it.", Some(""), "Do it.");
        check("Do it.", None, "Do it.");
    }

    #[test]
    fn arguments_are_split_as_in_a_shell() {
        for (text, expected) in [
            ("", &[][..]),
            ("  a  b ", &["a", "b"]),
            (r#""a b" 'c "d' e\ f"#, &["a b", "c \"d", "e f"]),
            (r#""" x"#, &["", "x"]),
            (r#"a"b"c"#, &["abc"]),
            ("'open", &["open"]),
            ("end\\", &["end"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
